"""Positional encodings: one class each, with up to three places to act (see `Position`)."""

import torch

from ..errors import PositionError
from .added import BERT_SPREAD, Learned, Sinusoidal
from .altered import altered, is_altered
from .base import LayerPart, Nothing, Offset, Position, Together
from .biased import ALiBi, Shaw, T5Bias
from .rotated import Rotary

__all__ = [
    "NAMES",
    "ALiBi",
    "LayerPart",
    "Learned",
    "Nothing",
    "Offset",
    "Position",
    "Rotary",
    "Shaw",
    "Sinusoidal",
    "T5Bias",
    "Together",
    "altered",
    "build",
    "is_altered",
    "mechanisms",
]

KINDS: dict[str, type[Position]] = {
    "none": Nothing,
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "rotary": Rotary,
    "alibi": ALiBi,
    "t5": T5Bias,
    "shaw": Shaw,
}
NAMES = tuple(KINDS)
SHAW_DISTANCE = 16  # the paper's clipping distance


def mechanisms(name: str) -> frozenset[str]:
    """Return how the named encoding acts, as in `Position.mechanisms`, without building it.

    Args:
        name: one of `NAMES`, or an altered learned table (see `altered`).

    Raises:
        PositionError: no encoding has that name.
    """
    if is_altered(name):
        return Learned.mechanisms
    if name not in NAMES:
        raise _unknown(name)
    return KINDS[name].mechanisms


def build(
    name: str, *, d_model: int, n_heads: int, max_len: int, seed: int | None = None, amplitude: float | None = None
) -> Position:
    """Build the named encoding for a bidirectional model of these sizes.

    Args:
        name: one of `NAMES`.
        d_model: width of the embeddings.
        n_heads: number of heads.
        max_len: number of positions of a learned table.
        seed: of the random initialisation of a table: the same seed gives the same table; None draws another each time.
        amplitude: factor on the waves of "sinusoidal", default 1; standard deviation of the initial table of "learned",
            default BERT's, `BERT_SPREAD`. The others have none.

    Raises:
        PositionError: the name is not one of `NAMES`, or that encoding does not support these sizes or that amplitude.
    """
    d_head = d_model // n_heads
    generator = None if seed is None else torch.Generator().manual_seed(seed)  # torch's own is shared by all threads
    match name:
        case "none":
            return Nothing()
        case "sinusoidal":
            return Sinusoidal(d_model, 1.0 if amplitude is None else amplitude)
        case "learned":
            if amplitude is not None and amplitude < 0:
                raise PositionError(f"amplitude={amplitude} is no spread for a learned table; choose 0 or more")
            return Learned(d_model, max_len, BERT_SPREAD if amplitude is None else amplitude, generator)
        case "rotary":
            return Rotary(d_head)
        case "alibi":
            return ALiBi(n_heads)
        case "t5":
            return T5Bias(n_heads, generator=generator)
        case "shaw":
            return Shaw(d_head, SHAW_DISTANCE, generator=generator)
    raise _unknown(name)


def _unknown(name: str) -> PositionError:
    return PositionError(f"position={name!r} is not known; choose one of {', '.join(NAMES)}")
