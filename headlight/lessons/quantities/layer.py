"""What is asked of one layer's maps, projections and biases, on what enters it, and of its implementations."""

from dataclasses import replace
from functools import lru_cache
from operator import attrgetter
from typing import Literal

import torch
from cachetools import LRUCache
from torch import Tensor, nn

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import pictures
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from mha_core import Weights, attention, join_heads
from mha_core.attention import as_implementation
from mha_core.measure import agreement, measures
from mha_core.measure.agreement import Difference
from mha_core.measure.biases import bias_effects
from mha_core.positions import Rotary

from .random_rows import CLOUDS, HEADS, POINTS, WIDTH
from .reshapes import step_of

DRAWS = 20  # of the einsum notebook's case
SHAPES = ((3, 6), (2, 3, 6), (2, 4, 3, 6), (2, 2, 4, 3, 6))  # of queries, keys and values without projections
_Told = Literal["difference", "rounding"]
_TOLD = {"difference": attrgetter("relative"), "rounding": attrgetter("bound")}


def value_vectors(query: Query, settings: Settings) -> Value:
    """`value_vectors`, (i, c): the values of the layer that is looked at, all heads in a row."""
    v = step_of(query, settings, "v").value[0]
    return Value.of(join_heads(v.transpose(0, 1)), "i c", pictures.tokens(settings))


def asymmetry(query: Query, settings: Settings, name: Literal["scores", "weights", "x xᵀ"]) -> Value:
    """`asymmetry("scores")`: how far scores, weights or x xᵀ of what enters are from the transpose, relative."""
    found = step_of(query, settings, "x" if name == "x xᵀ" else name).value[0]
    matrix = (found @ found.mT if name == "x xᵀ" else found).double()
    return Value.number(measures.relative_difference(matrix.mT, matrix))


def under_mean_map(query: Query, settings: Settings) -> Value:
    """`under_mean_map`: how far what the heads mix would be from what it is, relative, if all used their mean map."""
    weights, v = (step_of(query, settings, name).value[0].double() for name in ("weights", "v"))
    return Value.number(measures.relative_difference(weights.mean(dim=0) @ v, weights @ v))


def without_bias(query: Query, settings: Settings, projection: Literal["query", "key", "value"]) -> Value:
    """`without_bias("key")`, (l): how far a layer's output moves, relative, when the bias of the key alone is 0."""
    moved = [effects.get(projection[0], 0.0) for effects in _without_each_bias(settings)]
    return Value.of(torch.tensor(moved, dtype=torch.float64), "l")


def key_bias(query: Query, settings: Settings, positions: Literal["added", "rotary"]) -> Value:
    """`key_bias("rotary")`: the largest change of a weight of the layer without the bias of its keys.

    While positions turn queries and keys; or "added", which leave the layer alone.
    """
    weights, n_heads, x = _entering(settings, query.at.layer)
    if weights.k_bias is None:
        raise RuleError("the keys of this model have no bias")
    position = Rotary(x.shape[-1] // n_heads) if positions == "rotary" else None
    with pass_slot(), torch.no_grad():
        whole, bare = (
            agreement.loaded("efficient", of, n_heads)(x, position=position)[1]
            for of in (weights, replace(weights, k_bias=torch.zeros_like(weights.k_bias)))
        )
    return Value.number(measures.largest_difference(bare, whole))


def from_torch(query: Query, settings: Settings, implementation: str, told: _Told) -> Value:
    """`from_torch("naive", "difference")`, (c): of output and maps to nn.MultiheadAttention's, relative, in the layer.

    Or "rounding": how much of that may be.
    """
    found = _agreements(settings, query.at.layer)
    if implementation not in found:
        raise RuleError(f"from_torch takes one of {', '.join(found)}")
    theirs = found[implementation].torch_out, found[implementation].torch_maps
    return Value.of(torch.tensor([_TOLD[told](of) for of in theirs], dtype=torch.float64), "c")


def drawn_from_torch(told: _Told) -> Value:
    """`drawn_from_torch("difference")`, (c): of einsum's output to nn.MultiheadAttention's, in each of twenty draws.

    The einsum notebook's case with torch's own initial weights without biases; or "rounding", as in `from_torch`.
    """
    return Value.of(torch.tensor([_TOLD[told](of) for of in _draws()], dtype=torch.float64), "c")


def by_loops() -> Value:
    """`by_loops`, (c): how far a loop over all matrices is from F.scaled_dot_product_attention on the whole tensors.

    Relative, for random tensors of two, three, four and five axes.
    """
    generator, apart = torch.Generator().manual_seed(0), []
    for shape in SHAPES:
        q, k, v = torch.randn(3, *shape, generator=generator)
        matrices = zip(*(of.reshape(-1, *shape[-2:]) for of in (q, k, v)), strict=True)
        looped = torch.stack([attention(*each)[0] for each in matrices]).reshape(shape)
        whole = nn.functional.scaled_dot_product_attention(q, k, v)
        apart.append(measures.relative_difference(looped.double(), whole.double()))
    return Value.of(torch.tensor(apart, dtype=torch.float64), "c")


def notebook_draw(seed: int) -> tuple[Weights, Tensor]:
    """The notebook's case: nn.MultiheadAttention's own initial weights without biases, and normal points (b, n, c).

    Xavier's law for q, k and v, which are one matrix (3 c, c) there, nn.Linear's for the output.
    """
    generator, c = torch.Generator().manual_seed(seed), WIDTH
    stacked = nn.init.xavier_uniform_(torch.empty(3 * c, c), generator=generator)
    out = torch.empty(c, c).uniform_(-(c**-0.5), c**-0.5, generator=generator)
    q, k, v = stacked.chunk(3)
    return Weights(q, k, v, out), torch.randn(CLOUDS, POINTS, c, generator=generator)


@lru_cache(maxsize=1)
def _draws() -> list[Difference]:
    with pass_slot():
        every = [agreement.agreements(weights, HEADS, x) for weights, x in map(notebook_draw, range(DRAWS))]
    return [found["einsum"].torch_out for found in every]


@single_flight(LRUCache(16))
def _agreements(settings: Settings, layer: int) -> dict[str, agreement.Agreement]:
    weights, n_heads, x = _entering(settings, layer)
    with pass_slot():
        return agreement.agreements(weights, n_heads, x[None])


@single_flight(LRUCache(16))
def _without_each_bias(settings: Settings) -> list[dict[str, float]]:
    """Of each layer: the projection whose bias is 0, and how far the output moves."""
    entering = [_entering(settings, layer) for layer in range(pictures.model_of(settings).sizes.n_layers)]
    with pass_slot():
        found = [bias_effects(weights, n_heads, x[None], dtype=torch.float32) for weights, n_heads, x in entering]
    return [{effect.name: effect.out for effect in effects} for effects in found]


def _entering(settings: Settings, layer: int) -> tuple[Weights, int, Tensor]:
    """A layer's weights, its heads, and what enters its attention in this picture, (i, c); on the CPU."""
    picture = pictures.picture(settings.baseline)
    if picture.model.own_mask != "none":
        raise RuleError("this is asked of a model that reads in both directions")
    own, _ = picture.model.run_on_stack(
        lambda stack: as_implementation(stack.block(layer).attention, "efficient", "cpu")
    )
    return own.save(), own.n_heads, picture.run.hidden[layer].cpu()
