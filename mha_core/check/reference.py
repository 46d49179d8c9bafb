"""The matrices of a layer, found from its Jacobians, in torch's own layer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..errors import Unsupported
from .finding import FAILS, HOLDS, DoesNotApply, Finding
from .graph import TEXT
from .positions import NOT_A_PRODUCT, position_kind
from .probe import BLOCKED, Probe
from .target import distance


@dataclass(frozen=True)
class Rebuilt:
    """Torch's layer with the matrices of another: both outputs (n, c) and maps (h, i, j), and where they part."""

    layer_out: Tensor
    out: Tensor
    layer_maps: Tensor
    maps: Tensor
    parts_at: str
    matrix: list[Tensor]  # columns of the output matrix that each head writes with (c, d)
    chained: bool  # the values pass through two matrices


def reference(probe: Probe) -> Finding:
    """15: with its matrices found by trying, nn.MultiheadAttention gives the same output."""
    graph = probe.graph
    score = graph.scores[TEXT, 0, *probe.pairs[0]]
    if [graph.gradient(score, x) is not None for x in (graph.key, graph.value)] == [False, True]:
        words = "the scores depend on the values that are given, and not on the keys"
        return Finding(15, FAILS, words, cause="keys and values swapped")
    rebuilt = rebuild(probe)
    figure, limit = distance(rebuilt.layer_out, rebuilt.out), max(probe.limit, 1e-9)
    if figure > limit:
        words = f"with its own matrices nn.MultiheadAttention parts at the {rebuilt.parts_at}"
        maps = rebuilt.layer_maps, rebuilt.maps
        place = divmod(int((maps[0] - maps[1]).abs().amax(0).argmax()), probe.n)
        mine, theirs = (float(weights[0][place]) for weights in maps)
        example = f"query {place[0]}, key {place[1]}: weight {mine:.4g} in head 0, torch's {theirs:.4g}"
        return Finding(15, FAILS, words, figure, limit, "matrices", example)
    cause, remark = _output_matrix(rebuilt)
    if cause:
        return Finding(15, FAILS, remark, cause=cause)
    return Finding(15, HOLDS, f"its matrices in nn.MultiheadAttention give the same output{remark}", figure, limit)


def _output_matrix(rebuilt: Rebuilt) -> tuple[str, str]:
    """Return what is wrong with the output matrix, and words."""
    parts, matrix = rebuilt.matrix, torch.cat(rebuilt.matrix, 1)
    if len(parts) == 1:
        return "", ""
    if distance(matrix, torch.eye(len(matrix)).to(matrix)) < 1e-6:
        words = "the values pass through two matrices, and the joined heads through none"
        return ("output before the merge", words) if rebuilt.chained else ("", "; it has no output matrix")
    blocks = matrix.reshape(len(parts), -1, len(parts), parts[0].shape[1]).abs().amax((1, 3))
    if not bool(blocks.fill_diagonal_(0).any()):
        return "output before the merge", "each head has an output matrix of its own, and none joins them"
    if distance(parts[0], parts[1]) < 1e-6:
        return "heads added", "all heads have the same output matrix, so that they are added up"
    return "", ""


