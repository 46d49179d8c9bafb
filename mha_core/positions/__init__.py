"""Positional encodings: one class each, with up to three places to act (see `Position`)."""

from __future__ import annotations

from ..errors import PositionError
from .added import Learned, Sinusoidal
from .base import InLayers, Nothing, Position, Together

__all__ = ["NAMES", "InLayers", "Learned", "Nothing", "Position", "Sinusoidal", "Together", "build"]

NAMES = ("none", "sinusoidal", "learned")


def build(name: str, *, d_model: int, max_len: int) -> Position:
    """The encoding of that name, for a model of these sizes.

    Raises:
        PositionError: the name is not one of `NAMES`.
    """
    match name:
        case "none":
            return Nothing()
        case "sinusoidal":
            return Sinusoidal(d_model)
        case "learned":
            return Learned(d_model, max_len)
    raise PositionError(f"position={name!r} is not known; choose one of {', '.join(NAMES)}")
