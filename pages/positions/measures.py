"""Measures of an encoding: its table, rotation or bias, and what of them depends on distance.

All are read from the core's classes by what they do: `add` to zeros, `rotate` of a known vector, `bias` on given
queries.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from .encodings import Encoding


@dataclass(frozen=True)
class DistanceCurve:
    """A value at distance `start`, start + 1, …: over all places that far apart its mean, smallest and largest."""

    start: int
    mean: list[float]
    low: list[float]
    high: list[float]


def table(encoding: Encoding, length: int | None = None) -> Tensor:
    """(position, channel): what is added, or what a rotation makes of a vector with 1 in every pair's first channel.

    Raises:
        PositionError: longer than a learned table.
    """
    n = encoding.sizes.n if length is None else length
    if encoding.acts == "add":
        return encoding.position.add(torch.zeros(1, n, encoding.width, dtype=torch.float64))[0].detach()
    start = torch.zeros(1, 1, n, encoding.width, dtype=torch.float64)
    start[..., : encoding.width // 2] = 1
    return encoding.position.rotate(start, start)[0][0, 0]


def pair_channels(encoding: Encoding, pair: int) -> tuple[int, int]:
    """The two channels of a pair, across and up on its circle; past the last pair, those of the last one.

    Sinusoids have the sine in the even channel and the cosine in the odd one, a rotation turns channel m with
    m + d_head / 2; of a learned table these are two neighbours.
    """
    pair = min(pair, encoding.width // 2 - 1)
    if encoding.acts == "rotate":
        return pair, pair + encoding.width // 2
    return (2 * pair + 1, 2 * pair) if encoding.name == "sinusoidal" else (2 * pair, 2 * pair + 1)


def turn_of(encoding: Encoding, pair: int) -> float | None:
    """The angle by which a pair turns from one position to the next, in radians; None of a learned table."""
    if encoding.name == "learned":
        return None
    across, up = table(encoding, 2)[1, list(pair_channels(encoding, pair))].tolist()
    return math.atan2(up, across)


def bias(encoding: Encoding) -> Tensor:
    """(h, i, j), what is added to the scaled scores."""
    n = encoding.sizes.n
    added = encoding.position.bias(encoding.q, n)
    return torch.zeros(encoding.sizes.n_heads, n, n) if added is None else added[0].detach()


def similarity(encoding: Encoding) -> Tensor:
    """The likeness (…, i, j) of two positions under the encoding, all else being equal.

    The cosine of the two rows where it is added; q · k of equal vectors of length 1 where it rotates; the bias itself.
    """
    match encoding.acts:
        case "add":
            rows = torch.nn.functional.normalize(table(encoding), dim=-1)
            return rows @ rows.T
        case "rotate":
            return _turned(encoding, encoding.sizes.n, encoding.sizes.n)
    return bias(encoding)


def by_distance(square: Tensor, *, signed: bool) -> DistanceCurve:
    """The values of a (…, i, j) matrix at each distance |i − j|, from 0 to n − 1, or `signed`: j − i, from 1 − n."""
    n = square.shape[-1]
    place = torch.arange(n)
    distance = place - place[:, None]
    row = (distance + n - 1 if signed else distance.abs()).expand(square.shape).flatten()
    values = square.double().flatten()
    zeros = torch.zeros(2 * n - 1 if signed else n, dtype=torch.float64)
    mean, low, high = (
        zeros.scatter_reduce(0, row, values, how, include_self=False).tolist() for how in ("mean", "amin", "amax")
    )
    return DistanceCurve(1 - n if signed else 0, mean, low, high)


def far_curve(encoding: Encoding, length: int) -> list[float]:
    """`similarity` of position 0 to each of `length` positions; of a bias, its mean over the heads.

    Raises:
        PositionError: longer than a learned table.
    """
    curve = torch.zeros(length)
    match encoding.acts:
        case "add":
            rows = torch.nn.functional.normalize(table(encoding, length), dim=-1)
            curve = rows @ rows[0]
        case "rotate":
            curve = _turned(encoding, 1, length)[0]
        case "bias":
            row = encoding.position.bias(encoding.q[:, :, :1], length)
            curve = curve if row is None else row[0, :, 0].detach().mean(dim=0)
    return [float(value) for value in curve.tolist()]


def _turned(encoding: Encoding, len_q: int, len_k: int) -> Tensor:
    """(i, j): q · k of equal vectors of length 1, turned by their positions."""
    same = torch.full((1, 1, max(len_q, len_k), encoding.width), encoding.width**-0.5, dtype=torch.float64)
    q, k = encoding.position.rotate(same[:, :, :len_q], same[:, :, :len_k])
    return (q @ k.mT)[0, 0]
