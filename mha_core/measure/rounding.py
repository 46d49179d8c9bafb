"""How far rounding alone can take a layer's output and maps: a bound that follows from the lengths of its sums.

A sum of n products has n roundings, each a number of its own between −u and u of the partial sum that it meets. Their
signs are as good as independent, so that they add up like a random walk, to λ √n u and not to n u (Higham and Mary
2019, "A New Approach to Probabilistic Rounding Error Analysis", theorem 3.1). The mean square of an error is followed
here through the products of the layer, and so the bound belongs to an input, its weights and its mask, to no machine:
kernels differ in the order of a sum and in what they fuse, which changes the roundings and not their law.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..attention import AttentionLayer, Weights, join_heads, split_heads
from ..trace import Trace

# an error is below λ standard deviations with probability 1 − 2 exp(−λ² / 2), were every rounding as large as it can be
LAMBDA = 4.0
# products and sums of one number each, in units of u²: the scaling of a score and its bias; exp, and the division
_OF_SCORE, _OF_WEIGHT = 2, 4


@dataclass(frozen=True)
class Spread:
    """The standard deviation of what rounding does to output and maps: ‖error‖ / ‖tensor‖ in units of u."""

    out: float
    maps: float


def bound(spread: float, *dtypes: torch.dtype) -> float:
    """The largest relative difference that is rounding, λ √(Σ u²) · spread, of tensors computed in these formats."""
    return LAMBDA * math.hypot(*(torch.finfo(dtype).eps / 2 for dtype in dtypes)) * spread


def of_sums(*lengths: int, dtype: torch.dtype = torch.float32) -> float:
    """The relative difference that is rounding after sums of so many terms, one behind the other, whatever they are.

    Relative to the sum of the terms' sizes: where they cancel, `spread` knows more.
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
    """What rounding does to one pass of a layer, whichever way it is written: all of them sum the same products.

    Args:
        layer: "efficient" on the CPU, best in float64, without an encoding.
        query, key, value, allow, heads, temperature: as in `AttentionLayer.forward`, in the layer's format.

    To first order: each error is taken on through the products behind it, as one of many that are independent.
    """
    key = query if key is None else key
    value = key if value is None else value
    trace, weights = Trace(), layer.save()
    with torch.no_grad():
        layer(query, key, value, allow=allow, heads=heads, temperature=temperature, trace=trace)
        q, k, v, scores, maps, joined, out = (
            trace[name].value for name in ("q", "k", "v", "scores", "weights", "joined", "out")
        )
        of_q, of_k, of_v = _of_projections(weights, layer.n_heads, (query, key, value), (q, k, v))
        of_scores = _product(q, k.mT, of_q, of_k.mT) / (q.shape[-1] * temperature**2) + _OF_SCORE * scores.square()
        of_maps = _of_softmax(scores, maps, of_scores)
        of_mixed = _product(maps, v, of_maps, of_v)
        if heads is not None:
            of_mixed = of_mixed * heads[..., None, None]
        of_joined = join_heads(of_mixed.transpose(1, 2))
        of_out = _product(joined, weights.o.T, of_joined) + out.square()
    return Spread(_relative(of_out, out), _relative(of_maps, maps))


def _product(a: Tensor, b: Tensor, of_a: Tensor | float = 0.0, of_b: Tensor | float = 0.0) -> Tensor:
    """The mean square of the error of a (…, i, n) times b (…, n, j), whose own numbers have errors of `of_a`, `of_b`.

    A rounding meets a partial sum. In an order that nobody chose, the square of a sum of m of n terms t is on average
    m (n − m) / n² Σ t² + m² / n² (Σ t)², which over all m comes to n (Σ t² / 6 + (Σ t)² / 3); n is one more for a bias.
    """
    roundings = a.shape[-1] + 1
    squared_a, squared_b = a.square(), b.square()
    own = roundings * ((squared_a @ squared_b) / 6 + (a @ b).square() / 3)
    if isinstance(of_a, Tensor):
        own = own + of_a @ squared_b
    return own + squared_a @ of_b if isinstance(of_b, Tensor) else own


def _of_projections(
    weights: Weights, n_heads: int, inputs: tuple[Tensor, ...], heads: tuple[Tensor, ...]
) -> list[Tensor]:
    """The same of q, k and v (b, h, n, d): inputs (b, n, c) times their matrices, and a bias added."""
    matrices = (weights.q, weights.k, weights.v)
    return [
        split_heads(_product(x, matrix.T), n_heads).transpose(1, 2) + head.square()
        for x, matrix, head in zip(inputs, matrices, heads, strict=True)
    ]


def _of_softmax(scores: Tensor, maps: Tensor, of_scores: Tensor) -> Tensor:
    """The same of the weights (b, h, i, j): w changes by w (δ − Σ w δ), δ being the errors of the scores of its row.

    The row's largest score is taken off first, which rounds each difference; then come exp, the row's sum and the
    division by it.
    """
    largest = scores.masked_fill(maps == 0, -math.inf).amax(dim=-1, keepdim=True)
    taken_off = torch.where(maps > 0, scores - largest, 0.0)
    each = torch.where(maps > 0, of_scores + taken_off.square() + _OF_WEIGHT, 0.0)
    squared = maps.square()
    of_sum = maps.shape[-1] * (squared.sum(dim=-1, keepdim=True) / 6 + 1 / 3)
    return squared * (each + (squared * each).sum(dim=-1, keepdim=True) + of_sum)


def _relative(of_tensor: Tensor, tensor: Tensor) -> float:
    length = float(torch.linalg.vector_norm(tensor))
    return float(of_tensor.sum().sqrt()) / length if length else 0.0
