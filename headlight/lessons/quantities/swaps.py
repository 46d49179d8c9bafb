"""Quantities of conventions that raise no error when one stands for the other, on the layer of a page."""

from dataclasses import replace
from typing import Literal, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import pictures, traces, words
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.picture.traces import LayerTrace
from mha_core.attention import AttentionLayer, as_implementation, attention
from mha_core.attention.efficient import EfficientAttention
from mha_core.attention.sequence_first import SequenceFirstAttention
from mha_core.device import copy_to
from mha_core.measure import conventions, measures
from mha_core.measure.conventions import Layout, Masked, Order, Pairing
from mha_core.models.inputs import position_for
from mha_core.positions import LayerPart, Rotary
from mha_core.positions.added import sinusoids
from mha_core.positions.rotated import rotation_tables

BASE = 10_000.0  # of the angles, for a model that does not rotate
PADDING = 3  # rows
Part = Literal["content", "position"]


def rope_queries(query: Query, settings: Settings, pairing: Pairing) -> Value:
    """Return `rope_queries("halves")`, (h, i, c): the layer's queries, rotated in these pairs."""
    trace = _trace(query, settings)
    return Value.from_tensor(rotate(trace, pairing)[0], "h i c", trace.tokens)


def rope_scores(query: Query, settings: Settings, pairing: Pairing) -> Value:
    """Return `rope_scores("halves")`, (h, i, j): unmasked scores of the layer's q and k, rotated in these pairs."""
    q, k = rotate(trace := _trace(query, settings), pairing)
    return Value.from_tensor(q @ k.mT / q.shape[-1] ** 0.5, "h i j", trace.tokens)


def rope_maps(query: Query, settings: Settings, pairing: Pairing) -> Value:
    """Return `rope_maps("halves")`, (h, i, j): weights of the layer's q and k, rotated in these pairs."""
    trace = _trace(query, settings)
    return Value.from_tensor(attend(trace, *rotate(trace, pairing)), "h i j", trace.tokens)


def key_heads(query: Query, settings: Settings, order: Order, groups: int = 0) -> Value:
    """Return `key_heads("tiled", 3)`, (h): which key head each query head reads, of 3 or of the model's own."""
    q, k = share_keys(_trace(query, settings), groups)
    return Value.from_tensor(conventions.key_heads(len(q), len(k), order), "h")


def grouped_maps(query: Query, settings: Settings, order: Order, groups: int = 0) -> Value:
    """Return `grouped_maps("tiled", 3)`, (h, i, j): weights with the key heads of `key_heads`."""
    q, k = share_keys(trace := _trace(query, settings), groups)
    heads = conventions.key_heads(len(q), len(k), order)
    return Value.from_tensor(attend(trace, q, k[heads]), "h i j", trace.tokens)


def across_batch(query: Query, settings: Settings, layout: Layout, measure: Literal["weight", "change"]) -> Value:
    """Return `across_batch("batch first", "weight")`: what a sentence takes from the other one of its batch.

    It is the mean weight, or the largest change of an output if the other's vectors are 0. See `mix_batch`.
    """
    trace = _trace(query, settings)
    layer = cast(SequenceFirstAttention, _attention(trace, "sequence_first"))
    weights, change, _ = mix_batch(layer, sentence_pair(trace)[0], layout)
    if measure == "weight":  # length first, no cell belongs to two sentences
        return Value.number(float(weights[0, 1].mean()) if layout == "batch first" else 0.0)
    return Value.number(change)


def score_parts(query: Query, settings: Settings, ask: Part, offer: Part) -> Value:
    """Return `score_parts("content", "position")`, (h, i, j): scores of the content's q and the positions' k."""
    content, positions, _ = separate_positions(trace := _trace(query, settings))
    parts = conventions.position_parts(cast(EfficientAttention, _attention(trace)), content, positions)
    return Value.from_tensor(parts[ask, offer], "h i j", trace.tokens)


def concatenated(query: Query, settings: Settings) -> Value:
    """Return `concatenated`: the relative difference of [x p] [W; W] to (x + p) W, for the queries' W."""
    trace = _trace(query, settings)
    return Value.number(concatenate(_attention(trace).save().q, *separate_positions(trace)[:2]))


def padding_change(query: Query, settings: Settings, masked: Masked) -> Value:
    """Return `padding_change("keys")`: the largest change of a real row's output when padding gets other content."""
    trace = _trace(query, settings)
    (out, _), (other, _) = pad(trace, _attention(trace), masked)
    return Value.number(measures.largest_difference(other[:-PADDING], out[:-PADDING]))


def padding_sums(query: Query, settings: Settings, masked: Masked) -> Value:
    """Return `padding_sums("keys")`, (h, i): the sums of the weights in the rows of padding."""
    trace = _trace(query, settings)
    return Value.from_tensor(pad(trace, _attention(trace), masked)[0][1][:, -PADDING:].sum(dim=-1), "h i")


def attend(trace: LayerTrace, q: Tensor, k: Tensor) -> Tensor:
    """Return the weights (h, i, j) of q and k (h, n, d) under the picture's mask."""
    allow = trace.settings.allowed_cells(pictures.model_for(trace.settings), len(trace.tokens))
    return attention(q, k, k, allow=allow)[1]


def rope_base(trace: LayerTrace) -> float | None:
    """Return the base of the model's own rotation, None without one."""
    position = pictures.model_for(trace.settings).stack.position
    return position.base if isinstance(position, Rotary) else None


