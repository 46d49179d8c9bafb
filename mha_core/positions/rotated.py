"""Rotary encoding, which rotates queries and keys."""

import math
from functools import lru_cache

import torch
from torch import Tensor

from ..errors import PositionError
from .base import Position


@lru_cache(maxsize=8)
@torch.inference_mode(False)  # cached tensors are used in passes with gradients too
def rotation_tables(length: int, d_head: int, base: float) -> tuple[Tensor, Tensor]:
    """Return cosines and sines of all angles, float64 (length, d_head / 2) each, on the CPU.

    Position p, from 0, rotates pair m by p / base^(2 m / d_head) radians: the frequencies of the sinusoids.
    """
    position = torch.arange(length, dtype=torch.float64, device="cpu")[:, None]
    angle = position * base ** (-torch.arange(0, d_head, 2, dtype=torch.float64, device="cpu") / d_head)
    return angle.cos(), angle.sin()


def rotate_halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate x (…, n, d) in the pairs (m, m + d/2), as `rotate_half` of Hugging Face does."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def rotate_neighbours(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate x (…, n, d) in the pairs (2 m, 2 m + 1), as the paper does."""
    first, second = x[..., ::2], x[..., 1::2]
    return torch.stack((first * cos - second * sin, second * cos + first * sin), dim=-1).flatten(-2)


def permute_to_neighbours(x: Tensor) -> Tensor:
    """Move channel m of x (…, d) to place 2 m, and channel m + d/2 beside it."""
    return torch.stack(x.chunk(2, dim=-1), dim=-1).flatten(-2)


class Rotary(Position):
    """Rotation of queries and keys by position, so that their product depends on i − j.

    RoPE, Su et al. 2021. Acts in `rotate`: q (b, h, i, d), k (b, h, j, d) -> the same shapes; any lengths, positions
    from 0 on both sides. Channel m and channel m + d/2 rotate as a pair, as in Hugging Face's Llama; the paper pairs 2
    m with 2 m + 1, which is the same up to the order of the channels.

    Args:
        d_head: channels in a head, must be even: channels rotate in pairs.
        base: the larger, the slower the later pairs rotate.

    Raises:
        PositionError: odd d_head, or a base that is not above 0; (in `rotate`) heads of another width.
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
        """Rotate q and k by their positions."""
        return self._rotate(q), self._rotate(k)

    def _rotate(self, x: Tensor) -> Tensor:
        """Rotate (b, h, n, d) by the positions 0 to n − 1."""
        if x.shape[-1] != self.d_head:
            raise PositionError(f"Rotary has d_head={self.d_head}, the heads have {x.shape[-1]}; make them equal")
        # as with the sinusoids: the angles need float64, which the device may lack
        tables = rotation_tables(x.shape[-2], self.d_head, self.base)
        cos, sin = (table.to(dtype=x.dtype).to(x.device) for table in tables)
        return rotate_halves(x, cos, sin)
