"""Every comparison in one place: `measures` of tensors, `agreement` of implementations, `reference` of transformers."""

from __future__ import annotations

from .agreement import (
    BIASES,
    Agreement,
    Difference,
    agreements,
    key_bias_gradient,
    loaded,
    random_weights,
)
from .biases import Effect, bias_effects
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
    vector_changes,
    without_each_head,
    worst_row_sum,
)
from .reference import difference_to_transformers, read_with_transformers

__all__ = [
    "BIASES",
    "Agreement",
    "Change",
    "Difference",
    "Effect",
    "Repeated",
    "agreements",
    "bias_effects",
    "cosine",
    "difference_in_new_order",
    "difference_to_transformers",
    "key_bias_gradient",
    "largest_change",
    "largest_difference",
    "loaded",
    "new_places",
    "previous_token_weight",
    "random_weights",
    "read_with_transformers",
    "relative_difference",
    "repeated_words",
    "row_distances",
    "vector_changes",
    "without_each_head",
    "worst_row_sum",
]
