"""Comparison of the implementations with the same weights on the same input."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..attention import IMPLEMENTATIONS, AttentionLayer, Weights, implementation
from . import rounding
from .measures import relative_difference

# name -> the projections with a bias; "value and output" as in code whose switch only reaches query and key,
# "output alone" as in code without biases on query, key and value
BIASES = {"all": "qkvo", "none": "", "value and output": "vo", "output alone": "o"}


@dataclass(frozen=True)
class Difference:
    """Relative difference of two tensors, ‖a − b‖ / ‖b‖, with the bound that rounding explains."""

    relative: float
    bound: float

    @classmethod
    def compare(cls, a: Tensor, b: Tensor, bound: float) -> Difference:
        """Measure the difference of two tensors of one shape."""
        return cls(relative_difference(a, b), bound)

    @property
    def share(self) -> float:
        """Relative difference divided by its bound: up to 1 it is rounding."""
        return self.relative / self.bound if self.relative else 0.0


@dataclass(frozen=True)
class Agreement:
    """Differences of an implementation's output and maps from exact ones and from nn.MultiheadAttention's."""

    out: Difference
    maps: Difference
    torch_out: Difference
    torch_maps: Difference

    @property
    def differences(self) -> tuple[Difference, ...]:
        """All four differences."""
        return self.out, self.maps, self.torch_out, self.torch_maps

    @property
    def worst(self) -> float:
        """Largest relative difference."""
        return max(difference.relative for difference in self.differences)

    @property
    def share(self) -> float:
        """Largest ratio of a difference to its bound."""
        return max(difference.share for difference in self.differences)


def agreements(
    weights: Weights, n_heads: int, x: Tensor, *, allow: Tensor | None = None, dtype: torch.dtype = torch.float32
) -> dict[str, Agreement]:
    """Compare every implementation with an exact result and with nn.MultiheadAttention.

    The exact result is that of "efficient" in float64 on the CPU. The bounds follow from the sums of this layer on this
    input, see `rounding`: against the exact result from float64 and `dtype`, against torch from `dtype` twice.

    Args:
        weights: with all biases or with none, any dtype and device.
        n_heads: number of heads.
        x: (b, i, d_model); computed on its device in `dtype`.
        allow: mask, as in `AttentionLayer.forward`.
        dtype: in which the implementations compute.

    Raises:
        SizeError, MaskError: weights, heads, input and mask do not fit together.
    """
    exact = load_layer("efficient", weights, n_heads, torch.float64, torch.device("cpu"))
    true_x, true_allow = x.cpu().double(), None if allow is None else allow.cpu()
    results = {}
    with torch.no_grad():
        truth = exact(true_x, allow=true_allow)
        for name in IMPLEMENTATIONS:
            out, maps = load_layer(name, weights, n_heads, dtype, x.device)(x.to(dtype), allow=allow)
            results[name] = out.cpu().double(), maps.cpu().double()
    theirs = results["torch"]
    spread = rounding.spread(exact, true_x, allow=true_allow)
    bounds = [rounding.bound(s, dtype, other) for other in (torch.float64, dtype) for s in (spread.out, spread.maps)]
    return {
        name: Agreement(*map(Difference.compare, (*ours, *ours), (*truth, *theirs), bounds))
        for name, ours in results.items()
    }


def random_weights(d_model: int, *, seed: int = 0, dtype: torch.dtype = torch.float32, biases: str = "all") -> Weights:
    """Draw normal weights with standard deviation 1/√d_model, equal for a seed on every machine.

    `biases` is a key of `BIASES`; the matrices are the same with and without them.
    """
    generator = torch.Generator().manual_seed(seed)
    shapes = [(d_model, d_model)] * 4 + [(d_model,)] * 4
    weights = Weights(*(torch.randn(shape, generator=generator, dtype=dtype) / math.sqrt(d_model) for shape in shapes))
    return Weights(
        **{name: None if "_bias" in name and name[0] not in BIASES[biases] else part for name, part in weights.items()}  # type: ignore[arg-type]
    )


def load_layer(
    name: str,
    weights: Weights,
    n_heads: int,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    dropout: float = 0.0,
) -> AttentionLayer:
    """Build an implementation with these weights, in eval mode.

    One that has a single bias for q, k and v gets zeros for those that are missing.

    Raises:
        SizeError, Unsupported: weights and heads do not fit together, or the implementation is not known.
    """
    kind = implementation(name)
    if kind.one_matrix and (weights.q_bias is None) != (weights.v_bias is None):
        weights = weights.with_all_biases
    with torch.device("meta"):  # skips the initialisation of weights that are replaced at once
        layer = kind(len(weights.q), n_heads, dropout=dropout, **weights.biases)
    return layer.to(dtype).to_empty(device=device).eval().load(weights)
