"""Models that the tests of the core share, each loaded once: MiniLM, in transformers too, SmolLM2, a tiny BERT, other
tiny ones of transformers; and runs in zip files, as a stranger could send them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from mha_core import Model, Run, load_model
from mha_core.errors import WeightsFileError
from mha_core.measure.reference import read_with_transformers
from mha_core.training import saved
from mha_core.training.loop import torch_threads
from mha_core.training.recipe import Recipe
from tests.hub_cache import put

from .runs import TINY, TINY_WORDS, Files, Refused, trained

TIRED = "The animal didn't cross the street because it was too tired"
WIDE = TIRED.replace("tired", "wide")


def read_reference(model: Model) -> Any:
    """transformers' BERT on the same files."""
    assert model.folder is not None
    return read_with_transformers(model.folder, model.dtype)


@pytest.fixture(autouse=True)
def _same_numbers_each_time() -> None:
    # half a millisecond of `torch.manual_seed` goes into noting, for three devices that are not there, who asked
    (torch.manual_seed if torch.cuda.is_available() else torch.default_generator.manual_seed)(0)


@pytest.fixture
def one_thread() -> Iterator[None]:
    with torch_threads(1):
        yield


@pytest.fixture
def exact_products() -> Iterator[None]:
    """Without TF32, whose ten bits would drown what is compared on a GPU."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(before)


@pytest.fixture(scope="session")
def minilm() -> Model:
    return load_model("minilm", device="cpu")


@pytest.fixture(scope="session")
def minilm64() -> Model:
    return load_model("minilm", device="cpu", dtype=torch.float64)


@pytest.fixture(scope="session")
def tired(minilm: Model) -> Run:
    return minilm.run(TIRED)


@pytest.fixture(scope="session")
def writer() -> Model:
    """SmolLM2."""
    return load_model("smollm2", device="cpu")


@pytest.fixture(scope="session")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model type of transformers, and a dtype -> its tiny model with random weights, loaded from a folder."""
    folders = tmp_path_factory.mktemp("models")
    saved_in = cache(lambda model_type: str(put(model_type, folders / model_type)))
    return cache(lambda model_type, dtype=torch.float32: load_model(saved_in(model_type), device="cpu", dtype=dtype))


@pytest.fixture(scope="session")
def reference64(minilm64: Model) -> Any:
    return read_reference(minilm64)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BERT as transformers saves it, every parameter random (its own start has biases of 0)."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    vocabulary = {word: n for n, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdef"))}
    tokenizer: Any = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.enable_padding(length=12)
    tokenizer.enable_truncation(5)
    kind: Any = PreTrainedTokenizerFast
    kind(tokenizer_object=tokenizer).save_pretrained(folder)
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


@pytest.fixture(scope="session")
def tiny64(tiny_folder: Path) -> Model:
    return load_model(str(tiny_folder), device="cpu", dtype=torch.float64)


def files_of(recipe: Recipe, place: Path) -> Files:
    trained(recipe).save(place)
    return {name: (place / name).read_bytes() for name in saved.FILES}


@pytest.fixture(scope="session")
def classifier_files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return files_of(TINY, tmp_path_factory.mktemp("classifier") / "run")


@pytest.fixture(scope="session")
def words_files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return files_of(TINY_WORDS, tmp_path_factory.mktemp("words") / "run")


@pytest.fixture
def saved_run(tmp_path: Path) -> Path:
    """A saved run of a classifier."""
    trained(TINY).save(tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def refused(tmp_path: Path) -> Refused:
    """Unpacks what must be refused with this sentence, and looks that nothing is left of it."""

    def unpack(data: bytes, match: str) -> None:
        with pytest.raises(WeightsFileError, match=match):
            saved.unpack(data, tmp_path / "run")
        assert not list(tmp_path.iterdir())

    return unpack
