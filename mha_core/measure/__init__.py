"""Measurements: `timing`, `benchmark`, `compare`; attention worked `by_hand`, and the steps of an `embedding`."""

from __future__ import annotations

__all__: list[str] = []