def rebuild(probe: Probe) -> Rebuilt:
    """Return the layer beside nn.MultiheadAttention.

    Raises:
        DoesNotApply: it is no such layer.
        Unsupported: a matrix cannot be found, or the output is no linear function of the mixed values.
    """
    graph, (queries, keys), layer_out = probe.graph, probe.head_channels, probe.out[TEXT]
    n_heads, d_head, token = len(queries), len(queries[0].channels), probe.n // 2
    if graph.sources[0].index < 0:
        raise DoesNotApply("it has no matrices of its own")
    if n_heads * d_head != probe.target.d_model:
        raise DoesNotApply(f"its heads have {n_heads} × {d_head} channels, torch's {probe.target.d_model} in all")
    kind, fault, _ = position_kind(probe)
    if kind == NOT_A_PRODUCT:
        raise DoesNotApply("its scores are not a product of query and key alone, torch's are")
    if fault or kind != "none":
        raise DoesNotApply("its scores have positions, torch's layer has none")
    first = torch.zeros_like(graph.weights).detach()
    first[..., 0] = 1  # every head looks at token 0
    rest = graph.with_weights(first).out.detach()[TEXT]
    if distance(rest, rest[:1].expand_as(rest)) > probe.limit:
        other = rest - graph.x.detach()[TEXT]
        is_residual = distance(other, other[:1].expand_as(other)) < probe.limit
        words = "the input itself (a residual)" if is_residual else "more than attention, such as a residual or a norm"
        raise DoesNotApply(f"its output has {words} in it")
    rows: dict[str, list[Tensor]] = {name: [] for name in ("q", "k", "v", "q bias", "k bias", "v bias", "out")}
    bias, is_chained, (i, j) = rest[0].clone(), False, probe.pairs[0]
    for head in range(n_heads):
        query, key = (graph.source(graph.scores[TEXT, head, i, j], place)[0].result for place in (i, j))
        variant, index, channels = probe.value_source(head)
        if len(channels) != d_head:
            raise Unsupported(f"head {head} passes {len(channels)} channels on, not {d_head}")
        value = variant.recorder.operations[index].result
        for name, owner, tensor, place, indices, inputs in (
            ("q", graph, query, i, queries[head].channels, graph.x),
            ("k", graph, key, j, keys[head].channels, graph.key),
            ("v", variant, value, token, channels, variant.value),
        ):
            numbers = owner.as_tokens(tensor)[TEXT, place, list(indices)]
            matrix = owner.jacobian(numbers, inputs)[:, TEXT, place]
            factor = probe.scale * d_head**0.5 if name == "q" and probe.scale is not None else 1.0
            rows[name].append(factor * matrix)
            rows[f"{name} bias"].append(factor * (numbers.detach() - matrix @ inputs.detach()[TEXT, place]))
        output = variant.jacobian(variant.out[TEXT, token], value)[:, TEXT, token][:, list(channels)]
        rows["out"].append(output)
        bias -= output @ variant.as_tokens(value.detach())[TEXT, 0, list(channels)]
        earlier = [source for source in variant.projections if source.index < index]
        is_chained |= any(variant.gradient(value.sum(), source.result) is not None for source in earlier)

    layer, x = nn.MultiheadAttention(probe.target.d_model, n_heads, batch_first=True).to(probe.x), probe.x[:1]
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([torch.cat(rows[name]) for name in ("q", "k", "v")]))
        layer.in_proj_bias.copy_(torch.cat([torch.cat(rows[f"{name} bias"]) for name in ("q", "k", "v")]))
        layer.out_proj.weight.copy_(torch.cat(rows["out"], 1))
        layer.out_proj.bias.copy_(bias)
        blocked = graph.scores.detach()[TEXT, 0] < -BLOCKED  # by a causal mask or a window
        out, maps = layer.eval()(x, x, x, attn_mask=blocked, average_attn_weights=False)
        q, k = (
            torch.stack([x[0] @ m.T + b for m, b in zip(rows[n], rows[f"{n} bias"], strict=True)]) for n in ("q", "k")
        )
        theirs = (q @ k.mT / d_head**0.5).masked_fill(blocked, 0)
    pairs = {"scores": (graph.scores.detach()[TEXT].masked_fill(blocked, 0), theirs)}
    pairs["weights"] = (graph.weights.detach()[TEXT], maps[0])
    if probe.target.takes_qkv:  # whose maps are those of three other inputs
        pairs = {}
    steps = [step for step, pair in pairs.items() if distance(*pair) > max(probe.limit, 1e-9)]
    layer_maps = pairs["weights"][0] if pairs else maps[0]
    return Rebuilt(layer_out, out[0], layer_maps, maps[0], [*steps, "output"][0], rows["out"], is_chained)
