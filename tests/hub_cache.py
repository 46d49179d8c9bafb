"""A cache of the hub with tiny models of random weights, as its own package would have left it."""

from __future__ import annotations

from pathlib import Path

import pytest

from headlight.server import public
from tests.core import pictures, sounds, tiny_models

REVISION = "0123456789abcdef0123456789abcdef01234567"
ENDED = ("distilbert", "t5", "bart")  # whose texts end with a token of the model's own


def put(model_type: str, folder: Path) -> Path:
    """A tiny model of that type in a folder."""
    if model_type in pictures.HEADS:
        return pictures.save(model_type, folder)
    if model_type in sounds.HEADS:
        return sounds.save(model_type, folder)
    return tiny_models.save(tiny_models.model_of(model_type), folder, ends=model_type in ENDED)


def fill(home: Path, *model_types: str) -> Path:
    """Models `tiny/<type>` in the cache of this HF_HOME; the home."""
    for model_type in model_types:
        folder = home / "hub" / f"models--tiny--{model_type}"
        snapshot = folder / "snapshots" / REVISION
        snapshot.mkdir(parents=True)
        put(model_type, snapshot)
        (folder / "refs").mkdir()
        (folder / "refs" / "main").write_text(REVISION, "ascii")
    return home


def name_of(model_type: str, group: str = "") -> str:
    """The name of such a model in a link."""
    return f"hf:tiny/{model_type}@{REVISION[:12]}{f'~{group}' if group else ''}"


def sit_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process is at the machine whose cache that is."""
    monkeypatch.setenv("HF_HOME", str(home))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setattr(public, "is_local", lambda: not public.is_public())
