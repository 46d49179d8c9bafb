"""What changed, as one number each. Relative difference means ‖a − b‖ / ‖b‖ over the whole tensor; 0 against 0 is 0."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .errors import SizeError, Unsupported
from .model import Model
from .pretrained import read_with_transformers

__all__ = [
    "cosine",
    "difference_to_transformers",
    "largest_difference",
    "previous_token_weight",
    "relative_difference",
    "worst_row_sum",
]


def cosine(a: Tensor, b: Tensor) -> float:
    """Cosine of the angle between two vectors (d,), on any device; 1 = the same direction.

    Raises:
        SizeError: two shapes.
    """
    _same_shape(a, b)
    return float(torch.nn.functional.cosine_similarity(a.cpu(), b.cpu(), dim=0))


def relative_difference(a: Tensor, b: Tensor) -> float:
    """‖a − b‖ / ‖b‖ over the whole tensor.

    Raises:
        SizeError: two shapes.
    """
    _same_shape(a, b)
    a, b = a.detach(), b.detach()
    distance, length = float(torch.linalg.vector_norm(a - b)), float(torch.linalg.vector_norm(b))
    if distance == 0:
        return 0.0
    return distance / length if length else math.inf


def largest_difference(a: Tensor, b: Tensor) -> float:
    """max |a − b|.

    Raises:
        SizeError: two shapes.
    """
    _same_shape(a, b)
    return float((a - b).detach().abs().max()) if a.numel() else 0.0


def worst_row_sum(weights: Tensor) -> float:
    """The row sum that lies farthest from 1, over every row of (…, i, j). An empty row gives 0."""
    sums = weights.detach().sum(dim=-1).flatten()
    return float(sums[(sums - 1).abs().argmax()])


def previous_token_weight(weights: Tensor) -> float:
    """The mean weight that a token gives to the one before it, over one map (i, j); the first token has none."""
    return float(weights.detach().diagonal(offset=-1).mean())


_reference_lock = threading.Lock()
_references: dict[tuple[Path, torch.dtype], Any] = {}


def difference_to_transformers(model: Model, text: str) -> float:
    """The largest difference of any weight or hidden state between our encoder and transformers', on the same files.

    Imports transformers (seconds) and keeps its model. It runs on the CPU, eager, in the model's dtype.

    Raises:
        Unsupported: the model was not read from a folder that transformers could read too.
    """
    if model.folder is None:
        raise Unsupported(f"model {model.name!r} was not read from a folder, so transformers has nothing to read")
    run = model.run(text)
    with _reference_lock, torch.no_grad():
        reference = _references.get((model.folder, model.dtype))
        if reference is None:
            reference = _references[model.folder, model.dtype] = read_with_transformers(model.folder, model.dtype)
        theirs = reference(torch.tensor([run.ids]), output_attentions=True, output_hidden_states=True)
    maps = largest_difference(run.weights.cpu(), torch.cat(theirs.attentions))
    states = largest_difference(run.hidden.cpu(), torch.cat(theirs.hidden_states))
    return max(maps, states)


def _same_shape(a: Tensor, b: Tensor) -> None:
    if a.shape != b.shape:
        raise SizeError(f"shapes {tuple(a.shape)} and {tuple(b.shape)} cannot be compared; they must be equal")
