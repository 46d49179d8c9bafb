"""Weights in the cache folder: mapped, whole, shared, and never believed without a look."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core.pretrained import weights_cache

SOURCE = "ab" * 32
SHAPES: dict[str, tuple[int, ...]] = {"wide": (40, 33), "one": (1,), "odd": (3, 5, 7)}
DATA = 4 * sum(torch.Size(shape).numel() for shape in SHAPES.values())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of this test, which is not there yet."""
    monkeypatch.setenv(weights_cache.VARIABLE, str(tmp_path / "cache" / "ours"))
    return tmp_path / "cache" / "ours"


class Maker:
    """Makes random tensors, the same each time, and counts its calls."""

    def __init__(self, shapes: dict[str, tuple[int, ...]] = SHAPES) -> None:
        self.shapes = shapes
        self.calls = 0

    def __call__(self) -> Iterator[tuple[str, Tensor]]:
        self.calls += 1
        generator = torch.Generator().manual_seed(1)
        for name, shape in self.shapes.items():
            yield name, torch.randn(shape, generator=generator)

    def equal(self, tensors: dict[str, Tensor]) -> bool:
        wanted = dict(Maker(self.shapes)())
        return tensors.keys() == wanted.keys() and all(torch.equal(tensors[name], wanted[name]) for name in wanted)


def kept(make: Maker, source: str = SOURCE) -> dict[str, Tensor]:
    return weights_cache.load_or_build("model", source, make.shapes, make)


def test_made_once_then_read(folder: Path) -> None:
    make = Maker()
    kept(make)["wide"].zero_()  # which stays out of the file
    for _ in range(2):
        assert make.equal(kept(make))
    assert make.calls == 1
    assert [file.name for file in folder.iterdir()] == ["model.weights"]


def spoilt_by(place: int) -> Callable[[bytes], bytes]:
    def spoil(content: bytes) -> bytes:
        changed = bytearray(content)
        changed[place] ^= 1
        return bytes(changed)

    return spoil


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda content: b"",
    "half of it": lambda content: content[: len(content) // 2],
    "another file of that size": lambda content: os.urandom(len(content)),
    "one bit of the header": spoilt_by(30),
    "one bit of the first number": spoilt_by(-DATA),
}


def test_a_spoilt_file_is_written_anew(folder: Path) -> None:
    kept(Maker())
    file = folder / "model.weights"
    whole = file.read_bytes()
    for kind, spoil in SPOILT.items():
        file.write_bytes(spoil(whole))
        assert file.read_bytes() != whole, kind
        make = Maker()
        assert make.equal(kept(make)), kind
        assert make.calls == 1, kind
        assert file.read_bytes() == whole, kind


def test_files_of_another_source_or_shape_in_its_place(folder: Path) -> None:
    make, turned = Maker(), Maker({**SHAPES, "wide": (33, 40)})
    assert make.equal(kept(make, source="cd" * 32))
    assert make.equal(kept(make))  # that one was made from another file
    assert make.calls == 2
    assert turned.equal(kept(turned)), "as many numbers in another shape"
    assert turned.calls == 1


def test_file_writable_by_others_is_not_trusted(folder: Path) -> None:
    make = Maker()
    kept(make)
    (folder / "model.weights").chmod(0o666)
    assert make.equal(kept(make))
    assert make.calls == 2
    assert (folder / "model.weights").stat().st_mode & 0o077 == 0


def test_foreign_files_are_not_deleted(folder: Path, tmp_path: Path) -> None:
    make, other, file = Maker(), tmp_path / "precious", folder / "model.weights"
    file.mkdir(parents=True)
    assert make.equal(kept(make)), "in memory"
    assert file.is_dir()
    file.rmdir()
    other.write_text("precious")
    file.symlink_to(other)
    assert make.equal(kept(make))
    assert other.read_text() == "precious"
    assert not file.is_symlink()
    shutil.rmtree(folder.parent)
    folder.parent.write_text("a file where the folder should be")
    assert make.equal(kept(make))


def refuse(*args: object, **options: object) -> None:
    raise OSError(30, "Read-only file system")


DISKS: dict[str, tuple[str, Any]] = {
    "read-only": ("tempfile.mkstemp", refuse),
    "without room": ("shutil.disk_usage", lambda path, usage=shutil.disk_usage: usage(path)._replace(free=DATA)),
}


@pytest.mark.faults
def test_unwritable_cache_is_skipped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, disk in DISKS.items():
        make = Maker()
        with monkeypatch.context() as patched:
            patched.setattr(*disk)
            assert make.equal(kept(make)), kind
        assert make.calls == 1, kind
        assert list(folder.iterdir()) == [], kind


def test_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv(weights_cache.VARIABLE, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert weights_cache.folder() == tmp_path / ".cache" / "headlight"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert weights_cache.folder() == tmp_path / "xdg" / "headlight"
    monkeypatch.setenv(weights_cache.VARIABLE, str(tmp_path / "mine"))
    assert weights_cache.folder() == tmp_path / "mine"
