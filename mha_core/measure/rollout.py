"""Attention rollout and the attention flow into one output token.

Rollout estimates the shares of the input tokens in each token after every layer; flow follows the shares of one output
token down the layers.

Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3. It assumes that all heads of a layer
count alike, that a token is half attention output and half itself (the residual connection), and that tokens mix
linearly: values, output matrices, norms and feed-forward networks are left out.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..errors import SizeError


def with_residual(weights: Tensor) -> Tensor:
    """Add the residual connection to a layer's maps (…, i, i): float64, each row of sum 1.

    The identity is added and each row divided by its sum: ½ weights + ½ I where a row sums to 1. A row without an
    allowed key becomes the identity's, and weight on no token is left out of the sum.

    Raises:
        SizeError: the maps are not square.
    """
    if weights.dim() < 2 or weights.shape[-1] != weights.shape[-2]:
        raise SizeError(f"maps {tuple(weights.shape)}: rollout needs square maps, (…, i, i)")
    mixing = weights.detach().cpu().double() + torch.eye(weights.shape[-1], dtype=torch.float64)
    return mixing / mixing.sum(dim=-1, keepdim=True)


def rollout(weights: Tensor) -> Tensor:
    """Compute the share of input token j in token i after each layer, (layers + 1, i, j) float64.

    Rows sum to 1. [0] is the identity, [-1] the product over all layers, the last one on the left.

    Args:
        weights: (layers, h, i, i), averaged over heads, as `Run.weights`; or (layers, i, i), one map per layer.

    Raises:
        SizeError: maps that are not square, or of other axes.
    """
    if weights.dim() not in (3, 4):
        raise SizeError(f"weights {tuple(weights.shape)}: need (layers, h, i, i) or (layers, i, i)")
    layers = with_residual(weights.detach().cpu().double().mean(dim=1) if weights.dim() == 4 else weights)
    products = [torch.eye(weights.shape[-1], dtype=torch.float64)]
    for layer in layers:
        products.append(layer @ products[-1])
    return torch.stack(products)


class Line(NamedTuple):
    """Flow from one token to another through one layer, as a share of the output token.

    Attributes:
        level: of the upper end, 1 to layers: the output of layer `level` − 1.
        query: the token that attends.
        key: the token that is attended to.
        share: of the output token.
    """

    level: int
    query: int
    key: int
    share: float


class Flow(NamedTuple):
    """Attention flow into one output token.

    Level 0 is the input of the first layer, level n the output of the n-th.

    Attributes:
        masses: (layers + 1, i) float64, the share of the output token that passes each token at each level; a level
            sums to 1.
        lines: the strongest, largest first.
        n_lines: the total number of lines.
        path: a token for each level, from 0 up, of the way from the input token with the largest product of shares;
            empty if there is none.
        path_share: that product.
    """

    masses: Tensor
    lines: list[Line]
    n_lines: int
    path: list[int]
    path_share: float


def flow(mixing: Tensor, row: int, key: int | None = None, max_lines: int = 240) -> Flow:
    """Compute the flow into an output token by maps (layers, i, i) whose rows sum to 1, see `with_residual`.

    The masses of level 0 are the row of `rollout`: the masses of a level times its map are those of the level below.

    Args:
        mixing: (layers, i, i).
        row: the output token.
        key: the input token that the path starts from; None = the one with the largest share, except `row` itself.
        max_lines: the maximum number of lines that are listed.

    Raises:
        SizeError: maps that are not square, or no such token.
    """
    layers, n = mixing.shape[0], mixing.shape[-1]
    if mixing.dim() != 3 or mixing.shape[1] != n:
        raise SizeError(f"maps {tuple(mixing.shape)}: need (layers, i, i)")
    if row not in range(n) or (key is not None and key not in range(n)):
        raise SizeError(f"row={row}, key={key}: there are {n} tokens, counted from 0")
    start = torch.nn.functional.one_hot(torch.tensor(row), n).double()
    masses, strongest, predecessors, lines, count = [start], start, list[Tensor](), list[Line](), 0
    for level in range(layers, 0, -1):
        layer = mixing[level - 1].cpu().double()
        flows = masses[-1][:, None] * layer
        count += int((flows > 0).sum())
        lines += _lines(flows, level, max_lines)
        strongest, query = (strongest[:, None] * layer).max(dim=0)
        masses.append(flows.sum(dim=0))
        predecessors.append(query)
    masses.reverse()
    origin = _heaviest_other(masses[0], row) if key is None else key
    path = _path(origin, predecessors[::-1]) if strongest[origin] > 0 else []
    lines = sorted(lines, key=lambda line: -line.share)[:max_lines]
    return Flow(torch.stack(masses), lines, count, path, float(strongest[origin]))


def _lines(flows: Tensor, level: int, max_lines: int) -> list[Line]:
    """Return the strongest lines of one layer."""
    n = flows.shape[-1]
    shares, places = flows.flatten().topk(min(max_lines, n * n))
    pairs = zip(shares.tolist(), places.tolist(), strict=True)
    return [Line(level, place // n, place % n, share) for share, place in pairs if share > 0]


def _heaviest_other(masses: Tensor, row: int) -> int:
    """Return the token with the largest mass except `row`; `row` if no other has any."""
    others = masses.clone()
    others[row] = 0
    return int(others.argmax()) if others.any() else row


def _path(start: int, predecessors: Sequence[Tensor]) -> list[int]:
    """Follow the predecessors from a token of level 0 up."""
    path = [start]
    for queries in predecessors:
        path.append(int(queries[path[-1]]))
    return path