def rotate(trace: LayerTrace, pairing: Pairing) -> tuple[Tensor, Tensor]:
    """Return a layer's q and k (h, n, d), rotated in these pairs.

    Raises:
        RuleError: d is odd.
    """
    q, k = (tensor(trace, f"{name}.transpose") for name in "qk")
    if q.shape[-1] % 2:
        raise RuleError(f"a head of {q.shape[-1]} channels has no pairs of them")
    cos, sin = (table.to(q) for table in rotation_tables(*q.shape[1:], rope_base(trace) or BASE))
    turn = conventions.PAIRINGS[pairing]
    return turn(q, cos, sin), turn(k[conventions.key_heads(len(q), len(k), "repeated")], cos, sin)


def share_keys(trace: LayerTrace, groups: int = 0) -> tuple[Tensor, Tensor]:
    """Return a layer's q (h, i, d) and shared k (g, j, d), or means of groups."""
    q, k = tensor(trace, "q"), tensor(trace, "k")
    if any(step.name == "k.shared" for step in trace.steps):
        return q, tensor(trace, "k.shared")
    counts = conventions.group_counts(len(q))
    groups = groups or max((count for count in counts if count**2 <= len(q)), default=1)
    if groups not in {1, *counts}:
        raise RuleError(f"{groups} key heads cannot serve {len(q)} query heads equally")
    return q, k.reshape(groups, -1, *k.shape[1:]).mean(dim=1)


def sentence_pair(trace: LayerTrace) -> tuple[Tensor, LayerTrace]:
    """Return a layer's input for a sentence and its reverse, (2, n, c), and the second trace."""
    text = trace.settings.text
    text = " ".join(reversed(text.split())) if " " in text.strip() else text[::-1]
    second = traces.trace_layer(replace(trace.settings.baseline, text=text), trace.layer, "efficient")
    inputs = [tensor(trace, "x"), tensor(second, "x")]
    return torch.stack([x[: min(map(len, inputs))] for x in inputs]), second


def mix_batch(layer: SequenceFirstAttention, pair: Tensor, layout: Layout) -> tuple[Tensor, float, Tensor]:
    """Return the layer's weights, how much the first sentence's output depends on the second, and out.

    The weights are those of `attend_in_layout`.
    """
    with torch.no_grad():
        out, weights = conventions.attend_in_layout(layer, pair, layout)
        alone, _ = conventions.attend_in_layout(layer, torch.stack((pair[0], torch.zeros_like(pair[1]))), layout)
    return weights, measures.largest_difference(out[0], alone[0]), out


def separate_positions(trace: LayerTrace) -> tuple[Tensor, Tensor, bool]:
    """Return the layer's input without positions, what they change in it, each (n, c), and whether they are its own.

    A picture without added positions gets sinusoids of the size of the input.
    """
    x, settings = tensor(trace, "x"), trace.settings
    if "add" in words.position_places(settings.position, pictures.model_for(settings)):
        content = tensor(traces.trace_layer(replace(settings, position="none"), trace.layer, "efficient"), "x")
        return content, x - content, True
    waves = sinusoids(len(x), x.shape[1] + x.shape[1] % 2)[:, : x.shape[1]].to(x)
    return x, waves * (x.square().mean() / waves.square().mean()).sqrt(), False


def concatenate(w: Tensor, content: Tensor, positions: Tensor) -> float:
    """Return the relative difference of [x p] [W; W] to (x + p) W."""
    joint = F.linear(torch.cat((content, positions), dim=-1), torch.cat((w, w), dim=-1))
    return measures.relative_difference(joint, F.linear(content + positions, w))


def pad(trace: LayerTrace, layer: AttentionLayer, masked: Masked) -> list[tuple[Tensor, Tensor]]:
    """Return a layer's out (n + m, c) and weights (h, i, j) with padding of zeros, and of random vectors."""
    settings, x = trace.settings.without_painting, tensor(trace, "x")
    model = pictures.model_for(settings)
    allow = settings.allowed_cells(model, len(x) + PADDING)
    position = LayerPart(copy_to(position_for(model.stack, settings.position), torch.device("cpu")))
    noise = torch.randn(PADDING, x.shape[1], generator=torch.Generator().manual_seed(0)).to(x) * x.std()
    with torch.no_grad():
        return [
            conventions.attend_with_padding(layer, x, rows, allow, masked, position)
            for rows in (torch.zeros_like(noise), noise)
        ]


def tensor(trace: LayerTrace, name: str) -> Tensor:
    """Return a step of a trace on the CPU, without the axis of the batch.

    Raises:
        RuleError: the layer is one of cross-attention.
    """
    if pictures.model_for(trace.settings).group == "cross":
        raise RuleError("here the queries are of one text and the keys of another; choose a layer of self-attention")
    return next(step.value for step in trace.steps if step.name == name)[0].cpu()


def _trace(query: Query, settings: Settings) -> LayerTrace:
    return traces.trace_layer(settings, query.cursor.layer, "efficient")


def _attention(trace: LayerTrace, implementation: str = "efficient") -> AttentionLayer:
    layer, _ = pictures.model_for(trace.settings).run_on_stack(
        lambda stack: as_implementation(stack.block(trace.layer).attention, implementation, "cpu")
    )
    return layer
