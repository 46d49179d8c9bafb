"""Measurements: `timing`, `benchmark`, `measures`, `agreement`; attention `by_hand`, the steps of an `embedding`."""

__all__: list[str] = []
