"""Real weights in our own encoder: MiniLM from an installed package, or a folder of the same form."""

from __future__ import annotations

from .load import load_model
from .minilm import MINILM_SHA256

__all__ = ["MINILM_SHA256", "load_model"]
