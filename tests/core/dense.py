"""Multi-head attention once more, slowly: one head, one row at a time, on the canonical weights."""

import copy
import math

import torch
from torch import Tensor, nn

from mha_core import Weights
from mha_core.attention import AttentionLayer
from mha_core.attention.switches import Ablation
from mha_core.positions import Position

NOTHING_OFF = Ablation()


def dense_attention(
    weights: Weights,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    n_heads: int,
    *,
    allow: Tensor | None = None,
    position: Position | None = None,
    heads: Tensor | None = None,
    temperature: float = 1.0,
    ablate: Ablation = NOTHING_OFF,
) -> tuple[Tensor, Tensor]:
    """(b, i, c), (b, j, c), (b, j, c) -> out (b, i, c), weights (b, h, i, j).

    `allow` and the values of `ablate` have four axes or are None; of heads, `heads` counts.
    """
    position = position or Position()
    b, i, c = query.shape
    j, d = key.shape[1], c // n_heads

    def project(x: Tensor, matrix: Tensor, bias: Tensor | None) -> Tensor:
        projected = position.add(x) @ matrix.T
        projected = projected if bias is None else projected + bias
        return torch.stack([projected[..., head * d : (head + 1) * d] for head in range(n_heads)], dim=1)

    q, k = position.rotate(project(query, weights.q, weights.q_bias), project(key, weights.k, weights.k_bias))
    v = project(value, weights.v, weights.v_bias)
    bias = position.bias(q, j)
    allowed = torch.ones(1, 1, 1, 1, dtype=torch.bool) if allow is None else allow
    allowed = allowed.expand(b, n_heads, i, j)
    values = torch.ones(b, n_heads, i, j, dtype=torch.bool)
    values = values if ablate.values is None else ablate.values.expand(b, n_heads, i, j)
    out, maps = [], []
    for sample in range(b):
        joined = []
        for head in range(n_heads):
            rows = []
            for row in range(i):
                scores = (k[sample, head] * q[sample, head, row]).sum(dim=-1) / math.sqrt(d)
                if bias is not None:
                    scores = scores + bias.expand(b, n_heads, i, j)[sample, head, row]
                seen = allowed[sample, head, row]
                powers = torch.where(seen, (scores / temperature).exp(), torch.zeros(()).to(scores))
                rows.append(powers / powers.sum() if seen.any() else 0 * powers)
            maps.append(torch.stack(rows))
            switched_on = heads is None or bool(heads[head])
            mixed = torch.where(values[sample, head], maps[-1], torch.zeros(()).to(v)) @ v[sample, head]
            joined.append(mixed * switched_on)
        out.append(torch.cat(joined, dim=-1) @ weights.o.T)
    stacked = torch.stack(out)
    stacked = stacked if weights.o_bias is None else stacked + weights.o_bias
    return stacked, torch.stack(maps).view(b, n_heads, i, j)


def random_weights(d_model: int, bias: bool, out_bias: bool, dtype: torch.dtype) -> Weights:
    """Weights of the size that training gives, biases not 0."""
    matrices = [torch.randn(d_model, d_model, dtype=dtype) / math.sqrt(d_model) for _ in range(4)]
    q_bias, k_bias, v_bias = (torch.randn(d_model, dtype=dtype) if bias else None for _ in range(3))
    q, k, v, o = matrices
    return Weights(q, k, v, o, q_bias, k_bias, v_bias, torch.randn(d_model, dtype=dtype) if out_bias else None)


def flat(weights: Weights) -> Tensor:
    """All numbers of the weights in one row."""
    return torch.cat([tensor.flatten() for _, tensor in weights.items() if tensor is not None])


def gradient_of(layer: AttentionLayer) -> Weights:
    """The gradients of a layer's parameters in canonical form, whatever parameters it has."""
    twin = copy.deepcopy(layer)
    for own, real in zip(twin.parameters(), layer.parameters(), strict=True):
        own.data = torch.zeros_like(real) if real.grad is None else real.grad.clone()
    return twin.save()


def torch_twin(weights: Weights, n_heads: int) -> nn.MultiheadAttention:
    """nn.MultiheadAttention with the same weights; it has all biases or none."""
    d_model = weights.q.shape[0]
    twin = nn.MultiheadAttention(
        d_model, n_heads, bias=weights.o_bias is not None, batch_first=True, dtype=weights.q.dtype
    )
    with torch.no_grad():
        twin.in_proj_weight.copy_(torch.cat((weights.q, weights.k, weights.v)))
        twin.out_proj.weight.copy_(weights.o)
        if weights.q_bias is not None and weights.k_bias is not None and weights.v_bias is not None:
            twin.in_proj_bias.copy_(torch.cat((weights.q_bias, weights.k_bias, weights.v_bias)))
        if weights.o_bias is not None:
            twin.out_proj.bias.copy_(weights.o_bias)
    return twin.eval()
