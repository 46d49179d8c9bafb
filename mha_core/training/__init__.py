"""Training of small models: a recipe, its task and objective, the loop, and the saved run."""

from __future__ import annotations

from .loop import Training

__all__ = ["Training"]
