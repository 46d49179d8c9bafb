"""Quantities of one layer: its maps, projections, biases and implementations, on its own input."""

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
from .reshapes import get_step

DRAWS = 20  # random draws of the einsum notebook's case
SHAPES = ((3, 6), (2, 3, 6), (2, 4, 3, 6), (2, 2, 4, 3, 6))  # of queries, keys and values without projections
_Measure = Literal["difference", "rounding"]
_MEASURES = {"difference": attrgetter("relative"), "rounding": attrgetter("bound")}


def value_vectors(query: Query, settings: Settings) -> Value:
    """Return `value_vectors`, (i, c): the values of the layer in focus, all heads joined."""
    v = get_step(query, settings, "v").value[0]
    return Value.from_tensor(join_heads(v.transpose(0, 1)), "i c", pictures.tokens(settings))


def asymmetry(query: Query, settings: Settings, name: Literal["scores", "weights", "x xᵀ"]) -> Value:
    """Return `asymmetry("scores")`: the relative difference of scores, weights or x xᵀ to the transpose."""
    tensor = get_step(query, settings, "x" if name == "x xᵀ" else name).value[0]
    matrix = (tensor @ tensor.mT if name == "x xᵀ" else tensor).double()
    return Value.number(measures.relative_difference(matrix.mT, matrix))


def under_mean_map(query: Query, settings: Settings) -> Value:
    """Return `under_mean_map`: the relative change of the attention's output if all heads used their mean map."""
    weights, v = (get_step(query, settings, name).value[0].double() for name in ("weights", "v"))
    projection = _entering(settings, query.cursor.layer)[0]
    bias = None if projection.o_bias is None else projection.o_bias.double()
    joined = [join_heads((maps @ v).transpose(0, 1)) for maps in (weights.mean(dim=0), weights)]
    outputs = [nn.functional.linear(x, projection.o.double(), bias) for x in joined]
    return Value.number(measures.relative_difference(*outputs))


def without_bias(query: Query, settings: Settings, projection: Literal["query", "key", "value"]) -> Value:
    """Return `without_bias("key")`, (l): the relative change of a layer's output when this bias is 0."""
    moved = [effects.get(projection[0], 0.0) for effects in _without_each_bias(settings)]
    return Value.from_tensor(torch.tensor(moved, dtype=torch.float64), "l")


def key_bias(query: Query, settings: Settings, positions: Literal["added", "rotary"]) -> Value:
    """Return `key_bias("rotary")`: the largest change of the layer's weights without the bias of the keys.

    Positions are "rotary", which rotate queries and keys, or "added" before the layer.
    """
    weights, n_heads, x = _entering(settings, query.cursor.layer)
    if weights.k_bias is None:
        raise RuleError("the keys of this model have no bias")
    position = Rotary(x.shape[-1] // n_heads) if positions == "rotary" else None
    with pass_slot(), torch.no_grad():
        with_bias, bare = (
            agreement.load_layer("efficient", layer_weights, n_heads)(x, position=position)[1]
            for layer_weights in (weights, replace(weights, k_bias=torch.zeros_like(weights.k_bias)))
        )
    return Value.number(measures.largest_difference(bare, with_bias))


def from_torch(query: Query, settings: Settings, implementation: str, measure: _Measure) -> Value:
    """Return `from_torch("naive", "difference")`, (c): the relative differences of output and maps to torch's.

    With "rounding" their bounds. torch is nn.MultiheadAttention with the weights of the layer in focus.
    """
    by_name = _agreements(settings, query.cursor.layer)
    if implementation not in by_name:
        raise RuleError(f"from_torch takes one of {', '.join(by_name)}")
    differences = by_name[implementation].torch_out, by_name[implementation].torch_maps
    return Value.from_tensor(torch.tensor([_MEASURES[measure](pair) for pair in differences], dtype=torch.float64), "c")


def drawn_from_torch(measure: _Measure) -> Value:
    """Return `drawn_from_torch("difference")`, (c): einsum's output against torch's, in twenty random draws.

    The case of the einsum notebook: torch's initial weights without biases. With "rounding" as in `from_torch`.
    """
    return Value.from_tensor(
        torch.tensor([_MEASURES[measure](difference) for difference in _draws()], dtype=torch.float64), "c"
    )


def by_loops() -> Value:
    """Return `by_loops`, (c): the relative difference of a loop over matrices to scaled_dot_product_attention.

    For random tensors with two, three, four and five axes.
    """
    generator, differences = torch.Generator().manual_seed(0), []
    for shape in SHAPES:
        q, k, v = torch.randn(3, *shape, generator=generator)
        matrices = zip(*(tensor.reshape(-1, *shape[-2:]) for tensor in (q, k, v)), strict=True)
        looped = torch.stack([attention(*matrix)[0] for matrix in matrices]).reshape(shape)
        fused = nn.functional.scaled_dot_product_attention(q, k, v)
        differences.append(measures.relative_difference(looped.double(), fused.double()))
    return Value.from_tensor(torch.tensor(differences, dtype=torch.float64), "c")


def notebook_draw(seed: int) -> tuple[Weights, Tensor]:
    """Return nn.MultiheadAttention's initial weights without biases and normal input (b, n, c).

    q, k and v are one matrix (3 c, c) with Xavier initialization; the output is initialized as nn.Linear.
    """
    generator, c = torch.Generator().manual_seed(seed), WIDTH
    stacked = nn.init.xavier_uniform_(torch.empty(3 * c, c), generator=generator)
    out = torch.empty(c, c).uniform_(-(c**-0.5), c**-0.5, generator=generator)
    q, k, v = stacked.chunk(3)
    return Weights(q, k, v, out), torch.randn(CLOUDS, POINTS, c, generator=generator)


@lru_cache(maxsize=1)
def _draws() -> list[Difference]:
    with pass_slot():
        draws = [agreement.agreements(weights, HEADS, x) for weights, x in map(notebook_draw, range(DRAWS))]
    return [draw["einsum"].torch_out for draw in draws]


@single_flight(LRUCache(16))
def _agreements(settings: Settings, layer: int) -> dict[str, agreement.Agreement]:
    weights, n_heads, x = _entering(settings, layer)
    with pass_slot():
        return agreement.agreements(weights, n_heads, x[None])


@single_flight(LRUCache(16))
def _without_each_bias(settings: Settings) -> list[dict[str, float]]:
    """Return for each layer: projection whose bias is 0 -> relative change of the output."""
    entering = [_entering(settings, layer) for layer in range(pictures.model_for(settings).sizes.n_layers)]
    with pass_slot():
        layers = [bias_effects(weights, n_heads, x[None], dtype=torch.float32) for weights, n_heads, x in entering]
    return [{effect.name: effect.out for effect in effects} for effects in layers]


def _entering(settings: Settings, layer: int) -> tuple[Weights, int, Tensor]:
    """Return a layer's weights, number of heads and input in this picture, (i, c), on the CPU."""
    picture = pictures.picture(settings.baseline)
    if picture.model.own_mask != "none":
        raise RuleError("this needs a model that reads in both directions")
    layer_module, _ = picture.model.run_on_stack(
        lambda stack: as_implementation(stack.block(layer).attention, "efficient", "cpu")
    )
    return layer_module.save(), layer_module.n_heads, picture.run.hidden[layer].cpu()
