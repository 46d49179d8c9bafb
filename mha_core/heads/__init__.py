"""Measures of attention heads, computed from their maps: `kinds` of cells, `measures`, and `tables` of both."""

__all__: list[str] = []
