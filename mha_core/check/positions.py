"""Positions in the scores: rotations from second derivatives, others from what the order of the tokens changes."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from .graph import TEXT, PassGraph
from .probe import BLOCKED, Probe

NOT_A_PRODUCT = "not a product"


def rotation(probe: Probe) -> tuple[str, str]:
    """Return the pairing of rotated channels, "" without rotation or NOT_A_PRODUCT, and a fault.

    The second derivative of a score by query and key is factor × R(i − j): the identity without rotation.
    """
    pairs = probe.pairs

    def steps(i: int, j: int) -> list[tuple[int, int]]:
        return [pair for pair in ((i + 1, j + 1), (i + 1, j), (i, j + 1)) if pair in pairs]

    base = max(pairs, key=lambda pair: (len(steps(*pair)), pair[0] > pair[1], -abs(abs(pair[0] - pair[1]) - 2)))
    i, j = base
    matrices = {pair: _mixing(probe, probe.graph, *pair) for pair in (base, *steps(i, j))}
    first = matrices[base]
    size, tiny = float(first.abs().max()), max(1e-5, probe.limit)  # tables of float32 have errors of 1e-7

    def differs(*pair: int) -> bool:
        return pair not in matrices or float((first - matrices[pair]).abs().max()) >= tiny * size

    other = _mixing(probe, replace(probe.graph, seed=7), i, j)
    if float((first - other).abs().max()) > max(1e-6, tiny) * size:
        return NOT_A_PRODUCT, ""  # a rotation does not depend on what it rotates
    if all(float((m - torch.diag(m.diagonal())).abs().max()) < tiny * size for m in matrices.values()):
        return "", ""
    off = (first - torch.diag(first.diagonal())).abs()
    kind = "rotary halves" if int(off[0].argmax()) == len(first) // 2 > 1 else "rotary pairs"
    is_mixed = int((off > 1e-6 * size).sum(1).max()) > 1
    if not differs(i + 1, j + 1):
        return ("", "rotation pairs differ") if is_mixed else (kind, "")
    if not (differs(i, j + 1) and differs(i + 1, j)):
        return "", "rotation of one side"
    return "", "rotation pairs differ" if is_mixed else "rotation absolute"


def _mixing(probe: Probe, graph: PassGraph, i: int, j: int) -> Tensor:
    """Return d² score / d query d key of head 0 (d, d)."""
    queries, keys = probe.head_channels
    number = graph.scores[TEXT, 0, i, j]
    query, key = (graph.source(number, token)[0].result for token in (i, j))
    (slope,) = torch.autograd.grad(number, query, create_graph=True)
    slopes = graph.as_tokens(slope)[TEXT, i, list(queries[0].channels)]
    return graph.jacobian(slopes, key)[:, TEXT, j, list(keys[0].channels)]


def position_kind(probe: Probe) -> tuple[str, str, float]:
    """Return the kind of positions in the scores, a fault of a rotation, and what another order of tokens changes.

    Raises:
        Unsupported: the scores or their projections cannot be seen.
    """
    queries, _ = probe.head_channels
    pairing, fault = rotation(probe) if len(queries[0].channels) > 1 else ("", "")
    order = torch.randperm(probe.n, generator=torch.Generator().manual_seed(1))
    straight = probe.graph.scores.detach()[TEXT]
    back = order.argsort()
    turned = replace(probe.graph, order=order).scores.detach()[TEXT][..., back, :][..., back]
    allowed = (straight.abs() < BLOCKED) & (turned.abs() < BLOCKED)  # in both orders
    figure = float((straight - turned).abs()[allowed].max() / straight[allowed].abs().max())
    if pairing or fault or figure <= max(probe.limit, 1e-9):
        return pairing or "none", fault, figure
    even = replace(probe.graph, constant=True).scores.detach()[TEXT]
    steps = (even[:, 1:, 1:] - even[:, :-1, :-1])[:, torch.ones(probe.n - 1, probe.n - 1, dtype=torch.bool).tril()]
    maximum = float(even[even.abs() < BLOCKED].abs().max())
    return "relative" if float(steps.nan_to_num().abs().max()) < 1e-6 * maximum else "absolute", "", figure
