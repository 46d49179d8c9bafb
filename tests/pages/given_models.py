"""What tests of models that read pictures or sounds have in common: their machine, queries, and what the wire says."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from pages.kit.server import public

from .conftest import unpacked


def sit_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process is at the machine whose cache of the hub that is."""
    monkeypatch.setenv("HF_HOME", str(home))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setattr(public, "is_local", lambda: not public.is_public())


def query(model: str, **more: Any) -> bytes:
    return urlencode({"model": model, **more}, doseq=True).encode()


def header(packed: bytes) -> dict[str, Any]:
    """Of a message, or of the first of those in it."""
    said, body = unpacked(packed)
    return header(body[: said["parts"][0]]) if "parts" in said else said
