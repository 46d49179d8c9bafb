"""What changed, as one number each. Relative difference means ‖a − b‖ / ‖b‖ over the whole tensor; 0 against 0 is 0."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..attention import IMPLEMENTATIONS, AttentionLayer, Weights
from ..errors import HeadlightError, SizeError, Unsupported
from ..models.model import Mask, Model, Run
from ..positions import Position
from ..pretrained import read_with_transformers

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
    "relative_difference",
    "repeated_words",
    "row_distances",
    "without_each_head",
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


def row_distances(a: Tensor, b: Tensor) -> Tensor:
    """The total variation of each row of two maps (i, j) -> (i,): half of Σ |b − a|, the weight that went elsewhere.

    0 = the same row, 1 = nothing in common. An empty row lies 0.5 from any other.

    Raises:
        SizeError: two shapes.
    """
    _same_shape(a, b)
    return (b - a).detach().abs().sum(dim=-1) / 2


@dataclass(frozen=True)
class Change:
    """The cell of two maps that changed most, and b − a there."""

    row: int
    key: int
    value: float


def largest_change(a: Tensor, b: Tensor) -> Change:
    """Where two maps (i, j) lie farthest apart; the first such cell.

    Raises:
        SizeError: two shapes.
    """
    _same_shape(a, b)
    apart = (b - a).detach()
    row, key = divmod(int(apart.abs().argmax()), apart.shape[-1])
    return Change(row, key, float(apart[row, key]))


@dataclass(frozen=True)
class Repeated:
    """Tokens that occur more than once: where those stand whose rows lie farthest apart, and how far, max |a − b|."""

    places: tuple[int, ...]
    difference: float


def repeated_words(weights: Tensor, ids: Sequence[int]) -> Repeated | None:
    """How far the rows of equal tokens lie apart, over all maps (…, i, j); None when no token occurs twice."""
    places: dict[int, list[int]] = {}
    for place, token in enumerate(ids):
        places.setdefault(token, []).append(place)
    found = []
    for own in places.values():
        if len(own) > 1:
            rows = weights.detach()[..., own, :]
            found.append(Repeated(tuple(own), float((rows.amax(dim=-2) - rows.amin(dim=-2)).max())))
    return max(found, key=lambda repeated: repeated.difference, default=None)


def new_places(ids: Sequence[int], reordered: Sequence[int]) -> list[int]:
    """Where each token of `ids` stands in the same tokens in another order; equal ones keep their order.

    Raises:
        HeadlightError: they are not the same tokens.
    """
    free: dict[int, list[int]] = {}
    for place, token in reversed(list(enumerate(reordered))):
        free.setdefault(token, []).append(place)
    if sorted(ids) != sorted(reordered):
        raise HeadlightError(f"{len(reordered)} tokens are not the same {len(ids)} in another order; keep every word")
    return [free[token].pop() for token in ids]


def difference_in_new_order(run: Run, reordered: Run) -> float:
    """max |a − b| of the output vectors of the same tokens in two orders, the new order undone.

    Raises:
        HeadlightError: they are not the same tokens.
    """
    places = new_places(run.ids, reordered.ids)
    return largest_difference(run.hidden[-1].cpu(), reordered.hidden[-1].cpu()[places])


def without_each_head(
    model: Model,
    text: str,
    *,
    mask: Mask = "none",
    position: str | Position = "trained",
    heads_off: Iterable[tuple[int, int]] = (),
    temperature: float = 1.0,
    told: Callable[[float], object] = lambda done: None,
) -> Tensor:
    """The cosine of the sentence vector to itself with one head more off, for each head alone: (layers, h), on the CPU.

    Arguments and errors as in `Model.run`; `told` hears how much is done, 0 to 1.
    """
    off = tuple(heads_off)
    whole = model.run(text, mask=mask, position=position, heads_off=off, temperature=temperature).sentence
    without = model.without_each_head(
        text, mask=mask, position=position, heads_off=off, temperature=temperature, told=told
    )
    return torch.nn.functional.cosine_similarity(without, whole.to(without.device), dim=-1).cpu()


# How far the implementations may lie apart, relative, without a temperature or an encoding.
BOUNDS = {torch.float32: 5e-7, torch.float64: 1e-14}


@dataclass(frozen=True)
class Difference:
    """Two tensors apart: max |a − b|, and ‖a − b‖ / ‖b‖."""

    largest: float
    relative: float


@dataclass(frozen=True)
class Agreement:
    """How one implementation's output and maps differ from the truth's, and from nn.MultiheadAttention's."""

    out: Difference
    maps: Difference
    torch_out: Difference
    torch_maps: Difference

    @property
    def worst(self) -> float:
        """The largest of the relative differences."""
        return max(apart.relative for apart in (self.out, self.maps, self.torch_out, self.torch_maps))


