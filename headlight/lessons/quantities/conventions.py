"""Quantities of conventions that raise no error when they are mixed, on the layer of a page; see the lessons of Shapes."""

from dataclasses import replace
from typing import Literal, cast

import torch
from torch import Tensor

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import pictures, traces, words
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.picture.traces import LayerTrace
from mha_core.attention import AttentionLayer, as_implementation
from mha_core.attention.sequence_first import SequenceFirstAttention
from mha_core.device import copy_to
from mha_core.measure import conventions, measures
from mha_core.measure.conventions import Layout, Masked, Order, Pairing
from mha_core.models.inputs import position_for
from mha_core.positions import LayerPart, Rotary
from mha_core.positions.added import sinusoids

BASE = 10_000.0  # of the angles, for a model that does not rotate
PADDING = 3  # rows
Part = Literal["content", "position"]


def rope_scores(query: Query, settings: Settings, pairing: Pairing) -> Value:
    """Return `rope_scores("neighbours")`, (h, i, j): scores of the layer's q and k, rotated in these pairs."""
    trace = _trace(query, settings)
    return Value.from_tensor(conventions.scores(*rotated(trace, pairing)), "h i j", trace.tokens)


def rope_maps(query: Query, settings: Settings, pairing: Pairing) -> Value:
    """Return `rope_maps("neighbours")`, (h, i, j): weights of the layer's q and k, rotated in these pairs."""
    trace = _trace(query, settings)
    return Value.from_tensor(attend(trace, *rotated(trace, pairing)), "h i j", trace.tokens)


def rope_queries(query: Query, settings: Settings, pairing: Pairing) -> Value:
    """Return `rope_queries("halves")`, (h, i, c): the layer's queries, rotated in these pairs."""
    trace = _trace(query, settings)
    return Value.from_tensor(rotated(trace, pairing)[0], "h i c", trace.tokens)


def key_heads(query: Query, settings: Settings, order: Order, groups: int = 0) -> Value:
    """Return `key_heads("tiled", 3)`, (h): which key head each query head reads, of 3 or of the model's own."""
    q, k = grouped(_trace(query, settings), groups)
    return Value.from_tensor(conventions.key_heads(len(q), len(k), order), "h")


def grouped_maps(query: Query, settings: Settings, order: Order, groups: int = 0) -> Value:
    """Return `grouped_maps("tiled", 3)`, (h, i, j): the weights with key heads in this order, as in `key_heads`."""
    trace = _trace(query, settings)
    return Value.from_tensor(grouped_weights(trace, order, groups), "h i j", trace.tokens)


def across_batch(query: Query, settings: Settings, layout: Layout, measure: Literal["weight", "change"]) -> Value:
    """Return `across_batch("batch first", "weight")`: the mean weight on the other sentence of a batch of two.

    With "change" it is the largest change of an output when the other sentence is set to 0. The layer takes (length,
    batch, c).
    """
    trace = _trace(query, settings)
    layer = cast(SequenceFirstAttention, _attention(trace, "sequence_first"))
    batch, _ = batch_of_two(trace)
    out, weights = conventions.attend_in_layout(layer, batch, layout)
    if measure == "weight":
        return Value.number(0.0 if layout == "length first" else float(weights[0, 1].mean()))
    alone = torch.stack((batch[0], torch.zeros_like(batch[1])))
    changed, _ = conventions.attend_in_layout(layer, alone, layout)
    return Value.number(measures.largest_difference(out[0], changed[0]))


def score_parts(query: Query, settings: Settings, ask: Part, offer: Part) -> Value:
    """Return `score_parts("content", "position")`, (h, i, j): the scores of the content's q and the positions' k."""
    trace = _trace(query, settings)
    layer = _attention(trace, "efficient")
    parts = conventions.position_parts(layer.save(), layer.n_heads, *content_and_positions(trace)[:2])
    return Value.from_tensor(parts[ask, offer], "h i j", trace.tokens)


def concatenated(query: Query, settings: Settings) -> Value:
    """Return `concatenated`: the relative difference of [x p] [W; W] to (x + p) W, for the queries' W."""
    trace = _trace(query, settings)
    content, position, _ = content_and_positions(trace)
    w = _attention(trace, "efficient").save().q
    together = conventions.concatenate_positions(content, position, w, w)
    return Value.number(measures.relative_difference(together, conventions.add_positions(content, position, w)))


def padding_change(query: Query, settings: Settings, masked: Masked) -> Value:
    """Return `padding_change("keys")`: the largest change of a real row's output when padding gets other content.

    Masked are its "keys", "nothing", or its "rows and keys".
    """
    trace = _trace(query, settings)
    outs = [out for out, _ in padded(trace, _attention(trace, "efficient"), masked)]
    return Value.number(measures.largest_difference(*(out[:-PADDING] for out in outs)))


def padding_sums(query: Query, settings: Settings, masked: Masked) -> Value:
    """Return `padding_sums("keys")`, (h, i): the sums of the weights in the rows of padding."""
    trace = _trace(query, settings)
    (_, weights), _ = padded(trace, _attention(trace, "efficient"), masked)
    return Value.from_tensor(weights[:, -PADDING:].sum(dim=-1), "h i")


