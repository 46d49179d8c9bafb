"""Attention rollout: of which input tokens each token is made after every layer, were attention all that mixes them;
and the flow into one output token, layer by layer: what passes every token, and the strongest way down.

Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3. It assumes that all heads of a layer
count alike, that a token is half of what attention brings and half of itself (the residual connection), and that what
is mixed stays apart: values, output matrices, norms and feed-forward networks are left out.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..errors import SizeError


def with_residual(weights: Tensor) -> Tensor:
    """A layer's maps (…, i, i) -> of which tokens a token is made behind it, (…, i, i) float64, each row of sum 1.

    A token counts once more for itself and its row is divided by its sum: ½ weights + ½ I where a row sums to 1. Who
    may look at nobody stays as it is, and what a row gives to no token is left out of the sum.

    Raises:
        SizeError: the maps are not square.
    """
    if weights.dim() < 2 or weights.shape[-1] != weights.shape[-2]:
        raise SizeError(f"maps {tuple(weights.shape)}: only where rows and columns are the same tokens can one go on")
    whole = weights.detach().cpu().double() + torch.eye(weights.shape[-1], dtype=torch.float64)
    return whole / whole.sum(dim=-1, keepdim=True)


def rollout(weights: Tensor) -> Tensor:
    """Maps -> the share of input token j in token i after so many layers, (layers + 1, i, j) float64; rows sum to 1.

    [0] is the identity. The rows of [-1] are what is made of the whole model; the product goes over the layers, the
    last one first.

    Args:
        weights: (layers, h, i, i), over whose heads the mean is taken, as `Run.weights`; or (layers, i, i), a map each.

    Raises:
        SizeError: maps that are not square, or of other axes.
    """
    if weights.dim() not in (3, 4):
        raise SizeError(f"weights {tuple(weights.shape)}: need (layers, h, i, i) or (layers, i, i)")
    layers = with_residual(weights.detach().cpu().double().mean(dim=1) if weights.dim() == 4 else weights)
    made = [torch.eye(weights.shape[-1], dtype=torch.float64)]
    for layer in layers:
        made.append(layer @ made[-1])
    return torch.stack(made)


class Line(NamedTuple):
    """What goes from one token to another through one layer, as a share of the whole output token.

    Attributes:
        level: of the upper end, 1 to layers: behind the layer `level` − 1.
        above, below: the token that looks, and the one that is looked at.
    """

    level: int
    above: int
    below: int
    share: float


class Flow(NamedTuple):
    """Level 0 is the input of the first layer, level n what comes out of the n-th.

    Attributes:
        masses: (layers + 1, i) float64, what of the output token passes each token at each level; a level sums to 1.
        lines: the strongest, largest first.
        in_all: how many lines there are.
        path: a token for each level, from 0 up, of the way from the wanted token whose lines have the largest product;
            empty where none leads there.
        along: that product, the share that came this very way.
    """

    masses: Tensor
    lines: list[Line]
    in_all: int
    path: list[int]
    along: float


def flow(mixing: Tensor, row: int, key: int | None = None, most: int = 240) -> Flow:
    """What an output token is made of, by maps (layers, i, i) whose rows sum to 1, as `with_residual` makes them.

    The masses of level 0 are the row of `rollout`: m at a level, times its map, is m at the level below.

    Args:
        row: the output token.
        key: the input token that the path leads to; None = the one of which most comes, but for the row's own.
        most: lines that are listed.

    Raises:
        SizeError: maps that are not square, or no such token.
    """
    layers, n = mixing.shape[0], mixing.shape[-1]
    if mixing.dim() != 3 or mixing.shape[1] != n:
        raise SizeError(f"maps {tuple(mixing.shape)}: need (layers, i, i)")
    if row not in range(n) or (key is not None and key not in range(n)):
        raise SizeError(f"row={row}, key={key}: there are {n} tokens, counted from 0")
    start = torch.nn.functional.one_hot(torch.tensor(row), n).double()
    masses, strongest, back, found, count = [start], start, list[Tensor](), list[Line](), 0
    for level in range(layers, 0, -1):
        layer = mixing[level - 1].cpu().double()
        flows = masses[-1][:, None] * layer
        count += int((flows > 0).sum())
        found += _lines(flows, level, most)
        strongest, above = (strongest[:, None] * layer).max(dim=0)
        masses.append(flows.sum(dim=0))
        back.append(above)
    masses.reverse()
    end = _most_but(masses[0], row) if key is None else key
    path = _path(end, back[::-1]) if strongest[end] > 0 else []
    lines = sorted(found, key=lambda line: -line.share)[:most]
    return Flow(torch.stack(masses), lines, count, path, float(strongest[end]))


def _lines(flows: Tensor, level: int, most: int) -> list[Line]:
    """The strongest of one layer."""
    n = flows.shape[-1]
    shares, places = flows.flatten().topk(min(most, n * n))
    pairs = zip(shares.tolist(), places.tolist(), strict=True)
    return [Line(level, place // n, place % n, share) for share, place in pairs if share > 0]


def _most_but(masses: Tensor, row: int) -> int:
    """The token of which most comes, but for `row`; `row` where nothing else does."""
    others = masses.clone()
    others[row] = 0
    return int(others.argmax()) if others.any() else row


def _path(end: int, back: Sequence[Tensor]) -> list[int]:
    """From a token of level 0 up, by the token above of each."""
    path = [end]
    for above in back:
        path.append(int(above[path[-1]]))
    return path
