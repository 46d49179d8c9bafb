"""Bounds on the rounding error of a layer's output and maps, from the lengths of its sums.

A sum of n products has n roundings, each a number of its own between −u and u of the partial sum that it meets. Their
signs are nearly independent, so they add up like a random walk, to λ √n u and not to n u (Higham and Mary 2019, "A New
Approach to Probabilistic Rounding Error Analysis", theorem 3.1). The mean square of an error is propagated here
through the products of the layer, so the bound belongs to an input, its weights and its mask, and to no machine:
kernels differ in the order of a sum and in what they fuse, which changes the roundings but not their distribution.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..attention import AttentionLayer, Weights, join_heads, split_heads
from ..trace import Trace

# an error is below λ standard deviations with probability 1 − 2 exp(−λ² / 2) if every rounding has its largest size
LAMBDA = 4.0
# mean square error of elementwise operations, in units of u²: scaling a score and adding its bias; exp and division
_SCORE_ROUNDINGS, _WEIGHT_ROUNDINGS = 2, 4


@dataclass(frozen=True)
class Spread:
    """Standard deviation of the rounding error of output and maps: ‖error‖ / ‖tensor‖ in units of u."""

    out: float
    maps: float


def bound(spread: float, *dtypes: torch.dtype) -> float:
    """Return the largest relative difference that rounding explains, λ √(Σ u²) · spread, for these formats."""
    return LAMBDA * math.hypot(*(torch.finfo(dtype).eps / 2 for dtype in dtypes)) * spread


def sum_bound(*lengths: int, dtype: torch.dtype = torch.float32) -> float:
    """Return the relative difference that rounding explains after consecutive sums of these lengths.

    It is relative to the sum of the absolute terms: where they cancel, `spread` is more exact.
    """
    return bound(sum(map(math.sqrt, lengths)), dtype)


def spread(
    layer: AttentionLayer,
    query: Tensor,
    key: Tensor | None = None,
    value: Tensor | None = None,
    *,
    allow: Tensor | None = None,
    heads: Tensor | None = None,
    temperature: float = 1.0,
) -> Spread:
    """Estimate the rounding error of one pass of a layer, in any implementation: all sum the same products.

    To first order: each error is propagated through the products behind it, independently of the others.

    Args:
        layer: "efficient" on the CPU, best in float64, without an encoding.
        query: as in `AttentionLayer.forward`, in the layer's format.
        key: as in `AttentionLayer.forward`.
        value: as in `AttentionLayer.forward`.
        allow: as in `AttentionLayer.forward`.
        heads: as in `AttentionLayer.forward`.
        temperature: as in `AttentionLayer.forward`.
    """
    key = query if key is None else key
    value = key if value is None else value
    trace, weights = Trace(), layer.save()
    with torch.no_grad():
        layer(query, key, value, allow=allow, heads=heads, temperature=temperature, trace=trace)
        q, k, v, scores, maps, joined, out = (
            trace[name].value for name in ("q", "k", "v", "scores", "weights", "joined", "out")
        )
        q_error, k_error, v_error = _projection_errors(weights, layer.n_heads, (query, key, value), (q, k, v))
        scale = q.shape[-1] * temperature**2
        scores_error = _product_error(q, k.mT, q_error, k_error.mT) / scale + _SCORE_ROUNDINGS * scores.square()
        maps_error = _softmax_error(scores, maps, scores_error)
        mixed_error = _product_error(maps, v, maps_error, v_error)
        if heads is not None:
            mixed_error = mixed_error * heads[..., None, None]
        joined_error = join_heads(mixed_error.transpose(1, 2))
        out_error = _product_error(joined, weights.o.T, joined_error) + out.square()
    return Spread(_relative_error(out_error, out), _relative_error(maps_error, maps))


def _product_error(a: Tensor, b: Tensor, a_error: Tensor | float = 0.0, b_error: Tensor | float = 0.0) -> Tensor:
    """Return the mean square error of a (…, i, n) times b (…, n, j), given those of a and b.

    A rounding meets a partial sum. In a random order, the square of a sum of m of n terms t is on average
    m (n − m) / n² Σ t² + m² / n² (Σ t)², which over all m comes to n (Σ t² / 6 + (Σ t)² / 3); n is one more for a bias.
    """
    roundings = a.shape[-1] + 1
    squared_a, squared_b = a.square(), b.square()
    error = roundings * ((squared_a @ squared_b) / 6 + (a @ b).square() / 3)
    if isinstance(a_error, Tensor):
        error = error + a_error @ squared_b
    return error + squared_a @ b_error if isinstance(b_error, Tensor) else error


def _projection_errors(
    weights: Weights, n_heads: int, inputs: tuple[Tensor, ...], heads: tuple[Tensor, ...]
) -> list[Tensor]:
    """Return the mean square errors of q, k and v (b, h, n, d), computed from inputs (b, n, c)."""
    matrices = (weights.q, weights.k, weights.v)
    return [
        split_heads(_product_error(x, matrix.T), n_heads).transpose(1, 2) + head.square()
        for x, matrix, head in zip(inputs, matrices, heads, strict=True)
    ]


def _softmax_error(scores: Tensor, maps: Tensor, scores_error: Tensor) -> Tensor:
    """Return the mean square error of the weights (b, h, i, j), given that of the scores.

    An error δ of the scores changes w by w (δ − Σ w δ). Subtracting the row's maximum rounds each difference; then come
    exp, the row's sum and the division by it.
    """
    maximum = scores.masked_fill(maps == 0, -math.inf).amax(dim=-1, keepdim=True)
    difference = torch.where(maps > 0, scores - maximum, 0.0)
    exp_error = torch.where(maps > 0, scores_error + difference.square() + _WEIGHT_ROUNDINGS, 0.0)
    squared = maps.square()
    sum_error = maps.shape[-1] * (squared.sum(dim=-1, keepdim=True) / 6 + 1 / 3)
    return squared * (exp_error + (squared * exp_error).sum(dim=-1, keepdim=True) + sum_error)


def _relative_error(error: Tensor, tensor: Tensor) -> float:
    length = float(torch.linalg.vector_norm(tensor))
    return float(error.sum().sqrt()) / length if length else 0.0
