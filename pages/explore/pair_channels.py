"""Channels: the score of one query and one key as the sum of what each channel of the head adds to it."""

import math
from typing import NamedTuple, TypedDict, cast

from cachetools import LRUCache
from torch import Tensor

from headlight.picture import pictures, traces, words
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from headlight.ui import numbers
from mha_core import Model, Step
from mha_core.errors import Unsupported
from mha_core.measure.channels import Channels, channels, channels_of_call
from mha_core.pretrained.attention_hook import Call
from mha_core.pretrained.hf_model import HfModel
from mha_core.show.packing import pack_focus, pack_parts

DOMINANT_WEIGHT = 0.8  # of the size of all products
NAMED = 6  # channels that the sentence names
CALLED_BYTES = 48 * 2**20
ROTATED = "q and k are shown after the rotation by their positions (rotary positions), which acts on pairs of channels."
SHARED_KEYS = "{} consecutive heads share one k."


class ChannelsAnswer(TypedDict):
    """What the browser is told; q, k and their products follow, a float32 for each channel."""

    layer: int
    head: int
    row: int
    key: int
    query: str  # the two tokens
    looked: str
    strong: list[int]  # the fewest channels that make most of it
    said: list[str]  # how the score is summed, which channels make it, and what becomes of it
    notes: list[str]


class Layer(NamedTuple):
    """What is known of a layer: who looks, whom they look at, the weights (h, i, j), and how its scores are made.

    Attributes:
        steps: as our own layer recorded them; none of another's.
        call: as it passed the seam of a model of transformers.
    """

    tokens: list[str]
    keys: list[str]
    weights: Tensor
    kv_heads: int
    steps: tuple[Step, ...] = ()
    call: Call | None = None

    def channels(self, settings: Settings, head: int, row: int, key: int) -> Channels:
        """The score of a pair, taken apart."""
        temperature = float(settings.temperature)
        if self.call is not None:
            return channels_of_call(self.call, head, row, key, temperature=temperature)
        biased = "bias" in _places(settings, pictures.model_of(settings))
        return channels(self.steps, head, row, key, temperature=temperature, biased=biased)


def answer(raw: bytes) -> bytes:
    """The score of the pair that a query looks at; without a key the one that its row looks at most.

    Raises a HeadlightError.
    """
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings()
    layer = layer_of(settings, query.at.layer)
    at = query.place(layer.tokens, layer.keys)
    weights = layer.weights[at.head]
    row = min(at.row or 0, len(weights) - 1)
    key = int(weights[row].argmax()) if at.key is None else min(at.key, weights.shape[1] - 1)
    own = layer.channels(settings, at.head, row, key)
    share_a_key = len(layer.weights) // layer.kv_heads
    places = _places(settings, query.model)
    adds = "the positional encoding" if "bias" in places else "the model"
    header: ChannelsAnswer = {
        "layer": at.layer,
        "head": at.head,
        "row": row,
        "key": key,
        "query": layer.tokens[row],
        "looked": layer.keys[key],
        "strong": own.strongest(DOMINANT_WEIGHT),
        "said": [
            _sum_in_words(own, f"“{layer.tokens[row]}” → “{layer.keys[key]}”", adds),
            _strongest_in_words(own),
            _weight_in_words(float(weights[row, key])),
        ],
        "notes": [ROTATED] * ("rotate" in places) + [SHARED_KEYS.format(share_a_key)] * (share_a_key > 1),
    }
    return pack_parts(pack_focus(header, own.q, own.k, own.products))


def layer_of(settings: Settings, layer: int) -> Layer:
    """Raises what `Model.run` raises, and Unsupported of a model whose maps alone are known."""
    model = pictures.model_of(settings)
    if isinstance(model, HfModel):
        return _called(settings, layer)
    if "steps" not in model.can:
        raise Unsupported(models.reason(model, "steps"))
    traced = traces.traced(settings, layer, "fused")
    weights = next(step.value for step in traced.steps if step.name == "weights")[0]
    keys = pictures.tokens(settings) if model.group == "cross" else traced.tokens
    return Layer(traced.tokens, keys, weights, model.stack.block(0).attention.n_kv_heads, traced.steps)


@single_flight(LRUCache(CALLED_BYTES, lambda layer: 4 * layer.weights.nbytes))
def _called(settings: Settings, layer: int) -> Layer:
    """Of a model of transformers, kept: a pass of its own recorded it."""
    model = cast(HfModel, pictures.model_of(settings))
    with pass_slot(len(pictures.tokens(settings)), models.heads(model)):
        record = ("q", "k", "scores", "scaling")
        call, tokens, keys = model.call_of_layer(settings.text, layer, record, **settings.switches(model))
    return Layer(tokens, keys, call.weights[0].float().cpu(), call.kv_heads, call=call)


def _sum_in_words(own: Channels, pair: str, adds: str) -> str:
    """The sum, step by step, up to the score; `adds`: what has the bias."""
    d = len(own.q)
    sums = float(own.products.sum()), own.positive, own.negative
    total, positive, negative = (numbers.number(value, 2) for value in sums)
    parts = [f"The {d} products of {pair} sum to {total}: +{positive} and {negative}."]
    usual = math.isclose(own.scale, 1 / math.sqrt(d))
    parts.append(f"{f'Divided by √{d}' if usual else f'Times {own.scale:.3g}'} that is {numbers.number(own.scaled, 2)}")
    if own.bias:
        parts[-1] += f", {adds} adds {numbers.number(own.bias, 2)}"
    if own.temperature != 1:
        parts[-1] += f", the temperature {own.temperature:g} divides it"
    return f"{' '.join(parts)}: the score is {numbers.number(own.score, 2)}."


def _strongest_in_words(own: Channels) -> str:
    chosen = own.strongest(DOMINANT_WEIGHT)
    if not chosen:
        return "Every product is 0."
    products = own.products[chosen]
    share = float(products.abs().sum() / own.products.abs().sum())
    sums = [f"+{numbers.number(float(products.clamp(min=0).sum()), 2)}"] if bool((products > 0).any()) else []
    sums += [numbers.number(float(products.clamp(max=0).sum()), 2)] if bool((products < 0).any()) else []
    names = ", ".join(map(str, chosen[:NAMED])) + (" …" if len(chosen) > NAMED else "")
    which = f"The {len(chosen)} strongest of {len(own.q)} channels ({names}) account for"
    if len(chosen) == 1:
        which = f"The strongest channel ({names}) account fors"
    return f"{which} {numbers.percent(share)} of the sum’s absolute size: {' and '.join(sums)}."


def _weight_in_words(weight: float) -> str:
    if weight == 0:
        return "Its weight is 0, because the mask blocks the pair or its score is too low."
    return f"The softmax turns this score into a weight of {numbers.weight(weight)}."


def _places(settings: Settings, model: Model) -> frozenset[str]:
    """Where positions act, as in `Position.acts`."""
    if isinstance(model, HfModel):
        return model.findings.acts if settings.position == "trained" else frozenset()
    return words.places(settings.position, model)
