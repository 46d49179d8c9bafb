"""Positional encodings: one class each, with up to three places to act (see `Position`)."""

from __future__ import annotations

import torch

from ..errors import PositionError
from .added import Learned, Sinusoidal
from .altered import altered, is_altered
from .base import InLayers, Nothing, Position, Together
from .biased import ALiBi, Shaw, T5Bias
from .rotated import Rotary

__all__ = [
    "NAMES",
    "ALiBi",
    "InLayers",
    "Learned",
    "Nothing",
    "Position",
    "Rotary",
    "Shaw",
    "Sinusoidal",
    "T5Bias",
    "Together",
    "altered",
    "build",
    "is_altered",
]

NAMES = ("none", "sinusoidal", "learned", "rotary", "alibi", "t5", "shaw")
SHAW_DISTANCE = 16  # the paper's clipping distance


def build(name: str, *, d_model: int, n_heads: int, max_len: int, seed: int | None = None) -> Position:
    """The encoding of that name, for a model of these sizes that looks to both sides.

    Args:
        seed: of the random start of a learned table: the same seed gives the same table; None draws another each time.

    Raises:
        PositionError: the name is not one of `NAMES`, or that encoding cannot serve these sizes.
    """
    d_head = d_model // n_heads
    generator = None if seed is None else torch.Generator().manual_seed(seed)  # torch's own is shared by all threads
    match name:
        case "none":
            return Nothing()
        case "sinusoidal":
            return Sinusoidal(d_model)
        case "learned":
            return Learned(d_model, max_len, generator=generator)
        case "rotary":
            return Rotary(d_head)
        case "alibi":
            return ALiBi(n_heads)
        case "t5":
            return T5Bias(n_heads, generator=generator)
        case "shaw":
            return Shaw(d_head, SHAW_DISTANCE, generator=generator)
    raise PositionError(f"position={name!r} is not known; choose one of {', '.join(NAMES)}")
