"""What rounding leaves where exact numbers would be equal: the one place where the claims tell it from a difference.

A sum of n products is off by at most λ √n u of the sum of their sizes, but for one in ½ exp(λ²/2) (Higham and Mary
2019, u = half the distance from 1 to the next number); sums that follow one another add their parts. It holds on every
processor and for any number of threads, which change the order of the sums alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from mha_core.measure import compare
from mha_core.measure.compare import Agreement

LAMBDA = 6.0  # exceeded by one sum in thirty million


def of_sums(*terms: int) -> float:
    """The relative difference that float32 may leave after sums of so many terms each, one behind the other."""
    return LAMBDA * torch.finfo(torch.float32).eps / 2 * sum(map(math.sqrt, terms))


def of_softmax(n: int, d: int) -> float:
    """The same of the weights of n keys from products of d numbers: the product, the sum below, the row's own sum."""
    return of_sums(d, n, n)


def of_attention(n: int, d_model: int, d_head: int) -> float:
    """The same of a layer's output: projected, weighed, mixed, projected again."""
    return of_sums(d_model, d_head, n, n, d_model)


def of_model(n_layers: int, n: int, d_model: int, d_head: int, d_feed_forward: int) -> float:
    """The same of what a whole encoder hands on; each layer has two norms and a feed-forward network as well."""
    around = of_sums(d_model, d_model, d_feed_forward, d_model)
    return n_layers * (of_attention(n, d_model, d_head) + around)


def between_implementations(results: Mapping[str, Agreement]) -> float:
    """The same between two implementations of one layer in float32, on the input that they were compared on."""
    return compare.bound(results, torch.float32)
