"""Training of small models: a recipe, its task and objective, the loop, and the saved run."""

from .loop import Training

__all__ = ["Training"]
