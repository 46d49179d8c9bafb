"""Every comparison in one place: `measures` of tensors, `agreement` of implementations, `reference` of transformers."""

from __future__ import annotations

from .agreement import BOUNDS, Agreement, Difference, agreements, bound, key_bias_gradient, random_weights
from .measures import (
    Change,
    Repeated,
    cosine,
    difference_in_new_order,
    largest_change,
    largest_difference,
    new_places,
    previous_token_weight,
    relative_difference,
    repeated_words,
    row_distances,
    without_each_head,
    worst_row_sum,
)
from .reference import difference_to_transformers, read_with_transformers

__all__ = [
    "BOUNDS",
    "Agreement",
    "Change",
    "Difference",
    "Repeated",
    "agreements",
    "bound",
    "cosine",
    "difference_in_new_order",
    "difference_to_transformers",
    "key_bias_gradient",
    "largest_change",
    "largest_difference",
    "new_places",
    "previous_token_weight",
    "random_weights",
    "read_with_transformers",
    "relative_difference",
    "repeated_words",
    "row_distances",
    "without_each_head",
    "worst_row_sum",
]
