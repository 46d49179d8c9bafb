"""Properties that are read from the parts of a pass: maps, scores, heads and projections.

Axis letters: b batch, h head, i query, j key, c channel of a projection, d head channel.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..errors import Unsupported
from .anatomy import TEXT, Anatomy
from .finding import FAILS, HOLDS, NOT_APPLICABLE, UNKNOWN, Finding
from .positions import NOT_A_PRODUCT, position_kind
from .reference import rebuild, value_source
from .study import Study
from .target import PER_QUERY, distance

TRUST = 1e-3  # relative difference up to which a factor is the expected one; a fault changes it by √2 or more


def row_sums(study: Study) -> Finding:
    """1: the weights of a query sum to 1 over the keys, with a mask too."""
    try:
        anatomy = study.anatomy
        axes = anatomy.map_axes[0]
    except Unsupported as reason:
        return _returned_sums(study, str(reason))
    if axes.dim != "keys":
        sums = anatomy.weights.detach().sum(-1)
        cause = f"softmax over {axes.dim}"
        figure = float((sums - 1).abs().max())
        words = f"the softmax sums over the {axes.dim}; over the keys the sums are {sums.min():.3g} to {sums.max():.3g}"
        return Finding(1, FAILS, words, figure, study.limit, cause, line=anatomy.line)
    figure = float((anatomy.weights.detach().nan_to_num().sum(-1) - 1).abs().max())
    if (late := _late_mask(study)) is not None:
        return late
    if figure > study.limit:
        return Finding(1, FAILS, "rows do not sum to 1", figure, study.limit, "no softmax", line=anatomy.line)
    return Finding(1, HOLDS, f"{anatomy.weights.shape[1]} heads, each row of keys", figure, study.limit)


def _returned_sums(study: Study, reason: str) -> Finding:
    """Judge the weights that it returns where no softmax was seen."""
    maps = study.target(study.x.clone()).weights
    if maps is None or study.n not in maps.shape[-1:]:
        return Finding(1, UNKNOWN, f"{reason}, and it returns no weights")
    figure = float((maps.detach().sum(-1) - 1).abs().max())
    if figure > study.limit:
        return Finding(1, FAILS, "the rows of its weights do not sum to 1", figure, study.limit, "no softmax")
    return Finding(1, HOLDS, "the rows of the weights that it returns", figure, study.limit)


def _late_mask(study: Study) -> Finding | None:
    """Return a failure where blocked keys have weight in the softmax and lose it afterwards.

    A weight put in the softmax's place at a blocked pair does not reach the output then.
    """
    identified, target, n = study.identified, study.target, study.n
    form = identified.leaking or target.mask
    allow, (i, j) = None, (2, 4)
    if form is not None and form.shape in PER_QUERY and identified.mask_fault in ("", "leaks"):
        target = replace(target, mask=form)
        allow, (i, j) = torch.ones(n, n, dtype=torch.bool, device=study.x.device), (4, 2)
        allow[i, j] = False
    elif study.causal is False:
        return None
    plain = Anatomy(target, n, study.batch, allow=allow)
    weights = plain.weights.detach()[TEXT]
    if float(weights[:, i, j].max()) < 1e-6:
        return None
    put = torch.zeros(study.batch, len(weights), n, n, dtype=study.x.dtype, device=study.x.device)
    empty = Anatomy(target, n, study.batch, allow=allow, weights_used=put).out[TEXT, i]
    put[:, :, i, j] = 1
    if distance(Anatomy(target, n, study.batch, allow=allow, weights_used=put).out[TEXT, i], empty) > study.limit:
        return None
    lost = float(weights[:, i, j].max())
    words = f"key {j} is blocked for query {i}, has weight {lost:.2g} in the softmax and none afterwards"
    return Finding(1, FAILS, words, lost, 0.0, "mask after the softmax", f"query {i}, key {j}", plain.line)


def heads(study: Study) -> Finding:
    """6: a head reads channels of its own of one token, for queries, keys and values, and is joined likewise."""
    if not study.identified.attends:
        return Finding(6, FAILS, "no token moves the output of another", cause="no attention between tokens")
    try:
        anatomy = study.anatomy
        scores = anatomy.scores
    except Unsupported as reason:
        return Finding(6, UNKNOWN, str(reason))
    i, j = study.pair
    for head in range(scores.shape[1]):
        tokens = {
            token
            for projection in anatomy.sources
            for token in _tokens(anatomy.reads(scores[TEXT, head, i, j], projection))
        }
        if foreign := tokens - {i, j}:
            words = f"the score of query {i} and key {j} in head {head} reads tokens {_list(sorted(tokens))}"
            return Finding(6, FAILS, words, len(foreign), 0, "heads by view", words, _cut_line(anatomy))
    if anatomy.queries_mixed:
        words = "the output of a token comes from the weights of several queries"
        return Finding(6, FAILS, words, cause="merge by view", example=words, line=_join_line(anatomy))
    try:
        queries, _ = study.head_channels
    except Unsupported as reason:
        return Finding(6, UNKNOWN, str(reason))
    has_own = anatomy.sources[0].index >= 0
    if (failure := _values(study)) is not None:
        return failure
    n_heads = len(queries)
    width = len(queries[0].channels)
    pairs = [(a, b) for place, a in enumerate(queries) for b in queries[place + 1 :] if a.projection == b.projection]
    shared = max((len({*a.channels} & {*b.channels}) for a, b in pairs), default=0)
    if shared and has_own:
        words = f"two heads share {shared} of {width} channels of the queries"
        return Finding(6, FAILS, words, shared, 0, "heads share channels", line=_cut_line(anatomy))
    return Finding(6, HOLDS, f"{n_heads} heads, {width} channels each, of one token", 0, 0)


def _values(study: Study) -> Finding | None:
    """Return a failure where heads that look at one token pass on another, or give it to another."""
    anatomy, n = study.anatomy, study.n
    sent = torch.arange(n).roll(1)  # each token looks at the one before it
    weights = torch.zeros_like(anatomy.weights).detach()
    weights[:, :, torch.arange(n), sent] = 1
    probe = Anatomy(study.target, n, study.batch, weights_used=weights)
    token, goal = n // 2, int(sent[n // 2])
    for projection in probe.value_sources(anatomy):
        tokens = _tokens(probe.reads(probe.out_number(token), projection))
        if not tokens:
            continue
        if tokens == [goal]:
            return None
        if tokens == [token]:  # a gate of its own
            continue
        words = f"every head looks at token {goal} alone, and output {token} reads tokens {_list(tokens)}"
        is_cut = _join_is_transposed(anatomy)
        line = _cut_line(anatomy) if is_cut else _join_line(anatomy)
        return Finding(6, FAILS, words, len(tokens), 1, "heads by view" if is_cut else "merge by view", words, line)
    return None


def _tokens(slope: Tensor | None) -> list[int]:
    return [] if slope is None else [int(token) for token in slope[TEXT].ne(0).any(-1).nonzero().flatten()]


def _list(tokens: list[int]) -> str:
    return f"{tokens[0]} to {tokens[-1]}" if len(tokens) > 2 else ", ".join(map(str, tokens))


def _cut_line(anatomy: Anatomy) -> Any:
    """Return the line before the scores at which the last axis is split into heads."""
    operations = anatomy.tap.operations[: anatomy.softmax_index]
    cuts = [
        operation
        for operation in operations
        if operation.name in ("view", "reshape", "unflatten") and operation.result.dim() >= 3
    ]
    return next(
        (operation.line for operation in cuts if operation.result.dim() > operation.inputs[0].dim()),
        cuts[0].line if cuts else None,
    )


def _operations_from_softmax(anatomy: Anatomy) -> list[Any]:
    index = max((k for k, operation in enumerate(anatomy.tap.operations) if operation.name == "softmax"), default=0)
    return anatomy.tap.operations[index:]


def _join_line(anatomy: Anatomy) -> Any:
    return next(
        (operation.line for operation in _operations_from_softmax(anatomy) if operation.name in ("view", "reshape")),
        None,
    )


def _join_is_transposed(anatomy: Anatomy) -> bool:
    """Return whether the heads are moved behind the tokens before they are joined."""
    operations = _operations_from_softmax(anatomy)
    join = next((k for k, operation in enumerate(operations) if operation.name in ("view", "reshape")), len(operations))
    return any(operation.name in ("transpose", "permute") for operation in operations[:join])


def scale(study: Study) -> Finding:
    """7: the scores are products of queries and keys divided by √d_head."""
    try:
        factor, spread, d_head = score_factor(study)
    except Unsupported as reason:
        return Finding(7, UNKNOWN, str(reason))
    expected = 1 / math.sqrt(d_head) if study.scale is None else study.scale
    if spread > 1e-3:
        return Finding(
            7, UNKNOWN, "the scores are no fixed multiple of q · k: they are normalised, or something is added"
        )
    if abs(factor / expected - 1) <= max(TRUST, study.limit):
        source = "1 / √d_head" if study.scale is None else "as given"
        return Finding(7, HOLDS, f"q · k is multiplied by {factor:.6g}, {source}", factor, expected)
    factors = {
        "scale missing": 1.0, "scale of d_model": study.target.d_model**-0.5, "scale without root": 1 / d_head,
        "scale inverted": math.sqrt(d_head), "scale twice": 1 / d_head,
    }  # fmt: skip
    cause = next((name for name, value in factors.items() if abs(factor / value - 1) < 1e-3), "another factor")
    words = f"q · k is multiplied by {factor:.6g}, where 1 / √d_head is {expected:.6g}"
    return Finding(7, FAILS, words, factor, expected, cause, line=_score_line(study))


def score_factor(study: Study) -> tuple[float, float, int]:
    """Return the factor of q · k in the scores, its relative spread over heads and pairs, and d_head.

    The score is linear in the query, with a gradient of factor × key, up to a rotation, which keeps lengths.
    """
    anatomy = study.anatomy
    queries, keys = study.head_channels
    factors = []
    for head in range(len(queries)):
        for i, j in (study.pair, (study.n - 1, 1)):
            number = anatomy.scores[TEXT, head, i, j]
            query = anatomy.source(number, i)
            key = anatomy.source(number, j)
            if query is None or key is None:
                raise Unsupported("its scores come from no projection of the inputs")
            slope = query[1][TEXT, i, queries[head].all].norm()
            numbers = anatomy.as_tokens(key[0].tensor.detach())[TEXT, j, keys[head].all]
            factors.append(float(slope / numbers.norm()))
    middle = sorted(factors)[len(factors) // 2]
    return middle, (max(factors) - min(factors)) / middle, len(queries[0].channels)


def _score_line(study: Study) -> Any:
    operations = study.anatomy.tap.operations[: study.anatomy.softmax_index]
    products = [operation for operation in operations if operation.name in ("matmul", "bmm", "baddbmm", "einsum")]
    return products[-1].line if products else None


def positions(study: Study) -> Finding:
    """8: without positions the order of the tokens does not matter; rotations depend on i − j alone."""
    try:
        kind, fault, figure = position_kind(study)
    except Unsupported as reason:
        return Finding(8, UNKNOWN, str(reason))
    line = _score_line(study)
    if fault:
        words = "the scores mix channels of query and key, but not by their distance alone"
        return Finding(8, FAILS, words, cause=fault, line=line)
    if kind == NOT_A_PRODUCT:
        return Finding(8, UNKNOWN, "the scores are not a product of query and key alone")
    expected = study.positions
    if expected and expected != kind and not kind.startswith(f"{expected} "):
        cause = (
            "positions missing"
            if kind == "none"
            else "rotation pairs mixed"
            if "rotary" in kind
            else "rotation absolute"
        )
        return Finding(8, FAILS, f"positions are {kind}, where {expected} was meant", figure, None, cause, line=line)
    sentences = {
        "none": "no positions: tokens in another order have the same scores",
        "relative": "relative positions: equal tokens have scores of i − j alone",
        "absolute": "absolute positions: tokens in another order have other scores",
        "rotary pairs": "rotary positions of i − j alone, channels (c, c + 1) paired",
        "rotary halves": "rotary positions of i − j alone, channels (c, c + d/2) paired",
    }[kind]
    return Finding(8, HOLDS, sentences, figure, study.limit if kind == "none" else None)


def groups(study: Study) -> Finding:
    """10: query heads that share keys stand next to each other."""
    try:
        _, keys = study.head_channels
    except Unsupported as reason:
        return Finding(10, UNKNOWN, str(reason))
    kinds = list(dict.fromkeys(keys))
    number = [kinds.index(head) for head in keys]
    if len(kinds) == len(keys) or len(keys) == 1:
        return Finding(10, NOT_APPLICABLE, "every head has keys of its own")
    repeated = [head * len(kinds) // len(keys) for head in range(len(keys))]
    listed = " ".join(map(str, number))
    line = next((step.line for step in study.anatomy.tap.operations if step.name in ("repeat", "cat")), None)
    if number != repeated:
        words = f"the heads use the groups {listed}, not {' '.join(map(str, repeated))}"
        return Finding(10, FAILS, words, len(kinds), None, "grouped keys tiled", words, line)
    sources = [value_source(study, head)[1:] for head in range(len(keys))]
    value_kinds = list(dict.fromkeys(sources))
    if len(value_kinds) < len(keys) and [value_kinds.index(source) for source in sources] != repeated:
        words = f"keys are shared by neighbouring heads ({listed}), and values by others"
        return Finding(10, FAILS, words, len(value_kinds), None, "grouped values tiled", words, line)
    return Finding(10, HOLDS, f"{len(kinds)} groups of keys for {len(keys)} heads: {listed}", len(kinds), len(kinds))


def reference(study: Study) -> Finding:
    """15: with its matrices found by trying, nn.MultiheadAttention gives the same output."""
    try:
        rebuilt = rebuild(study)
    except Unsupported as reason:
        return Finding(15, UNKNOWN, str(reason))
    if rebuilt.why_not:
        return Finding(15, NOT_APPLICABLE, rebuilt.why_not)
    figure = distance(rebuilt.layer_out, rebuilt.out) if rebuilt.out is not None else 0.0
    limit = max(study.limit, 1e-9)
    if figure <= limit:
        return Finding(15, HOLDS, "its matrices in nn.MultiheadAttention give the same output", figure, limit)
    words = f"with its own matrices nn.MultiheadAttention parts at the {rebuilt.parts_at}"
    return Finding(15, FAILS, words, figure, limit, "matrices", rebuilt.example, _score_line(study))
