"""Measures of an encoding: its table, rotation or bias, and their dependence on distance.

They are computed from the behaviour of the core's classes: `add` to zeros, `rotate` of a known vector, `bias` on given
queries.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from .encodings import Encoding


@dataclass(frozen=True)
class DistanceCurve:
    """Mean, smallest and largest value over all pairs of positions at distance `start`, start + 1, …."""

    start: int
    mean: list[float]
    low: list[float]
    high: list[float]


def table(encoding: Encoding, length: int | None = None) -> Tensor:
    """Return the table (position, channel): the added rows, or rotations of a vector of first channels.

    The rotated vector has a 1 in the first channel of every pair.

    Raises:
        PositionError: longer than a learned table.
    """
    n = encoding.sizes.n if length is None else length
    if encoding.applied_as == "add":
        return encoding.position.add(torch.zeros(1, n, encoding.width, dtype=torch.float64))[0].detach()
    start = torch.zeros(1, 1, n, encoding.width, dtype=torch.float64)
    start[..., : encoding.width // 2] = 1
    return encoding.position.rotate(start, start)[0][0, 0]


def pair_channels(encoding: Encoding, pair: int) -> tuple[int, int]:
    """Return the two channels of a pair, horizontal and vertical; a pair past the end is the last one.

    Sinusoids have the sine in the even channel and the cosine in the odd one, a rotation turns channel m with
    m + d_head / 2; of a learned table these are two neighbours.
    """
    pair = min(pair, encoding.width // 2 - 1)
    if encoding.applied_as == "rotate":
        return pair, pair + encoding.width // 2
    return (2 * pair + 1, 2 * pair) if encoding.name == "sinusoidal" else (2 * pair, 2 * pair + 1)


def pair_angle(encoding: Encoding, pair: int) -> float | None:
    """Return the angle between neighbouring positions of a pair, in radians; None for a learned table."""
    if encoding.name == "learned":
        return None
    across, up = table(encoding, 2)[1, list(pair_channels(encoding, pair))].tolist()
    return math.atan2(up, across)


def bias(encoding: Encoding) -> Tensor:
    """Return the bias (h, i, j) that is added to the scaled scores."""
    n = encoding.sizes.n
    added = encoding.position.bias(encoding.q, n)
    return torch.zeros(encoding.sizes.n_heads, n, n) if added is None else added[0].detach()


def similarity(encoding: Encoding) -> Tensor:
    """Return the similarity (…, i, j) of two positions under the encoding, for equal words.

    It is the cosine of the two rows if it is added, q · k of equal unit vectors if it rotates, and the bias itself.
    """
    match encoding.applied_as:
        case "add":
            rows = torch.nn.functional.normalize(table(encoding), dim=-1)
            return rows @ rows.T
        case "rotate":
            return _rotated_products(encoding, encoding.sizes.n, encoding.sizes.n)
    return bias(encoding)


def by_distance(square: Tensor, *, signed: bool) -> DistanceCurve:
    """Group the values of a (…, i, j) matrix by distance |i − j|, or by `signed` distance j − i."""
    n = square.shape[-1]
    place = torch.arange(n)
    distance = place - place[:, None]
    row = (distance + n - 1 if signed else distance.abs()).expand(square.shape).flatten()
    values = square.double().flatten()
    zeros = torch.zeros(2 * n - 1 if signed else n, dtype=torch.float64)
    mean, low, high = (
        zeros.scatter_reduce(0, row, values, reduction, include_self=False).tolist()
        for reduction in ("mean", "amin", "amax")
    )
    return DistanceCurve(1 - n if signed else 0, mean, low, high)


def far_curve(encoding: Encoding, length: int) -> list[float]:
    """Return the similarity of position 0 to each of `length` positions; of a bias, its mean over the heads.

    Raises:
        PositionError: longer than a learned table.
    """
    curve = torch.zeros(length)
    match encoding.applied_as:
        case "add":
            rows = torch.nn.functional.normalize(table(encoding, length), dim=-1)
            curve = rows @ rows[0]
        case "rotate":
            curve = _rotated_products(encoding, 1, length)[0]
        case "bias":
            row = encoding.position.bias(encoding.q[:, :, :1], length)
            curve = curve if row is None else row[0, :, 0].detach().mean(dim=0)
    return [float(value) for value in curve.tolist()]


def _rotated_products(encoding: Encoding, len_q: int, len_k: int) -> Tensor:
    """Return q · k (i, j) of equal unit vectors, rotated by their positions."""
    equal = torch.full((1, 1, max(len_q, len_k), encoding.width), encoding.width**-0.5, dtype=torch.float64)
    q, k = encoding.position.rotate(equal[:, :, :len_q], equal[:, :, :len_k])
    return (q @ k.mT)[0, 0]
