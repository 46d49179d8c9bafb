"""The matrices of a layer, found from its Jacobians, in torch's own layer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..errors import Unsupported
from .anatomy import TEXT, Anatomy
from .positions import NOT_A_PRODUCT, position_kind
from .study import Study
from .target import distance

BLOCKED = 1e8  # a score below −BLOCKED is that of a blocked key


@dataclass(frozen=True)
class Rebuilt:
    """Outputs of a layer and of torch's with the same matrices (n, c), or why there is none."""

    layer_out: Tensor
    out: Tensor | None = None
    why_not: str = ""
    parts_at: str = ""
    example: str = ""
    weights: tuple[Tensor, Tensor] | None = None  # its maps and torch's (h, i, j)


def rebuild(study: Study) -> Rebuilt:
    """Return the layer beside nn.MultiheadAttention.

    Raises:
        Unsupported: a matrix cannot be found, or the output is no linear function of the mixed values.
    """
    layer_out = study.out[TEXT]
    queries, keys = study.head_channels
    anatomy = study.anatomy
    if not anatomy.projections or anatomy.projections[0].index < 0:
        return Rebuilt(layer_out, why_not="it has no matrices of its own")
    n_heads, d_head = len(queries), len(queries[0].channels)
    if n_heads * d_head != study.target.d_model:
        return Rebuilt(
            layer_out, why_not=f"its heads have {n_heads} × {d_head} channels, torch's {study.target.d_model} in all"
        )
    i, j = study.pair
    rows: dict[str, list[Tensor]] = {name: [] for name in ("q", "k", "v", "q bias", "k bias", "v bias", "out")}
    for head in range(n_heads):
        number = anatomy.scores[TEXT, head, i, j]
        for name, token, channels in (("q", i, queries[head].all), ("k", j, keys[head].all)):
            source = anatomy.source(number, token)
            if source is None:
                raise Unsupported("its scores come from no projection of the inputs")
            inputs = anatomy.x if name == "q" or anatomy.key is None else anatomy.key
            matrix, bias = _matrix(anatomy, source[0].tensor, token, channels, inputs)
            factor = 1.0 if name == "k" or study.scale is None else study.scale * d_head**0.5
            rows[name].append(factor * matrix)
            rows[f"{name} bias"].append(factor * bias)
    kind, fault, _ = position_kind(study)
    if kind == NOT_A_PRODUCT:
        return Rebuilt(layer_out, why_not="its scores are not a product of query and key alone, torch's are")
    if fault or kind != "none":
        return Rebuilt(layer_out, why_not="its scores have positions, torch's layer has none")
    token = study.n // 2
    probe_all = Anatomy(study.target, study.n, study.batch, weights_used=_weights(study, None))
    rest = probe_all.out.detach()[TEXT]  # every head looks at token 0
    if float((rest - rest[:1]).abs().max()) > study.limit * float(layer_out.abs().max()):
        return Rebuilt(layer_out, why_not="its output has more than attention in it, such as a residual or a norm")
    bias = rest[0].clone()
    for head in range(n_heads):
        probe, index, passed = value_source(study, head)
        value_channels = list(passed)
        projection = next(source for source in probe.projections if source.index == index)
        inputs = probe.x if probe.value is None else probe.value
        output = probe.jacobian(probe.out[TEXT, token], projection.tensor)[
            :, TEXT, token
        ]  # (c, channels of the values)
        if len(value_channels) != d_head:
            raise Unsupported(f"head {head} passes {len(value_channels)} channels on, not {d_head}")
        rows["out"].append(output[:, value_channels])
        bias -= output[:, value_channels] @ probe.as_tokens(projection.tensor.detach())[TEXT, 0, value_channels]
        matrix, shift = _matrix(probe, projection.tensor, token, value_channels, inputs)
        rows["v"].append(matrix)
        rows["v bias"].append(shift)
    return _compare(study, rows, bias)


def value_source(study: Study, head: int) -> tuple[Anatomy, int, tuple[int, ...]]:
    """Return a pass in which one head attends to the token itself, and the projection and channels it passes on.

    Raises:
        Unsupported: it passes no projection on.
    """
    probe = Anatomy(study.target, study.n, study.batch, weights_used=_weights(study, head))
    token = study.n // 2
    for projection in probe.value_sources(study.anatomy):
        slopes = probe.reads(probe.out_number(token), projection)
        if slopes is not None and bool(slopes[TEXT, token].any()):
            return probe, projection.index, tuple(int(channel) for channel in slopes[TEXT, token].nonzero().flatten())
    raise Unsupported("its output reads no projection of the values")


def _weights(study: Study, head: int | None) -> Tensor:
    """Return maps in which one head looks at the token itself and all others at token 0."""
    weights = torch.zeros_like(study.anatomy.weights).detach()
    weights[..., 0] = 1
    if head is not None:
        weights[:, head] = torch.eye(study.n, dtype=weights.dtype, device=weights.device)
    return weights


def _matrix(anatomy: Anatomy, tensor: Tensor, token: int, channels: list[int], inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rows (d, c) and the bias (d) with which channels of a projection are made from a token."""
    numbers = anatomy.as_tokens(tensor)[TEXT, token, channels]
    matrix = anatomy.jacobian(numbers, inputs)[:, TEXT, token]
    return matrix, numbers.detach() - matrix @ inputs.detach()[TEXT, token]


def _compare(study: Study, rows: dict[str, list[Tensor]], bias: Tensor) -> Rebuilt:
    """Run torch's layer with the matrices, and find the first step that differs."""
    target, layer_out = study.target, study.out[TEXT]
    layer = nn.MultiheadAttention(target.d_model, target.n_heads, batch_first=True, dtype=study.x.dtype).to(
        study.x.device
    )
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([torch.cat(rows[name]) for name in ("q", "k", "v")]))
        layer.in_proj_bias.copy_(torch.cat([torch.cat(rows[f"{name} bias"]) for name in ("q", "k", "v")]))
        layer.out_proj.weight.copy_(torch.cat(rows["out"], 1))
        layer.out_proj.bias.copy_(bias)
        hidden = study.anatomy.scores.detach()[TEXT, 0] < -BLOCKED  # by a causal mask or a window
        blocked = hidden if bool(hidden.any()) else None
        x = study.x[:1]
        out, maps = layer.eval()(x, x, x, attn_mask=blocked, average_attn_weights=False)
        mine = study.anatomy.weights.detach()[TEXT] if not target.takes_qkv else maps[0]
        q, k = (
            torch.stack([x[0] @ m.T + b for m, b in zip(rows[n], rows[f"{n} bias"], strict=True)]) for n in ("q", "k")
        )
        theirs = q @ k.mT / q.shape[-1] ** 0.5
        scores = study.anatomy.scores.detach()[TEXT] if not target.takes_qkv else theirs
    limit = max(study.limit, 1e-9)
    step = (
        "scores"
        if _differ(scores, theirs, blocked) > limit
        else "weights"
        if distance(mine, maps[0]) > limit
        else "output"
    )
    place = divmod(int((mine - maps[0]).abs().amax(0).argmax()), study.n) if step != "output" else (0, 0)
    example = (
        f"query {place[0]}, key {place[1]}: weight {mine[0][place]:.4g} in head 0, torch's {maps[0][0][place]:.4g}"
    )
    return Rebuilt(layer_out, out[0], parts_at=step, example=example, weights=(mine, maps[0]))


def _differ(a: Tensor, b: Tensor, blocked: Tensor | None) -> float:
    if blocked is None:
        return distance(a, b)
    return distance(a.masked_fill(blocked, 0), b.masked_fill(blocked, 0))
