"""Quantities of common mistakes that raise no error, made on the layer or batch of a page."""

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
from headlight.picture.traces import fixed_seed, layer_tensors
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
    """Return `row_sums("heads")`, (h, i): the row sums after a softmax over heads, queries or keys.

    Of the layer in focus.
    """
    layer = layer_tensors(settings, query.cursor.layer)
    scores = layer.scores if layer.allow is None else layer.scores.masked_fill(~layer.allow, -math.inf)
    sums = torch.softmax(scores, dim=AXES[axis]).nan_to_num().sum(dim=-1)
    return Value.from_tensor(sums, "h i", layer.tokens)


def cosine_in_batch(query: Query, settings: Settings, padding: Padding) -> Value:
    """Return `cosine_in_batch("not masked")`: the cosine of the shorter sentence's vector in the batch and alone."""
    alone, batched = _alone_and_batched(query, settings, padding)
    return Value.number(measures.cosine(batched.sentence, alone.sentence))


def in_batch(query: Query, settings: Settings, padding: Literal["masked", "not masked", "alone"]) -> Value:
    """Return `in_batch("masked")`, (c): the shorter sentence's vector in the batch, or "alone"."""
    alone, batched = _alone_and_batched(query, settings, "masked" if padding == "alone" else padding)
    return Value.from_tensor((alone if padding == "alone" else batched).sentence, "c")


def weight_on_padding(query: Query, settings: Settings, padding: Padding) -> Value:
    """Return `weight_on_padding("not masked")`: the mean weight of a row of layer 0 on padding."""
    alone, batched = _alone_and_batched(query, settings, padding)
    return Value.number(float((alone.weights[0].sum(dim=-1) - batched.weights[0].sum(dim=-1)).mean()))


def under_same_mask(query: Query, settings: Settings, function: Function) -> Value:
    """Return `under_same_mask("nn.MultiheadAttention")`, (i, j): torch's weights with a mask that is True for j ≤ i.

    The weights are those of the head in focus, by either function on the same queries and keys. NaN is kept.
    """
    cursor = query.cursor
    layer = layer_tensors(settings, cursor.layer)
    lower = torch.ones(len(layer.tokens), len(layer.tokens), dtype=torch.bool).tril()
    if function == "scaled_dot_product_attention":
        return Value.from_tensor(_by_sdpa(layer.q[cursor.head], layer.k[cursor.head], lower), "i j", layer.tokens)
    module, x = _torch_module(query, settings)
    with pass_slot(len(layer.tokens), models.count_heads(query.model)), torch.no_grad():
        weights: Tensor = module(x, x, x, attn_mask=lower, average_attn_weights=False)[1]
    return Value.from_tensor(weights[0, cursor.head], "i j", layer.tokens)


def empty_row(query: Query, settings: Settings, way: Way) -> Value:
    """Return `empty_row("-1e9")`, (j): the weights of the first empty row of the mask in the head in focus.

    Masked scores are −∞ ("softmax") or −1e9 ("-1e9"); or "torch", scaled_dot_product_attention; or "ours".
    """
    weights, allow, tokens = _masked(query, settings, way)
    empty = (~allow.any(dim=-1)).nonzero()
    if not len(empty):
        raise RuleError("under this mask every row may look at some key")
    return Value.from_tensor(weights[int(empty[0])], "j", tokens)


def masked_weights(query: Query, settings: Settings, way: Way) -> Value:
    """Return `masked_weights("-1e9")`, (i, j): the weights of the head in focus, masked as in `empty_row`."""
    weights, _, tokens = _masked(query, settings, way)
    return Value.from_tensor(weights, "i j", tokens)


def sums_after_dropout(query: Query, settings: Settings, rate: float) -> Value:
    """Return `sums_after_dropout(.5)`, (h, i): the row sums of nn.MultiheadAttention's weights in training.

    It has the weights and the input of the layer in focus, and always the same random draw.
    """
    if not 0 <= rate < 1:
        raise RuleError(f"a dropout rate must be at least 0 and below 1, not {rate:g}")
    module, x = _torch_module(query, settings)
    module.dropout = rate
    with pass_slot(x.shape[1], models.count_heads(query.model)), fixed_seed(SEED, x):
        weights: Tensor = module.train()(x, x, x, average_attn_weights=False)[1]
    return Value.from_tensor(weights[0].sum(dim=-1), "h i", pictures.tokens(settings))


def _masked(query: Query, settings: Settings, way: Way) -> tuple[Tensor, Tensor, list[str]]:
    """Return the masked weights, (i, j), the mask, bool (i, j), and the tokens."""
    layer, head, model = layer_tensors(settings, query.cursor.layer), query.cursor.head, query.model
    allow = mask_codec.head_mask(settings.allowed_cells(model, len(layer.tokens)), head)
    three = by_hand.softmax_three_ways(layer.scores[head], allow)
    ways = dict(zip(("ours", "softmax", "-1e9"), three, strict=True))
    weights = _by_sdpa(layer.q[head], layer.k[head], allow) if way == "torch" else ways[way]
    return weights, allow, layer.tokens


def _alone_and_batched(query: Query, settings: Settings, padding: Padding) -> tuple[Run, Run]:
    """Run the shorter sentence alone, and in a batch with the other one."""
    settings, model = settings.without_painting, query.model
    texts = [settings.text, query["pad"]]
    lengths = [len(model.tokenize(text)[1]) for text in texts]
    if lengths[0] == lengths[1]:
        raise RuleError("both sentences have the same number of tokens: nothing is padded")
    short = lengths.index(min(lengths))
    with pass_slot(max(lengths), models.count_heads(model)):
        batch = settings.run_batch(model, texts, mask_padding=padding == "masked")
        return settings.run(model, texts[short]), batch[short]


def _by_sdpa(q: Tensor, k: Tensor, allow: Tensor) -> Tensor:
    """Return the weights (i, j) of torch's function for q (i, d), k (j, d), by mixing unit vectors."""
    return F.scaled_dot_product_attention(q[None], k[None], torch.eye(len(k), dtype=k.dtype)[None], attn_mask=allow)[0]


def _torch_module(query: Query, settings: Settings) -> tuple[nn.MultiheadAttention, Tensor]:
    """Return nn.MultiheadAttention with the weights of the layer in focus, and that layer's input, (1, i, c)."""
    layer = query.cursor.layer
    x = traces.trace_layer(settings, layer, "fused").steps[0].value
    module, _ = query.model.run_on_stack(
        lambda stack: as_implementation(stack.block(layer).attention, "torch", x.device)
    )
    return next(part for part in module.modules() if isinstance(part, nn.MultiheadAttention)), x