def agreements(
    weights: Weights, n_heads: int, x: Tensor, *, allow: Tensor | None = None, dtype: torch.dtype = torch.float32
) -> dict[str, Agreement]:
    """Every implementation with the same weights on the same input, against the truth and nn.MultiheadAttention.

    The truth is "efficient" in float64 on the CPU.

    Args:
        weights: with all biases or with none, any dtype and device.
        n_heads: number of heads.
        x: (b, i, d_model); computed on its device in `dtype`.
        allow: mask, as in `AttentionLayer.forward`.
        dtype: in which the implementations compute.

    Raises:
        SizeError, MaskError: weights, heads, input and mask do not fit together.
    """
    exact = _loaded("efficient", weights, n_heads, torch.float64, torch.device("cpu"))
    results = {}
    with torch.no_grad():
        truth = exact(x.cpu().double(), allow=None if allow is None else allow.cpu())
        for name in IMPLEMENTATIONS:
            out, maps = _loaded(name, weights, n_heads, dtype, x.device)(x.to(dtype), allow=allow)
            results[name] = out.cpu().double(), maps.cpu().double()
    theirs = results["torch"]
    return {
        name: Agreement(*(_apart(a, b) for other in (truth, theirs) for a, b in zip(ours, other, strict=True)))
        for name, ours in results.items()
    }


def bound(found: Mapping[str, Agreement], dtype: torch.dtype) -> float:
    """How far apart the implementations may lie in `dtype` on the input of `agreements`, relative.

    It is the one of `BOUNDS`, or twice nn.MultiheadAttention's own distance from the truth where that is more: large
    scores and long rows make every rounding larger, torch's own too.
    """
    return max(BOUNDS[dtype], 2 * found["torch"].worst)


def key_bias_gradient(weights: Weights, n_heads: int, x: Tensor, *, dtype: torch.dtype = torch.float32) -> float:
    """The largest gradient of a key bias, relative to the norm of the whole gradient; 0 for weights without biases.

    It is 0 up to rounding: the bias adds the same number q · bias to a whole row of scores, which the softmax takes
    out again. Computed by "efficient" in `dtype` on the CPU; the loss is out · x, summed.
    """
    layer = _loaded("efficient", weights, n_heads, dtype, torch.device("cpu"))
    x = x.detach().cpu().to(dtype)
    torch.autograd.backward((layer(x)[0] * x).sum())
    gradients = {name: own.grad for name, own in layer.named_parameters() if own.grad is not None}
    whole = math.sqrt(sum(float(gradient.square().sum()) for gradient in gradients.values()))
    of_bias = gradients.get("key.bias")
    return 0.0 if of_bias is None or whole == 0 else float(of_bias.abs().max()) / whole


def random_weights(d_model: int, *, seed: int = 0, dtype: torch.dtype = torch.float32) -> Weights:
    """Normal weights with standard deviation 1/√d_model, biases and all, the same for a seed on every machine."""
    generator = torch.Generator().manual_seed(seed)
    shapes = [(d_model, d_model)] * 4 + [(d_model,)] * 4
    return Weights(*(torch.randn(shape, generator=generator, dtype=dtype) / math.sqrt(d_model) for shape in shapes))


def _loaded(name: str, weights: Weights, n_heads: int, dtype: torch.dtype, device: torch.device) -> AttentionLayer:
    """An implementation with these weights, in eval mode."""
    kind = IMPLEMENTATIONS[name]
    with torch.device("meta"):  # no random numbers for weights that are replaced at once
        layer = kind(len(weights.q), n_heads, bias=weights.q_bias is not None, out_bias=weights.o_bias is not None)
    return layer.to(dtype).to_empty(device=device).eval().load(weights)


def _apart(a: Tensor, b: Tensor) -> Difference:
    return Difference(largest_difference(a, b), relative_difference(a, b))


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
