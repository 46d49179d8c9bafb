"""Measurements of attention layers, maps, runs and their differences."""

__all__: list[str] = []
