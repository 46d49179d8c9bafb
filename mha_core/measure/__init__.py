"""Measurements: `timing`, `benchmark`, `measures`, `agreement`; attention `by_hand`, the steps of an `embedding`."""

from __future__ import annotations

__all__: list[str] = []
