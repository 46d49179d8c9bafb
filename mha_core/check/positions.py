"""Positions in the scores: rotations from second derivatives, others from what the order of the tokens changes."""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import Unsupported
from .anatomy import TEXT, Anatomy
from .study import Study

NOT_A_PRODUCT = "not a product"


def rotation(study: Study) -> tuple[str, str]:
    """Return the pairing of rotated channels, "" without rotation or NOT_A_PRODUCT, and a fault.

    The second derivative of a score by query and key is factor × R(i − j): the identity without rotation.
    """
    matrices = {pair: _mixing(study, study.anatomy, *pair) for pair in ((3, 1), (4, 2), (4, 1), (3, 2))}
    first = matrices[3, 1]
    size, tiny = float(first.abs().max()), max(1e-5, study.limit)  # tables of float32 have errors of 1e-7
    other = _mixing(study, Anatomy(study.target, study.n, study.batch, seed=7), 3, 1)
    if float((first - other).abs().max()) > max(1e-6, tiny) * size:
        return NOT_A_PRODUCT, ""  # a rotation does not depend on what it rotates
    is_plain = all(float((m - torch.diag(m.diagonal())).abs().max()) < tiny * size for m in matrices.values())
    if is_plain:
        return "", ""
    d = len(first)
    off = first - torch.diag(first.diagonal())
    partner = int(off[0].abs().argmax())
    pairs = {1: "rotary pairs", d // 2: "rotary halves"}
    if float((first - matrices[4, 2]).abs().max()) < tiny * size:
        count = int((off.abs() > 1e-6 * size).sum(1).max())
        return (pairs.get(partner, "rotary pairs"), "") if count == 1 else ("", "rotation pairs mixed")
    by_query = float((first - matrices[3, 2]).abs().max()) < tiny * size
    by_key = float((first - matrices[4, 1]).abs().max()) < tiny * size
    if by_query or by_key:
        return "", "rotation of one side"
    count = int((off.abs() > 1e-6 * size).sum(1).max())
    return "", "rotation pairs mixed" if count > 1 else "rotation absolute"


def _mixing(study: Study, anatomy: Anatomy, i: int, j: int) -> Tensor:
    """Return d² score / d query d key of head 0 (d, d)."""
    queries, keys = study.head_channels
    number = anatomy.scores[TEXT, 0, i, j]
    query, key = (anatomy.source(number, token) for token in (i, j))
    if query is None or key is None:
        raise Unsupported("its scores come from no projection of the inputs")
    (slope,) = torch.autograd.grad(number, query[0].tensor, create_graph=True)
    slopes = anatomy.as_tokens(slope)[TEXT, i, queries[0].all]
    return anatomy.jacobian(slopes, key[0].tensor)[:, TEXT, j, keys[0].all]


def position_kind(study: Study) -> tuple[str, str, float]:
    """Return the kind of positions in the scores, a fault of a rotation, and what another order of tokens changes.

    Raises:
        Unsupported: the scores or their projections cannot be seen.
    """
    queries, _ = study.head_channels
    pairing, fault = rotation(study) if len(queries[0].channels) > 1 else ("", "")
    order = torch.randperm(study.n, generator=torch.Generator().manual_seed(1))
    straight = study.anatomy.scores.detach()[TEXT]
    turned = Anatomy(study.target, study.n, study.batch, order=order).scores.detach()[TEXT]
    back = order.argsort()
    turned = turned[..., back, :][..., back]
    finite = (straight.abs() < 1e30) & (turned.abs() < 1e30)  # both orders leave the pair
    figure = float((straight - turned).abs()[finite].max() / straight[finite].abs().max())
    if pairing or fault or figure <= max(study.limit, 1e-9):
        return pairing or "none", fault, figure
    even = Anatomy(study.target, study.n, study.batch, constant=True).scores.detach()[TEXT]
    steps = (even[:, 1:, 1:] - even[:, :-1, :-1])[:, torch.ones(study.n - 1, study.n - 1, dtype=torch.bool).tril()]
    maximum = float(even[even.abs() < 1e30].abs().max())
    return "relative" if float(steps.abs().max()) < 1e-6 * maximum else "absolute", "", figure
