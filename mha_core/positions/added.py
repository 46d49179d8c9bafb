"""Absolute encodings, added to the embeddings."""

from functools import lru_cache

import torch
from torch import Tensor

from ..errors import PositionError
from .base import Position, random_table

BERT_SPREAD = 0.02  # of its initial tables (Devlin et al. 2019)


@lru_cache(maxsize=8)
def sinusoids(length: int, d_model: int) -> Tensor:
    """Return the table of "Attention Is All You Need" (3.5), float64 (length, d_model), on the CPU.

    Channel 2 m is sin(p / 10000^(2 m / d_model)), channel 2 m + 1 the cosine of the same angle, for position p from 0.
    """
    position = torch.arange(length, dtype=torch.float64, device="cpu")[:, None]
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64, device="cpu") / d_model)
    angle = position * frequency
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)


class Sinusoidal(Position):
    """Fixed waves added to the embeddings, for any length (Vaswani et al. 2017, section 3.5).

    Args:
        d_model: width, must be even: sines and cosines come in pairs.
        amplitude: factor on the table.

    Raises:
        PositionError: odd width.
    """

    def __init__(self, d_model: int, amplitude: float = 1.0) -> None:
        super().__init__()
        if d_model < 2 or d_model % 2:
            raise PositionError(f"d_model={d_model}: sines and cosines come in pairs; choose an even number")
        self.d_model = d_model
        self.amplitude = amplitude

    def add(self, x: Tensor) -> Tensor:
        """Add the table to the embeddings (…, i, c)."""
        if x.shape[-1] != self.d_model:
            raise PositionError(f"Sinusoidal has d_model={self.d_model}, the input has {x.shape[-1]}; make them equal")
        # the angles need float64 (at position 511 a float32 angle is off by 3e-5), which the device may lack
        table = sinusoids(x.shape[-2], self.d_model)
        return x + (table * self.amplitude).to(dtype=x.dtype).to(x.device)


class Learned(Position):
    """A trained vector per position, added to the embeddings, as in BERT.

    Args:
        d_model: width.
        max_len: number of positions; longer sequences are refused.
        std: standard deviation of the initial table.
        generator: of the initial table; default torch's own.

    Raises:
        PositionError: (in `add`) a sequence longer than max_len.
    """

    def __init__(
        self, d_model: int, max_len: int, std: float = BERT_SPREAD, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.table = random_table(max_len, d_model, std, generator)

    def add(self, x: Tensor) -> Tensor:
        """Add the first i rows of the table to the embeddings (…, i, c)."""
        max_len, d_model = self.table.shape
        if x.shape[-2] > max_len:
            raise PositionError(f"{x.shape[-2]} positions, but the learned table has {max_len}; shorten the text")
        if x.shape[-1] != d_model:
            raise PositionError(f"Learned has d_model={d_model}, the input has {x.shape[-1]}; make them equal")
        return x + self.table[: x.shape[-2]]
