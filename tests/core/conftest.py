"""What the tests of the core share: MiniLM in our encoder and in transformers', loaded once; texts of any length."""

from __future__ import annotations

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
