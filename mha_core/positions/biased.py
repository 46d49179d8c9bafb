"""Relative encodings, added to the scaled scores."""

import math

import torch
from torch import Tensor

from ..errors import PositionError
from .base import Position, random_table


def slopes(n_heads: int) -> list[float]:
    """Return the slope of each head as published for ALiBi.

    For n heads, a power of 2, they are 2^(−8/n), 2^(−16/n), … 2^−8. Between two powers of 2 the heads beyond the lower
    one take every other slope of the upper one.
    """
    lower = 1 << (n_heads.bit_length() - 1)
    published = [2 ** (-8 * (head + 1) / lower) for head in range(lower)]
    return published + [2 ** (-4 * (2 * head + 1) / lower) for head in range(n_heads - lower)]


class ALiBi(Position):
    """Attention with linear biases: the further away, the lower the score (Press et al. 2022).

    Acts in `bias`: (1, h, i, j), any lengths, positions from 0 on both sides. Nothing is learned.

    Args:
        n_heads: number of heads; each has its own slope, see `slopes`.
        symmetric: True gives −slope · |i − j|, for bidirectional attention. False gives −slope · (i − j), the published
            form, meant for a causal mask: later keys, j > i, which such a mask hides, get slope · (j − i), above 0.

    Raises:
        PositionError: fewer than one head; (in `bias`) another number of heads.
    """

    def __init__(self, n_heads: int, symmetric: bool = True) -> None:
        super().__init__()
        _check_minimum(1, n_heads=n_heads)
        self.n_heads = n_heads
        self.symmetric = symmetric

    def bias(self, q: Tensor, len_k: int) -> Tensor:
        """Return −slope · distance, (1, h, i, j)."""
        _check_heads(self, self.n_heads, q)
        distance = _distance(q, len_k)
        wide = torch.promote_types(q.dtype, torch.float32)  # bfloat16 cannot even count beyond 256
        slope = torch.tensor(slopes(self.n_heads), dtype=wide, device=q.device)
        signed = -distance.abs() if self.symmetric else distance
        return (slope[:, None, None] * signed).to(q.dtype)[None]


class T5Bias(Position):
    """A learned bias per head and bucket of distances (Raffel et al. 2020, T5, section 2.1).

    Acts in `bias`: (1, h, i, j), any lengths, positions from 0 on both sides. Small distances have a bucket each,
    larger ones share ever wider buckets. T5 itself does not divide its scores by √d_head; here they are divided as
    everywhere, so a table trained in T5 fits only if its queries are multiplied by √d_head.

    Args:
        n_heads: number of heads.
        buckets: rows of the table; half of them for later keys, unless causal.
        max_distance: from here on every distance is in the last bucket.
        causal: all buckets for earlier keys; later keys share bucket 0 with the token itself.
        std: standard deviation of the initial table; 1 is about that of the scores, so that the bias shows before any
            training.
        generator: of the initial table; default torch's own.

    Raises:
        PositionError: sizes that leave no bucket to share; (in `bias`) another number of heads.
    """

    def __init__(
        self,
        n_heads: int,
        buckets: int = 32,
        max_distance: int = 128,
        causal: bool = False,
        std: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        _check_minimum(1, n_heads=n_heads)
        _check_minimum(2 if causal else 4, buckets=buckets)
        if not causal and buckets % 2:
            raise PositionError(f"buckets={buckets}: half of them are for later keys; choose an even number")
        self.one_side = buckets if causal else buckets // 2
        self.exact = self.one_side // 2
        _check_minimum(self.exact + 1, max_distance=max_distance)
        self.n_heads = n_heads
        self.max_distance = max_distance
        self.causal = causal
        self.table = random_table(buckets, n_heads, std, generator)

    def bias(self, q: Tensor, len_k: int) -> Tensor:
        """Return the bias of the distance's bucket, (1, h, i, j)."""
        _check_heads(self, self.n_heads, q)
        len_q = q.shape[2]
        # on the CPU, because another device may round the logarithm differently
        bucket = self.bucket_index(torch.arange(1 - len_q, len_k, device="cpu")).to(q.device)
        distance_bias = self.table[bucket].T.to(q.dtype)
        return distance_bias[:, _distance(q, len_k) + len_q - 1][None]

    def bucket_index(self, distance: Tensor) -> Tensor:
        """Return the row of the table for each integer distance j − i, as T5 counts them."""
        later = 0 if self.causal else (distance > 0) * self.one_side
        away = (-distance).clamp(min=0) if self.causal else distance.abs()
        shared = self.one_side - self.exact
        part = torch.log(away / self.exact) / math.log(self.max_distance / self.exact)
        far = self.exact + (part.clamp(min=0) * shared).long()  # log 0 is −∞, which no whole number is
        return later + torch.where(away < self.exact, away, far.clamp(max=self.one_side - 1))


class Shaw(Position):
    """A learned key vector per distance, added to the token's own key (Shaw et al. 2018, keys only).

    Acts in `bias`: q · a[j − i] / √d_head, (b, h, i, j), any lengths, positions from 0 on both sides. Distances are
    clipped to ±max_distance, and all heads share the vectors, as in the paper. q is the one that enters the scores:
    after `rotate`, if another encoding rotates it.

    Args:
        d_head: channels in a head.
        max_distance: larger distances are clipped; the table is (2 max_distance + 1, d_head).
        std: standard deviation of the initial table; 1 is about that of keys, so that the bias shows before any
            training.
        generator: of the initial table; default torch's own.

    Raises:
        PositionError: sizes below 1; (in `bias`) heads of another width.
    """

    def __init__(
        self, d_head: int, max_distance: int, std: float = 1.0, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        _check_minimum(1, d_head=d_head, max_distance=max_distance)
        self.d_head = d_head
        self.max_distance = max_distance
        self.table = random_table(2 * max_distance + 1, d_head, std, generator)

    def bias(self, q: Tensor, len_k: int) -> Tensor:
        """Return q · a[j − i] / √d_head, (b, h, i, j)."""
        b, h, _, d = q.shape
        if d != self.d_head:
            raise PositionError(f"Shaw has d_head={self.d_head}, the heads have {d}; make them equal")
        distance_scores = q @ self.table.T.to(q.dtype) / math.sqrt(d)
        row = _distance(q, len_k).clamp(-self.max_distance, self.max_distance) + self.max_distance
        return distance_scores.gather(-1, row.expand(b, h, -1, -1))


def _distance(q: Tensor, len_k: int) -> Tensor:
    """Return j − i, int64 (i, j), both counted from 0."""
    return torch.arange(len_k, device=q.device) - torch.arange(q.shape[2], device=q.device)[:, None]


def _check_minimum(minimum: int, **sizes: int) -> None:
    """Raise a PositionError if one of the named sizes is below the minimum."""
    for name, size in sizes.items():
        if size < minimum:
            raise PositionError(f"{name}={size} is too small here; choose at least {minimum}")


def _check_heads(position: Position, n_heads: int, q: Tensor) -> None:
    """Raise a PositionError unless q (b, h, i, d) has that many heads."""
    if q.shape[1] != n_heads:
        name = type(position).__name__
        raise PositionError(f"{name} has n_heads={n_heads}, the queries have {q.shape[1]}; make them equal")
