"""Lessons on conventions that raise no error when they are mixed; their texts are in assets/step_lessons.toml."""

from collections.abc import Callable
from functools import partial
from typing import cast, get_args

import torch
from torch import Tensor

from headlight.lessons.grammar import RuleError
from headlight.lessons.quantities import swaps
from headlight.picture.traces import LayerTrace
from headlight.ui import numbers, pages, sheet
from headlight.ui.numbers import count, number
from headlight.ui.phrases import WORDS, Phrases
from headlight.ui.sheet import Block, Mark
from mha_core.attention.efficient import EfficientAttention
from mha_core.attention.sequence_first import SequenceFirstAttention
from mha_core.attention.torch_module import TorchAttention
from mha_core.measure import conventions
from mha_core.measure.measures import largest_difference, relative_difference
from mha_core.positions.rotated import permute_to_neighbours, rotate_halves, rotate_neighbours
from mha_core.token_text import isolate, quote

from . import random_layer
from .lesson import MAX_SHOWN, StepLesson, compose, matrix, shape_str

PLACE = 5  # of the vector that is rotated, in a long sentence
PAIRS = 4  # of its channels in the table
Marks = dict[tuple[int, int], Mark]


def rope_pairs(layer: LayerTrace, head: int) -> StepLesson:
    """Return the lesson on the two pairings of rotary positions."""
    own_base, x, place = swaps.rope_base(layer), swaps.tensor(layer, "q.transpose"), min(PLACE, len(layer.tokens) - 1)
    base, d, token = own_base or swaps.BASE, x.shape[2], quote(layer.tokens[place])
    ways = {pairing: swaps.rotate(layer, pairing) for pairing in conventions.PAIRINGS}
    maps = {pairing: swaps.attend(layer, q, k) for pairing, (q, k) in ways.items()}
    products = {pairing: q @ k.mT for pairing, (q, k) in ways.items()}
    changes = (maps["neighbours"] - maps["halves"]).abs().amax(dim=(1, 2))
    peak = int(changes.argmax())
    say = Phrases("rope pairs", token=token, place=place, head=head, d=d, base=int(base), most=peak)
    vectors = []
    for m in range(min(PAIRS, d // 2)):
        vectors.append([place / base ** (2 * m / d)])
        for q, pair in ((ways["halves"][0], [m, m + d // 2]), (ways["neighbours"][0], [2 * m, 2 * m + 1])):
            channels = (", ".join(number(float(value), 2) for value in y[head, place, pair]) for y in (x, q))
            vectors[-1] += [f"{pair[0]}, {pair[1]}", *channels]
    results = [
        [
            say(name),
            y[head, place, 0],
            largest_difference(y, products["halves"]),
            largest_difference(maps[name], maps["halves"]),
        ]
        for name, y in products.items()
    ]
    pictures = _maps(layer, head, {say(name): maps[name] for name in ("halves", "neighbours")})
    table = say.table("results", results, {(1, 0): "good", (2, 0): "bad"})
    reason = sheet.text(say("reason", change=number(float(changes[peak])), own=number(float(changes[head]))))
    content = [sheet.row([say.table("vector", vectors), *pictures]), sheet.row([table, reason])]
    training = say("untrained" if own_base is None or layer.random_layer else "trained")
    return compose(say, content, rotate_halves, rotate_neighbours, permute_to_neighbours, more=training)


def grouped_heads(layer: LayerTrace, head: int, groups: int = 0) -> StepLesson:
    """Return the lesson on shared key heads, repeated or tiled; `groups` of them in a layer that shares none."""
    q, k = swaps.share_keys(layer, groups)
    h, g = len(q), len(k)
    readers = {order: conventions.key_heads(h, g, order) for order in get_args(conventions.Order)}
    maps = {order.capitalize(): swaps.attend(layer, q, k[heads]) for order, heads in readers.items()}
    changes = (maps["Tiled"] - maps["Repeated"]).abs().amax(dim=(1, 2))
    rows = [[n, *(int(heads[n]) for heads in readers.values()), changes[n]] for n in range(h)]
    marks: Marks = {(n, 2): "good" if row[1] == row[2] else "bad" for n, row in enumerate(rows)}
    wrong = [*marks.values()].count("bad")
    is_shared = g == len(swaps.tensor(layer, "k.transpose")) < h
    counts = [] if is_shared else conventions.group_counts(h)
    choices = sheet.buttons("Key heads", [(str(n), {"lesson": f"grouped heads {n}"}, n == g) for n in counts])
    queries, keys = count(h, "query head"), count(g, "key head")
    say = Phrases("grouped heads", times=h // g, queries=queries, keys=keys, h=h, wrong=wrong, change=changes.max())
    table, reason = say.table("readers", rows, marks), sheet.text(say("reason" if wrong else "same"))
    origin = say("one" if h == 1 else "shared" if is_shared else "own")
    content = [*[choices][: len(counts)], sheet.row([table, *_maps(layer, head, maps), reason])]
    return compose(say, content, conventions.key_heads, more=origin)


def batch_first(layer: LayerTrace, head: int) -> StepLesson:
    """Return the lesson on a batch (b, n, c) in a layer that takes (n, b, c)."""
    attention = cast(SequenceFirstAttention, random_layer.attention(layer, "sequence_first"))
    pair, second = swaps.sentence_pair(layer)
    (_, right, right_out), (weights, wrong, out) = (
        swaps.mix_batch(attention, pair, layout) for layout in get_args(conventions.Layout)
    )
    n, text = pair.shape[1], quote(numbers.cut(second.settings.text))
    say = Phrases("batch first", head=head, n=n, shape=shape_str(pair), second=text)
    layouts = [
        [f"length first: {shape_str(pair.transpose(0, 1))}", shape_str(right_out), 0, right],
        [f"batch first: {shape_str(pair)}", shape_str(out), weights[0, 1].mean(), wrong],
    ]
    places = [
        [place, isolate(layer.tokens[place]), isolate(second.tokens[place]), *weights[..., place, head].flatten()]
        for place in range(min(MAX_SHOWN, n))
    ]
    torch_result = say("shared")
    if attention.n_kv_heads == attention.n_heads:
        module = cast(TorchAttention, random_layer.attention(layer, "torch")).module
        module.batch_first = False
        apart = relative_difference(module(pair, pair, pair, need_weights=False)[0], out)
        torch_result = say("torch", apart=numbers.difference(apart))
    table = say.table("layouts", layouts, {(0, 0): "good", (1, 0): "bad"})
    reason = sheet.text(f"{say('reason')} {torch_result}")
    return compose(say, [table, sheet.row([say.table("places", places), reason])], conventions.attend_in_layout)


def add_or_concatenate(layer: LayerTrace, head: int) -> StepLesson:
    """Return the lesson on positions that are added to the content, or stand beside it."""
    attention = cast(EfficientAttention, random_layer.attention(layer, "efficient"))
    content, positions, is_own = swaps.separate_positions(layer)
    parts = conventions.position_parts(attention, content, positions)
    exact = conventions.position_parts(attention, content + positions, torch.zeros_like(positions))
    gap = largest_difference(torch.stack([*parts.values()]).sum(dim=0), exact["content", "content"])
    apart = swaps.concatenate(attention.query.weight, content, positions)
    say = Phrases("add or concatenate", head=head, layer=layer.layer, apart=apart, gap=gap, more=attention.d_model**2)
    spreads = {" → ".join(pair): part.std(dim=-1, correction=0).mean(dim=-1) for pair, part in parts.items()}
    table = say.table("spread", [[name, spread[head], spread.mean()] for name, spread in spreads.items()])
    labels = layer.tokens[:MAX_SHOWN]
    tenths = partial(numbers.number, decimals=1)
    signed = partial(sheet.matrix, rows=labels, cols=labels, axes="", colour="signed", compact=True, write=tenths)
    cells = [part[head, :MAX_SHOWN, :MAX_SHOWN].tolist() for part in parts.values()]
    blocks = [sheet.row([table, sheet.text(say("reason"))]), sheet.row(list(map(signed, spreads, cells)))]
    return compose(say, blocks, conventions.position_parts, more=say("own" if is_own else "waves"))


def padding_rows(layer: LayerTrace, head: int) -> StepLesson:
    """Return the lesson on rows of padding, which keep weights and do no harm."""
    attention, n = random_layer.attention(layer, "efficient"), len(layer.tokens)
    results = {masked: swaps.pad(layer, attention, masked) for masked in get_args(conventions.Masked)}
    sizes = {"n": count(n, "token"), "m": count(swaps.PADDING, "row")}
    say, rows = Phrases("padding rows", head=head, **sizes), []
    for masked, ((out, weights), (other, _)) in results.items():
        change, padding_change = (largest_difference(other[part], out[part]) for part in (slice(n), slice(n, None)))
        lost = weights[:, :n, n:].sum(dim=-1).max()
        rows.append([say(masked), change, lost, weights[head, n].sum(), padding_change])
    marks: Marks = {(number, 1): "bad" if row[1] else "good" for number, row in enumerate(rows)}
    weights = results["keys"][0][1][head]
    places = [*range(min(n, MAX_SHOWN - 2)), n, n + 1]
    labels = [*layer.tokens[: MAX_SHOWN - 2], "[PAD]", "[PAD]"]
    cells, sums = weights[places][:, places].tolist(), weights[places].sum(dim=-1).tolist()
    picture = sheet.attention_map(say("keys"), labels, cells, sums=sums, decimals=2)
    reason = sheet.text(say("reason", more="" if rows[-1][1] else say("causal")))
    link = pages.link("masks", ("s", layer.settings.text), ("model", layer.settings.model))
    content = [say.table("changes", rows, marks), sheet.row([picture, reason]), sheet.links([(say("link"), link)])]
    return compose(say, content, conventions.attend_with_padding)


def _maps(layer: LayerTrace, head: int, maps: dict[str, Tensor]) -> list[Block]:
    return [matrix(f"{name}: head {head}", weights[head], layer.tokens) for name, weights in maps.items()]


LESSONS: dict[str, Callable[..., StepLesson]] = {
    "rope pairs": rope_pairs,
    "grouped heads": grouped_heads,
    "batch first": batch_first,
    "add or concatenate": add_or_concatenate,
    "padding rows": padding_rows,
}


def answer(name: str, layer: LayerTrace, head: int, *groups: int) -> StepLesson:
    """Return a lesson by its name, or a sentence on why this layer cannot have it."""
    try:
        return LESSONS[name](layer, head, *groups)
    except RuleError as error:
        return StepLesson(WORDS[name]["question"], "", f"{numbers.capital(str(error))}.", [], "")
