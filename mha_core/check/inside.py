"""Properties that are read from the parts of a pass: maps, scores, heads and projections.

Axis letters: b batch, h head, i query, j key, c channel of a projection, d head channel.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from ..errors import Unsupported
from .finding import FAILS, HOLDS, NOT_APPLICABLE, UNKNOWN, Finding
from .graph import TEXT, PassGraph
from .identify import KEY, QUERY, block
from .positions import NOT_A_PRODUCT, position_kind
from .probe import Probe
from .recorder import ANGLES, COPIES, FACTORS, PRODUCTS, Line
from .target import distance

TRUST = 1e-3  # relative difference up to which a factor is the expected one; a fault changes it by √2 or more


def row_sums(probe: Probe) -> Finding:
    """1: the weights of a query sum to 1 over the keys, with a mask too."""
    try:
        graph, axis = probe.graph, probe.graph.axes.sum_axis
    except Unsupported as reason:
        return _even_text(probe, str(reason))
    weights = graph.weights.detach().nan_to_num()
    sums = weights.sum(-1)[weights.any(-1)]
    figure, line = float((sums - 1).abs().max()), graph.softmaxes[-1].line
    span = f"over the keys the sums are {sums.min():.3g} to {sums.max():.3g}"
    if graph.recorder.maker(graph.softmaxes[-1].inputs[0], {"softmax"}) is not None:
        return Finding(1, FAILS, "a softmax takes the weights of another", cause="softmax twice", line=line)
    if axis not in ("keys", ""):
        words = f"the weights sum to 1 over the {axis}; {span}"
        return Finding(1, FAILS, words, figure, probe.limit, f"softmax over {axis}", line=line)
    if (late := _late_mask(probe)) is not None:
        return late
    if figure > probe.limit:
        return Finding(1, FAILS, span, figure, probe.limit, "no softmax", line=line)
    return Finding(1, HOLDS, f"{weights.shape[1]} heads, each row of keys{_returned(graph)}", figure, probe.limit)


def _returned(graph: PassGraph) -> str:
    """Return a clause on the weights that a layer returns."""
    maps, weights = graph.answer.weights, graph.weights
    if maps is None or maps.numel() not in (weights.numel(), weights[:, 0].numel()):
        return ""
    if maps.shape == weights[:, 0].shape and distance(maps, weights.mean(1)) < TRUST:
        return "; it returns their mean over the heads"
    is_same = distance(*(x.flatten().sort().values[-weights.numel() :] for x in (maps, weights))) < TRUST
    return "" if is_same else "; what it returns beside the output are not these weights"


def _even_text(probe: Probe, reason: str) -> Finding:
    """Judge weights that cannot be seen by a text of equal tokens, which have the output of one.

    A key then moves an output as the token of a text of one does, times its weight, and a query moves nothing.
    """
    token = probe.x[:1, :1].clone().requires_grad_()
    text = token.detach().expand(1, probe.n, -1).clone().requires_grad_()
    with torch.enable_grad():
        alone, out = probe.target(token).out[0, 0], probe.target(text).out[0]
        (slope,) = torch.autograd.grad(alone.sum(), token)
        (slopes,) = torch.autograd.grad(out[-1].sum(), text)
    figure, limit = distance(out, alone.expand_as(out)), max(probe.limit, 1e-9)
    words = f"{probe.n} equal tokens have the output of one alone"
    if figure > limit and probe.is_ordered:
        return Finding(1, UNKNOWN, f"{reason}, and equal tokens have other outputs: it has positions, or no softmax")
    if figure > limit:
        return Finding(1, FAILS, f"it is not so that {words}", figure, limit, "no softmax")
    shares = slopes[0] @ slope[0, 0] / slope.square().sum()
    if distance(slopes[0], shares[:, None] * slope[0]) > 1e-6:
        return Finding(1, UNKNOWN, f"{reason}; {words}, but its own query moves an output: a residual, or no softmax")
    words += f", and each key moves an output by its share: they sum to {shares.sum():.6g}"
    return Finding(1, HOLDS, words, figure, limit)


def _late_mask(probe: Probe) -> Finding | None:
    """Return a failure where a blocked key has weight in the softmax that does not reach the output."""
    plain = probe.graph
    if plain.axes.late is not None:
        return None  # the division by the sum comes after the mask
    passes = [(plain, KEY, QUERY)]
    for trial in (probe.mask, probe.padding):
        if trial is not None and trial.form is not None and trial.fault in ("", "leaks"):
            target = replace(plain.target, mask=trial.form)
            passes.append((replace(plain, target=target, allow=block(probe.x, trial.form)), QUERY, KEY))
    for graph, i, j in passes:
        weight = float(graph.weights.detach()[TEXT, :, i, j].max())
        if weight > 1e-6 and not bool(graph.effect(i)[TEXT, :, i, j].any()):
            words = f"key {j} is blocked for query {i}, has weight {weight:.2g} in the softmax and none afterwards"
            line = next(o.line for o in graph.mask_steps if o.index > graph.softmaxes[-1].index)
            return Finding(1, FAILS, words, weight, 0.0, "mask after the softmax", f"query {i}, key {j}", line)
    return None


def heads(probe: Probe) -> Finding:
    """6: a head reads channels of its own of one token, for queries, keys and values, and is joined likewise."""
    if not probe.attends:
        return Finding(6, FAILS, "no token moves the output of another", cause="no attention between tokens")
    graph, n = probe.graph, probe.n
    i, j = probe.pairs[0]
    for head in range(graph.scores.shape[1]):
        number = graph.scores[TEXT, head, i, j]
        tokens = sorted({token for source in graph.sources for token in _tokens(graph.reads(number, source))})
        if foreign := {*tokens} - {i, j}:
            words = f"the score of query {i} and key {j} in head {head} reads tokens {_list(tokens)}"
            return Finding(6, FAILS, words, len(foreign), 0, "heads by view", words, _cut_line(graph))
    effect = graph.effect(n // 2)[TEXT]
    if effect.any(-1).any(0).nonzero().flatten().tolist() != [n // 2]:
        words = "the output of a token comes from the weights of several queries"
        return Finding(6, FAILS, words, cause="merge by view", example=words, line=_join(graph)[0])
    if idle := [head for head in range(len(effect)) if not bool(effect[head].any())]:
        words = f"the output does not depend on the weights of head {_list(idle)}"
        return Finding(6, FAILS, words, len(idle), 0, "head without effect", words)
    queries, _ = probe.head_channels
    if (failure := _values(probe)) is not None:
        return failure
    maps, width = graph.weights.detach()[TEXT], len(queries[0].channels)
    pairs = [(a, b) for b in range(len(queries)) for a in range(b)]
    shared = [len({*queries[a].channels} & {*queries[b].channels}) for a, b in pairs if queries[a][0] == queries[b][0]]
    if max(shared, default=0) and graph.sources[0].index >= 0:
        words = f"two heads share {max(shared)} of {width} channels of the queries"
        return Finding(6, FAILS, words, max(shared), 0, "heads share channels", line=_cut_line(graph))
    alike = [pair for pair in pairs if distance(maps[pair[0]], maps[pair[1]]) < probe.limit]
    if alike and float(maps.std(-1).max()) > TRUST and graph.sources[0].index >= 0:
        words = "heads {} and {} have the same map".format(*alike[0])
        return Finding(6, FAILS, words, len(alike), 0, "heads alike", words)
    return Finding(6, HOLDS, f"{len(queries)} heads, {width} channels each, of one token", 0, 0)


def _values(probe: Probe) -> Finding | None:
    """Return a failure where heads that look at one token pass on another, or give it to another."""
    graph, n = probe.graph, probe.n
    sent = torch.arange(n).roll(1)  # each token looks at the one before it
    weights = torch.zeros_like(graph.weights).detach()
    weights[:, :, torch.arange(n), sent] = 1
    variant = graph.with_weights(weights)
    token, goal = n // 2, int(sent[n // 2])
    for projection in variant.value_sources(graph):
        tokens = _tokens(variant.reads(variant.out_number(token), projection))
        if tokens == [goal]:
            return None
        if tokens in ([], [token]):  # a gate of its own
            continue
        words = f"every head looks at token {goal} alone, and output {token} reads tokens {_list(tokens)}"
        line, is_cut = _join(graph)
        cause = "heads by view" if is_cut else "merge by view"
        return Finding(6, FAILS, words, len(tokens), 1, cause, words, _cut_line(graph) if is_cut else line)
    return None


def _tokens(slope: Tensor | None) -> list[int]:
    return [] if slope is None else [int(token) for token in slope[TEXT].ne(0).any(-1).nonzero().flatten()]


def _list(tokens: list[int]) -> str:
    return f"{tokens[0]} to {tokens[-1]}" if len(tokens) > 2 else ", ".join(map(str, tokens))


def _cut_line(graph: PassGraph) -> Line | None:
    """Return the line before the scores at which an axis is split into heads."""
    cuts = [
        o for o in graph.recorder.operations[: graph.softmaxes[-1].index] if o.name in ("view", "reshape", "unflatten")
    ]
    splits = [o for o in cuts if o.result.dim() > o.inputs[0].dim()] or [o for o in cuts if o.result.dim() > 2]
    return splits[0].line if splits else None


def _join(graph: PassGraph) -> tuple[Line | None, bool]:
    """Return the line at which the heads are joined, and whether they are moved behind the tokens before."""
    names = []
    for operation in graph.recorder.operations[graph.softmaxes[-1].index :]:
        names.append(operation.name)
        if operation.name in ("view", "reshape", "flatten"):
            return operation.line, not {"transpose", "permute"}.isdisjoint(names)
    return None, False


def scale(probe: Probe) -> Finding:
    """7: the scores are products of queries and keys divided by √d_head.

    A score is linear in the query, with a gradient of factor × key, up to a rotation, which keeps lengths.
    """
    graph, factors = probe.graph, []
    for head, (query, key) in enumerate(zip(*probe.head_channels, strict=True)):
        for i, j in (probe.pairs[0], probe.pairs[-1]):
            number = graph.scores[TEXT, head, i, j]
            slope = graph.source(number, i)[1][TEXT, i, list(query.channels)]
            numbers = graph.as_tokens(graph.source(number, j)[0].result.detach())[TEXT, j, list(key.channels)]
            factors.append(float(slope.norm() / numbers.norm()))
    factor, d_head = sorted(factors)[len(factors) // 2], len(probe.head_channels[0][0].channels)
    expected = 1 / math.sqrt(d_head) if probe.scale is None else probe.scale
    if max(factors) - min(factors) > TRUST * factor:
        words = "the scores are no fixed multiple of q · k: they are normalised, or something is added"
        return Finding(7, UNKNOWN, words)
    if abs(factor / expected - 1) <= max(TRUST, probe.limit):
        source = "1 / √d_head" if probe.scale is None else "as given"
        return Finding(7, HOLDS, f"the product q · k is multiplied by {factor:.6g}, {source}", factor, expected)
    earlier = graph.recorder.operations[: graph.softmaxes[-1].index]
    steps, products = ([o for o in earlier if o.name in names] for names in (FACTORS, PRODUCTS - {"linear"}))
    changes = [(o, o.inputs[0].detach()) for o in steps if o.inputs[0].requires_grad]  # and not of a table of angles
    scaled = [o for o, x in changes if distance(x * (o.result.detach().norm() / x.norm()), o.result) < TRUST]
    divided = [o for o in steps if distance(o.inputs[0] * d_head**-0.5, o.result) < TRUST]
    causes = {
        "scale missing": 1.0, "scale of d_model": probe.target.d_model**-0.5, "scale of the length": probe.n**-0.5,
        "scale twice" if len(divided) > 1 else "scale without root": 1 / d_head, "scale inverted": math.sqrt(d_head),
    }  # fmt: skip
    cause = next((name for name, value in causes.items() if abs(factor / value - 1) < TRUST), "another factor")
    line = next((o.line for o in reversed(scaled or products)), None)  # where a factor is missing, the product
    words = f"the product q · k is multiplied by {factor:.6g}, where 1 / √d_head is {expected:.6g}"
    return Finding(7, FAILS, words, factor, expected, cause, line=line)


def positions(probe: Probe) -> Finding:
    """8: without positions the order of the tokens does not matter; rotations depend on i − j alone."""
    try:
        kind, fault, figure = position_kind(probe)
    except Unsupported as reason:
        if probe.is_ordered or probe.positions not in ("", "none"):
            raise
        return Finding(8, HOLDS, f"tokens in another order have the same outputs ({reason})")
    if fault:
        words = "the scores mix channels of query and key, but not by their distance alone"
        return Finding(8, FAILS, words, cause=fault)
    if kind == NOT_A_PRODUCT:
        return Finding(8, UNKNOWN, "the scores are not a product of query and key alone")
    expected = probe.positions
    if expected and expected != kind and not kind.startswith(f"{expected} "):
        other = "rotation pairs mixed" if "rotary" in kind else "rotation absolute"
        cause = "positions missing" if kind == "none" else other
        return Finding(8, FAILS, f"positions are {kind}, where {expected} was meant", figure, None, cause)
    if kind == "none" and not expected and any(o.name in ANGLES for o in probe.graph.recorder.operations):
        return Finding(8, UNKNOWN, "it computes angles, but no score depends on the position")
    if "rotary" in kind:
        even = probe.run(probe.x[:, :1].expand_as(probe.x))[TEXT]
        if (moved := distance(even, even[:1].expand_as(even))) > max(1e-6, probe.limit):
            words = "equal tokens have other outputs, though rotated scores leave equal values as they are"
            return Finding(8, FAILS, words, moved, probe.limit, "rotation of values")
    sentences = {
        "none": "no positions: tokens in another order have the same scores",
        "relative": "relative positions: equal tokens have scores of i − j alone",
        "absolute": "absolute positions: tokens in another order have other scores",
        "rotary pairs": "rotary positions of i − j alone, channels (c, c + 1) paired",
        "rotary halves": "rotary positions of i − j alone, channels (c, c + d/2) paired",
    }[kind]
    return Finding(8, HOLDS, sentences, figure, probe.limit if kind == "none" else None)


def groups(probe: Probe) -> Finding:
    """10: query heads that share keys stand next to each other."""
    _, keys = probe.head_channels
    kinds = list(dict.fromkeys(keys))
    number = [kinds.index(head) for head in keys]
    if len(kinds) == len(keys) or len(keys) == 1:
        return Finding(10, NOT_APPLICABLE, "every head has keys of its own")
    repeated = [head * len(kinds) // len(keys) for head in range(len(keys))]
    listed = " ".join(map(str, number))
    if number != repeated:
        words = f"the heads use the groups {listed}, not {' '.join(map(str, repeated))}"
        return Finding(10, FAILS, words, len(kinds), None, "grouped keys tiled", words, _copy_line(probe, True))
    sources = [probe.value_source(head)[1:] for head in range(len(keys))]
    value_kinds = list(dict.fromkeys(sources))
    if len(value_kinds) < len(keys) and [value_kinds.index(source) for source in sources] != repeated:
        words = f"keys are shared by neighbouring heads ({listed}), and values by others"
        line = _copy_line(probe, False)
        return Finding(10, FAILS, words, len(value_kinds), None, "grouped values tiled", words, line)
    return Finding(10, HOLDS, f"{len(kinds)} groups of keys for {len(keys)} heads: {listed}", len(kinds), len(kinds))


def _copy_line(probe: Probe, is_key: bool) -> Line | None:
    """Return the last line that copies what the scores depend on, or what they do not: keys, or values."""
    graph, scores = probe.graph, probe.graph.scores.nan_to_num().sum()
    for o in reversed([o for o in graph.recorder.operations if o.name in COPIES and o.result.requires_grad]):
        is_copied = len({id(x) for x in o.inputs}) == 1 and o.result.numel() > o.inputs[0].numel()
        if is_copied and (graph.gradient(scores, o.result) is not None) is is_key:
            return o.line
    return None
