"""The score of one query and one key as the sum of the contributions of the head's channels."""

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
from mha_core.measure.channels import Channels, call_channels, channels
from mha_core.pretrained.attention_hook import Call
from mha_core.pretrained.hf_model import HfModel
from mha_core.show.packing import pack_focus, pack_parts
from mha_core.token_text import quote

DOMINANT_WEIGHT = 0.8  # of the sum of the products' absolute values
MAX_NAMED = 6  # channels in the sentence
CACHE_BYTES = 48 * 2**20
ROTATED = "q and k are shown after the rotation by their positions (rotary positions), which acts on pairs of channels."
SHARED_KEYS = "{} consecutive heads share one k."


class ChannelsAnswer(TypedDict):
    """The header of the answer; q, k and their products (d,) follow as float32."""

    layer: int
    head: int
    row: int
    key: int
    query: str  # the query's token
    keyToken: str  # the key's token
    strong: list[int]  # the fewest channels with `DOMINANT_WEIGHT`
    sentences: list[str]  # sentences on the sum, on the strongest channels and on the weight
    notes: list[str]


class LayerRecord(NamedTuple):
    """The record of a layer's pass: tokens, weights (h, i, j) and the origin of its scores."""

    tokens: list[str]
    keys: list[str]
    weights: Tensor
    kv_heads: int
    steps: tuple[Step, ...] = ()  # the trace of a layer of ours; empty for other layers
    call: Call | None = None  # the recorded attention call of a transformers model

    def channels(self, settings: Settings, head: int, row: int, key: int) -> Channels:
        """Return the score of a pair, split into channels."""
        temperature = float(settings.temperature)
        if self.call is not None:
            return call_channels(self.call, head, row, key, temperature=temperature)
        biased = "bias" in position_places(settings, pictures.model_for(settings))
        return channels(self.steps, head, row, key, temperature=temperature, biased=biased)


def answer(raw: bytes) -> bytes:
    """Return the score of the query's pair; by default the key is the one with the row's largest weight."""
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings()
    layer = layer_record(settings, query.cursor.layer)
    cursor = query.place(layer.tokens, layer.keys)
    weights = layer.weights[cursor.head]
    row = min(cursor.row or 0, len(weights) - 1)
    key = int(weights[row].argmax()) if cursor.key is None else min(cursor.key, weights.shape[1] - 1)
    terms = layer.channels(settings, cursor.head, row, key)
    group_size = len(layer.weights) // layer.kv_heads
    places = position_places(settings, query.model)
    bias_source = "the positional encoding" if "bias" in places else "the model"
    header: ChannelsAnswer = {
        "layer": cursor.layer,
        "head": cursor.head,
        "row": row,
        "key": key,
        "query": layer.tokens[row],
        "keyToken": layer.keys[key],
        "strong": terms.strongest(DOMINANT_WEIGHT),
        "sentences": [
            _sum_text(terms, f"{quote(layer.tokens[row])} → {quote(layer.keys[key])}", bias_source),
            _strongest_text(terms),
            f"The softmax turns this score into a weight of {numbers.weight(weight)}."
            if (weight := float(weights[row, key]))
            else "Its weight is 0, because the mask blocks the pair or its score is too low.",
        ],
        "notes": [ROTATED] * ("rotate" in places) + [SHARED_KEYS.format(group_size)] * (group_size > 1),
    }
    return pack_parts(pack_focus(header, terms.q, terms.k, terms.products))


def layer_record(settings: Settings, layer: int) -> LayerRecord:
    """Return the record of a layer.

    Raises what `Model.run` raises, and Unsupported if only the model's maps are known.
    """
    model = pictures.model_for(settings)
    if isinstance(model, HfModel):
        return _hf_record(settings, layer)
    if "steps" not in model.can:
        raise Unsupported(models.reason(model, "steps"))
    traced = traces.trace_layer(settings, layer, "fused")
    weights = next(step.value for step in traced.steps if step.name == "weights")[0]
    keys = pictures.tokens(settings) if model.group == "cross" else traced.tokens
    return LayerRecord(traced.tokens, keys, weights, model.stack.block(0).attention.n_kv_heads, traced.steps)


@single_flight(LRUCache(CACHE_BYTES, lambda layer: 4 * layer.weights.nbytes))
def _hf_record(settings: Settings, layer: int) -> LayerRecord:
    """Return the record of a transformers model's layer from a recording pass; cached."""
    model = cast(HfModel, pictures.model_for(settings))
    with pass_slot(len(pictures.tokens(settings)), models.count_heads(model)):
        record = ("q", "k", "scores", "scaling")
        call, tokens, keys = model.layer_call(settings.text, layer, record, **settings.switches(model))
    return LayerRecord(tokens, keys, call.weights[0].float().cpu(), call.kv_heads, call=call)


def _sum_text(terms: Channels, pair: str, bias_source: str) -> str:
    """Describe the computation of the score, step by step."""
    d = len(terms.q)
    sums = float(terms.products.sum()), terms.positive, terms.negative
    total, positive, negative = (numbers.number(value, 2) for value in sums)
    parts = [f"The {d} products of {pair} sum to {total}: +{positive} and {negative}."]
    is_standard = math.isclose(terms.scale, 1 / math.sqrt(d))
    parts.append(
        f"{f'Divided by √{d}' if is_standard else f'Times {terms.scale:.3g}'} that is {numbers.number(terms.scaled, 2)}"
    )
    if terms.bias:
        parts[-1] += f", {bias_source} adds {numbers.number(terms.bias, 2)}"
    if terms.temperature != 1:
        parts[-1] += f", the temperature {terms.temperature:g} divides it"
    return f"{' '.join(parts)}: the score is {numbers.number(terms.score, 2)}."


def _strongest_text(terms: Channels) -> str:
    strongest = terms.strongest(DOMINANT_WEIGHT)
    if not strongest:
        return "Every product is 0."
    products = terms.products[strongest]
    share = float(products.abs().sum() / terms.products.abs().sum())
    sums = [f"+{numbers.number(float(products.clamp(min=0).sum()), 2)}"] if bool((products > 0).any()) else []
    sums += [numbers.number(float(products.clamp(max=0).sum()), 2)] if bool((products < 0).any()) else []
    names = ", ".join(map(str, strongest[:MAX_NAMED])) + (" …" if len(strongest) > MAX_NAMED else "")
    subject = f"The {len(strongest)} strongest of {len(terms.q)} channels ({names}) account for"
    if len(strongest) == 1:
        subject = f"The strongest channel ({names}) accounts for"
    return f"{subject} {numbers.percent(share)} of the sum’s absolute size: {' and '.join(sums)}."


def position_places(settings: Settings, model: Model) -> frozenset[str]:
    """Return where positions act, as in `Position.mechanisms`."""
    if isinstance(model, HfModel):
        return model.findings.mechanisms if settings.position == "trained" else frozenset()
    return words.position_places(settings.position, model)