def attend(trace: LayerTrace, q: Tensor, k: Tensor) -> Tensor:
    """Return the weights (h, i, j) of q and k under the mask of a picture, at temperature 1."""
    allow = trace.settings.allowed_cells(pictures.model_for(trace.settings), len(trace.tokens))
    return conventions.softmax(conventions.scores(q, k), allow)


def rope_base(trace: LayerTrace) -> float | None:
    """Return the base of the model's own rotation, None without one."""
    position = pictures.model_for(trace.settings).stack.position
    return position.base if isinstance(position, Rotary) else None


def rotated(trace: LayerTrace, pairing: Pairing) -> tuple[Tensor, Tensor]:
    """Return q and k of a layer, each (h, n, d), rotated in these pairs.

    Raises:
        RuleError: a head has an odd number of channels.
    """
    q, k = (value(trace, f"{name}.transpose") for name in "qk")
    if q.shape[-1] % 2:
        raise RuleError(f"a head of {q.shape[-1]} channels has no pairs")
    k = k[conventions.key_heads(len(q), len(k), "repeated")]
    base = rope_base(trace) or BASE
    return conventions.rotate(q, base, pairing), conventions.rotate(k, base, pairing)


def grouped(trace: LayerTrace, groups: int = 0) -> tuple[Tensor, Tensor]:
    """Return q (h, i, d) and k (g, j, d) of a layer: its own key heads, or the means of so many groups.

    Raises:
        RuleError: so many key heads cannot serve the query heads equally.
    """
    q, names = value(trace, "q"), {step.name for step in trace.steps}
    if "k.shared" in names:
        return q, value(trace, "k.shared")
    counts = conventions.group_counts(len(q))
    groups = groups or max((count for count in counts if count**2 <= len(q)), default=1)
    if groups not in {*counts, len(q)}:
        raise RuleError(f"{groups} key heads cannot serve {len(q)} query heads equally")
    return q, conventions.mean_of_groups(value(trace, "k"), groups)


def grouped_weights(trace: LayerTrace, order: Order, groups: int = 0) -> Tensor:
    """Return the weights (h, i, j) of a layer with its key heads in this order."""
    q, k = grouped(trace, groups)
    return attend(trace, q, k[conventions.key_heads(len(q), len(k), order)])


def second_sentence(text: str) -> str:
    """Return the words of a sentence in reverse order, or the characters of a single word."""
    return " ".join(reversed(text.split())) if " " in text.strip() else text[::-1]


def batch_of_two(trace: LayerTrace) -> tuple[Tensor, list[str]]:
    """Return what enters the layer for a sentence and for its words in reverse order, (2, n, c), and the second's tokens."""
    settings = replace(trace.settings.baseline, text=second_sentence(trace.settings.text))
    other = traces.trace_layer(settings, trace.layer, "efficient")
    both = [value(trace, "x"), value(other, "x")]
    n = min(map(len, both))
    return torch.stack([x[:n] for x in both]), other.tokens[:n]


def content_and_positions(trace: LayerTrace) -> tuple[Tensor, Tensor, bool]:
    """Return the layer's input without positions and what the positions change, each (n, c).

    The last value says whether the picture adds positions. Without them the second are sinusoids of the size of the
    input, and the first is the input as it is.
    """
    x, settings = value(trace, "x"), trace.settings
    if "add" in words.position_places(settings.position, pictures.model_for(settings)):
        content = value(traces.trace_layer(replace(settings, position="none"), trace.layer, "efficient"), "x")
        return content, x - content, True
    n, c = x.shape
    waves = sinusoids(n, c + c % 2)[:, :c].to(x)
    return x, waves * (x.square().mean() / waves.square().mean()).sqrt(), False


def padded(trace: LayerTrace, layer: AttentionLayer, masked: Masked) -> list[tuple[Tensor, Tensor]]:
    """Return output (n + m, c) and weights (h, i, j) of a layer for two contents of padding: zeros, and random."""
    settings, x = trace.settings.without_painting, value(trace, "x")
    model, n = pictures.model_for(settings), len(x) + PADDING
    allow = settings.allowed_cells(model, n)
    position = LayerPart(copy_to(position_for(model.stack, settings.position), torch.device("cpu")))
    noise = torch.randn(PADDING, x.shape[1], generator=torch.Generator().manual_seed(0)).to(x) * x.std()
    with torch.no_grad():
        return [
            conventions.attend_with_padding(layer, x, padding, allow, masked, position)
            for padding in (torch.zeros_like(noise), noise)
        ]


def value(trace: LayerTrace, name: str) -> Tensor:
    """Return a step of a trace on the CPU, without the axis of the batch."""
    return next(step.value for step in trace.steps if step.name == name)[0].cpu()


def check_one_text(trace: LayerTrace) -> None:
    """Raise a RuleError if the queries of a layer are of another text than its keys."""
    if pictures.model_for(trace.settings).group == "cross":
        raise RuleError("here the queries are of one text and the keys of another; choose a layer of self-attention")


def _trace(query: Query, settings: Settings) -> LayerTrace:
    trace = traces.trace_layer(settings, query.cursor.layer, "efficient")
    check_one_text(trace)
    return trace


def _attention(trace: LayerTrace, implementation: str) -> AttentionLayer:
    layer, _ = pictures.model_for(trace.settings).run_on_stack(
        lambda stack: as_implementation(stack.block(trace.layer).attention, implementation, "cpu")
    )
    return layer
