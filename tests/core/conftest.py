"""What the tests of the core share: MiniLM in our encoder and in transformers', loaded once; texts of any length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from mha_core import Model, load_model

TIRED = "The animal didn't cross the street because it was too tired"
WIDE = TIRED.replace("tired", "wide")


def read_reference(model: Model) -> Any:
    """transformers' BERT on the same files, with eager attention: the one kind that shows its maps."""
    from transformers import BertModel

    assert model.folder is not None
    reference: Any = BertModel.from_pretrained(
        model.folder,
        attn_implementation="eager",
        add_pooling_layer=False,
        dtype=model.dtype,
        local_files_only=True,
        use_safetensors=True,
    )
    return reference.eval()


def text_of(model: Model, tokens: int) -> str:
    """A text of exactly that many tokens, special tokens included."""
    words = [
        "the",
        "animal",
        "didn't",
        "cross",
        "a",
        "wide",
        "street",
        "because",
        "it",
        "was",
        "far",
        "too",
        "tired",
        "and",
        "so",
        "we",
        "all",
        "went",
        "home",
        "again",
    ]
    text = ""
    while (missing := tokens - len(model.tokenize(text)[0])) > 0:
        text += " " + (words[len(text) % len(words)] if missing > 8 else "it")
    assert len(model.tokenize(text)[0]) == tokens
    return text


@pytest.fixture(autouse=True)
def _same_numbers_each_time() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def minilm() -> Model:
    return load_model("minilm", device="cpu")


@pytest.fixture(scope="session")
def minilm64() -> Model:
    return load_model("minilm", device="cpu", dtype=torch.float64)


@pytest.fixture(scope="session")
def reference(minilm: Model) -> Any:
    return read_reference(minilm)


@pytest.fixture(scope="session")
def reference64(minilm64: Model) -> Any:
    return read_reference(minilm64)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BERT as transformers saves it, every parameter random (its own start has biases of 0)."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("tiny")
    vocabulary = {word: n for n, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdef"))}
    tokenizer: Any = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.enable_padding(length=12)
    tokenizer.enable_truncation(5)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = BertConfig(
        vocab_size=10,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=40,
        max_position_embeddings=16,
    )
    model: Any = BertModel(config)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3, generator=generator)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path) -> Model:
    return load_model(str(tiny_folder), device="cpu")
