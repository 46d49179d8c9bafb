"""Encodings that turn queries and keys."""

import math
from functools import lru_cache

import torch
from torch import Tensor

from ..errors import PositionError
from .base import Position


@lru_cache(maxsize=8)
@torch.inference_mode(False)  # kept tensors serve passes with gradients too
def turns(length: int, d_head: int, base: float) -> tuple[Tensor, Tensor]:
    """Cosines and sines of all angles, float64 (length, d_head / 2) each, on the CPU.

    Position p, from 0, turns pair m by p / base^(2 m / d_head) radians: the frequencies of the sinusoids.
    """
    position = torch.arange(length, dtype=torch.float64, device="cpu")[:, None]
    angle = position * base ** (-torch.arange(0, d_head, 2, dtype=torch.float64, device="cpu") / d_head)
    return angle.cos(), angle.sin()


class Rotary(Position):
    """Turns each query and key by its position, so that their product knows only i − j. Paper: Su et al. 2021 (RoPE).

    Acts in `rotate`: q (b, h, i, d), k (b, h, j, d) -> the same shapes; any lengths, positions from 0 on both sides.
    Channel m and channel m + d/2 are the pair that turns together, as in Hugging Face's Llama; the paper pairs 2 m with
    2 m + 1, which is the same up to the order of the channels.

    Args:
        d_head: channels in a head, must be even: channels turn in pairs.
        base: the larger, the slower the later pairs turn.

    Raises:
        PositionError: odd d_head, or a base that is no number above 0; (in `rotate`) heads of another width.
    """

    def __init__(self, d_head: int, base: float = 10000.0) -> None:
        super().__init__()
        if d_head < 2 or d_head % 2:
            raise PositionError(
                f"d_head={d_head}: channels turn in pairs; choose an even number (d_head = d_model / n_heads)"
            )
        if not 0 < base < math.inf:
            raise PositionError(f"base={base} gives no angles; choose a number above 0, 10000 in the paper")
        self.d_head = d_head
        self.base = base

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        return self._turned(q), self._turned(k)

    def _turned(self, x: Tensor) -> Tensor:
        """(b, h, n, d) -> the same."""
        if x.shape[-1] != self.d_head:
            raise PositionError(f"Rotary has d_head={self.d_head}, the heads have {x.shape[-1]}; make them equal")
        # as with the sinusoids: the angles need float64, the device need not have it
        tables = turns(x.shape[-2], self.d_head, self.base)
        cos, sin = (table.to(dtype=x.dtype).to(x.device) for table in tables)
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
