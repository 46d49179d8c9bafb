"""Measurements of implementations and models: `timing`, `benchmark`, `compare`, and attention worked `by_hand`."""

from __future__ import annotations

__all__: list[str] = []
