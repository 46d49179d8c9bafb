"""The matrices of a layer, found from its Jacobians, in torch's own layer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..errors import Unsupported
from .anatomy import TEXT
from .finding import FAILS, HOLDS, DoesNotApply, Finding
from .positions import NOT_A_PRODUCT, position_kind
from .study import BLOCKED, Study
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


def reference(study: Study) -> Finding:
    """15: with its matrices found by trying, nn.MultiheadAttention gives the same output."""
    anatomy = study.anatomy
    score = anatomy.scores[TEXT, 0, *study.pairs[0]]
    if [anatomy.gradient(score, x) is not None for x in (anatomy.key, anatomy.value)] == [False, True]:
        words = "the scores depend on the values that are given, and not on the keys"
        return Finding(15, FAILS, words, cause="keys and values swapped")
    rebuilt = rebuild(study)
    figure, limit = distance(rebuilt.layer_out, rebuilt.out), max(study.limit, 1e-9)
    if figure > limit:
        words = f"with its own matrices nn.MultiheadAttention parts at the {rebuilt.parts_at}"
        maps = rebuilt.layer_maps, rebuilt.maps
        place = divmod(int((maps[0] - maps[1]).abs().amax(0).argmax()), study.n)
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


def rebuild(study: Study) -> Rebuilt:
    """Return the layer beside nn.MultiheadAttention.

    Raises:
        DoesNotApply: it is no such layer.
        Unsupported: a matrix cannot be found, or the output is no linear function of the mixed values.
    """
    anatomy, (queries, keys), layer_out = study.anatomy, study.head_channels, study.out[TEXT]
    n_heads, d_head, token = len(queries), len(queries[0].channels), study.n // 2
    if anatomy.sources[0].index < 0:
        raise DoesNotApply("it has no matrices of its own")
    if n_heads * d_head != study.target.d_model:
        raise DoesNotApply(f"its heads have {n_heads} × {d_head} channels, torch's {study.target.d_model} in all")
    kind, fault, _ = position_kind(study)
    if kind == NOT_A_PRODUCT:
        raise DoesNotApply("its scores are not a product of query and key alone, torch's are")
    if fault or kind != "none":
        raise DoesNotApply("its scores have positions, torch's layer has none")
    first = torch.zeros_like(anatomy.weights).detach()
    first[..., 0] = 1  # every head looks at token 0
    rest = anatomy.with_weights(first).out.detach()[TEXT]
    if distance(rest, rest[:1].expand_as(rest)) > study.limit:
        other = rest - anatomy.x.detach()[TEXT]
        is_residual = distance(other, other[:1].expand_as(other)) < study.limit
        words = "the input itself (a residual)" if is_residual else "more than attention, such as a residual or a norm"
        raise DoesNotApply(f"its output has {words} in it")
    rows: dict[str, list[Tensor]] = {name: [] for name in ("q", "k", "v", "q bias", "k bias", "v bias", "out")}
    bias, is_chained, (i, j) = rest[0].clone(), False, study.pairs[0]
    for head in range(n_heads):
        query, key = (anatomy.source(anatomy.scores[TEXT, head, i, j], place)[0].result for place in (i, j))
        probe, index, channels = study.value_source(head)
        if len(channels) != d_head:
            raise Unsupported(f"head {head} passes {len(channels)} channels on, not {d_head}")
        value = probe.tap.operations[index].result
        for name, owner, tensor, place, indices, inputs in (
            ("q", anatomy, query, i, queries[head].channels, anatomy.x),
            ("k", anatomy, key, j, keys[head].channels, anatomy.key),
            ("v", probe, value, token, channels, probe.value),
        ):
            numbers = owner.as_tokens(tensor)[TEXT, place, list(indices)]
            matrix = owner.jacobian(numbers, inputs)[:, TEXT, place]
            factor = study.scale * d_head**0.5 if name == "q" and study.scale is not None else 1.0
            rows[name].append(factor * matrix)
            rows[f"{name} bias"].append(factor * (numbers.detach() - matrix @ inputs.detach()[TEXT, place]))
        output = probe.jacobian(probe.out[TEXT, token], value)[:, TEXT, token][:, list(channels)]
        rows["out"].append(output)
        bias -= output @ probe.as_tokens(value.detach())[TEXT, 0, list(channels)]
        earlier = [source for source in probe.projections if source.index < index]
        is_chained |= any(probe.gradient(value.sum(), source.result) is not None for source in earlier)

    layer, x = nn.MultiheadAttention(study.target.d_model, n_heads, batch_first=True).to(study.x), study.x[:1]
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([torch.cat(rows[name]) for name in ("q", "k", "v")]))
        layer.in_proj_bias.copy_(torch.cat([torch.cat(rows[f"{name} bias"]) for name in ("q", "k", "v")]))
        layer.out_proj.weight.copy_(torch.cat(rows["out"], 1))
        layer.out_proj.bias.copy_(bias)
        blocked = anatomy.scores.detach()[TEXT, 0] < -BLOCKED  # by a causal mask or a window
        out, maps = layer.eval()(x, x, x, attn_mask=blocked, average_attn_weights=False)
        q, k = (
            torch.stack([x[0] @ m.T + b for m, b in zip(rows[n], rows[f"{n} bias"], strict=True)]) for n in ("q", "k")
        )
        theirs = (q @ k.mT / d_head**0.5).masked_fill(blocked, 0)
    pairs = {"scores": (anatomy.scores.detach()[TEXT].masked_fill(blocked, 0), theirs)}
    pairs["weights"] = (anatomy.weights.detach()[TEXT], maps[0])
    if study.target.takes_qkv:  # whose maps are those of three other inputs
        pairs = {}
    steps = [step for step, pair in pairs.items() if distance(*pair) > max(study.limit, 1e-9)]
    layer_maps = pairs["weights"][0] if pairs else maps[0]
    return Rebuilt(layer_out, out[0], layer_maps, maps[0], [*steps, "output"][0], rows["out"], is_chained)
