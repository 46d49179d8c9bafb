"""Mistakes that raise no error, made on purpose on the layer or the batch that a page shows."""

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.link import mask_codec
from headlight.picture import pictures, traces
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.picture.traces import drawn, recorded
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core import Run
from mha_core.attention import as_implementation
from mha_core.measure import by_hand, measures

AXES = {"heads": 0, "queries": 1, "keys": 2}  # of scores (h, i, j)
Padding = Literal["masked", "not masked"]
Function = Literal["nn.MultiheadAttention", "scaled_dot_product_attention"]
Way = Literal["softmax", "-1e9", "torch", "ours"]
SEED = 0  # of dropout


def row_sums(query: Query, settings: Settings, axis: Literal["heads", "queries", "keys"]) -> Value:
    """`row_sums("heads")`, (h, i): what the rows sum to when the softmax is taken over the heads, queries or keys.

    In the layer that is looked at.
    """
    layer = recorded(settings, query.at.layer)
    scores = layer.scores if layer.allow is None else layer.scores.masked_fill(~layer.allow, -math.inf)
    sums = torch.softmax(scores, dim=AXES[axis]).nan_to_num().sum(dim=-1)
    return Value.of(sums, "h i", layer.tokens)


def cosine_in_batch(query: Query, settings: Settings, padding: Padding) -> Value:
    """`cosine_in_batch("not masked")`: of the shorter sentence's vector, beside the one of `pad`, to the one alone."""
    alone, batched = _beside(query, settings, padding)
    return Value.number(measures.cosine(batched.sentence, alone.sentence))


def in_batch(query: Query, settings: Settings, padding: Literal["masked", "not masked", "alone"]) -> Value:
    """`in_batch("masked")`, (c): that vector; `in_batch("alone")` is the one of the shorter sentence alone."""
    alone, batched = _beside(query, settings, "masked" if padding == "alone" else padding)
    return Value.of((alone if padding == "alone" else batched).sentence, "c")


def weight_on_padding(query: Query, settings: Settings, padding: Padding) -> Value:
    """`weight_on_padding("not masked")`: what a row of layer 0 gives to padding, of its 1, on average."""
    alone, batched = _beside(query, settings, padding)
    return Value.number(float((alone.weights[0].sum(dim=-1) - batched.weights[0].sum(dim=-1)).mean()))


def under_same_mask(query: Query, settings: Settings, function: Function) -> Value:
    """`under_same_mask("nn.MultiheadAttention")`, (i, j): torch's weights under the mask that is True where j ≤ i.

    Or of "scaled_dot_product_attention", in the head that is looked at, on the same queries and keys. NaN is kept.
    """
    at = query.at
    layer = recorded(settings, at.layer)
    lower = torch.ones(len(layer.tokens), len(layer.tokens), dtype=torch.bool).tril()
    if function == "scaled_dot_product_attention":
        return Value.of(_by_sdpa(layer.q[at.head], layer.k[at.head], lower), "i j", layer.tokens)
    module, x = _torch_module(query, settings)
    with pass_slot(len(layer.tokens), models.heads(query.model)), torch.no_grad():
        weights: Tensor = module(x, x, x, attn_mask=lower, average_attn_weights=False)[1]
    return Value.of(weights[0, at.head], "i j", layer.tokens)


def empty_row(query: Query, settings: Settings, way: Way) -> Value:
    """`empty_row("-1e9")`, (j): the weights of the first row that may look at nobody, in the head that is looked at.

    The ways are "softmax" over −∞ alone, "-1e9" instead of it, "torch" for scaled_dot_product_attention, and "ours".
    """
    weights, allow, tokens = _masked(query, settings, way)
    empty = (~allow.any(dim=-1)).nonzero()
    if not len(empty):
        raise RuleError("under this mask every row may look at some key")
    return Value.of(weights[int(empty[0])], "j", tokens)


def masked_weights(query: Query, settings: Settings, way: Way) -> Value:
    """`masked_weights("-1e9")`, (i, j): weights of the head that is looked at, with its scores masked in such a way."""
    weights, _, tokens = _masked(query, settings, way)
    return Value.of(weights, "i j", tokens)


def sums_after_dropout(query: Query, settings: Settings, rate: float) -> Value:
    """`sums_after_dropout(.5)`, (h, i): the row sums of the weights that nn.MultiheadAttention returns in training.

    On what enters the layer that is looked at, with its weights; the same draw each time.
    """
    if not 0 <= rate < 1:
        raise RuleError(f"a rate of dropout is from 0 to below 1, not {rate:g}")
    module, x = _torch_module(query, settings)
    module.dropout = rate
    with pass_slot(x.shape[1], models.heads(query.model)), drawn(SEED, x):
        weights: Tensor = module.train()(x, x, x, average_attn_weights=False)[1]
    return Value.of(weights[0].sum(dim=-1), "h i", pictures.tokens(settings))


def _masked(query: Query, settings: Settings, way: Way) -> tuple[Tensor, Tensor, list[str]]:
    """Weights (i, j) in one of the ways, bool (i, j) of what may be looked at, and the tokens."""
    layer, head, model = recorded(settings, query.at.layer), query.at.head, query.model
    allow = mask_codec.of_head(settings.allowed_cells(model, len(layer.tokens)), head)
    three = by_hand.softmax_three_ways(layer.scores[head], allow)
    ways = dict(zip(("ours", "softmax", "-1e9"), three, strict=True))
    weights = _by_sdpa(layer.q[head], layer.k[head], allow) if way == "torch" else ways[way]
    return weights, allow, layer.tokens


def _beside(query: Query, settings: Settings, padding: Padding) -> tuple[Run, Run]:
    """The shorter sentence alone, and in one batch with the other one."""
    settings, model = settings.without_painting, query.model
    texts = [settings.text, query["pad"]]
    lengths = [len(model.tokenize(text)[1]) for text in texts]
    if lengths[0] == lengths[1]:
        raise RuleError("both sentences have the same number of tokens: nothing is padded")
    short = lengths.index(min(lengths))
    with pass_slot(max(lengths), models.heads(model)):
        batch = settings.run_batch(model, texts, mask_padding=padding == "masked")
        return settings.run(model, texts[short]), batch[short]


def _by_sdpa(q: Tensor, k: Tensor, allow: Tensor) -> Tensor:
    """q (i, d), k (j, d) -> the weights (i, j) of torch's function: what it mixes of the unit vectors."""
    return F.scaled_dot_product_attention(q[None], k[None], torch.eye(len(k), dtype=k.dtype)[None], attn_mask=allow)[0]


def _torch_module(query: Query, settings: Settings) -> tuple[nn.MultiheadAttention, Tensor]:
    """torch's own module with the weights of the layer that is looked at, and what enters that layer, (1, i, c)."""
    layer = query.at.layer
    x = traces.traced(settings, layer, "fused").steps[0].value
    torchs, _ = query.model.run_on_stack(
        lambda stack: as_implementation(stack.block(layer).attention, "torch", x.device)
    )
    return next(part for part in torchs.modules() if isinstance(part, nn.MultiheadAttention)), x
