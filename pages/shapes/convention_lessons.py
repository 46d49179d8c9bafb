"""Lessons on conventions that raise no error when two are mixed: rotary pairs, shared heads, axes, positions, padding."""

from collections.abc import Callable

import torch
from torch import Tensor

from headlight.lessons.grammar import RuleError
from headlight.lessons.quantities import conventions as quantities
from headlight.lessons.quantities.conventions import BASE, PADDING
from headlight.picture import pictures
from headlight.picture.traces import LayerTrace
from headlight.ui import numbers, pages, sheet
from headlight.ui.numbers import count, number
from headlight.ui.sheet import Block, Mark
from mha_core.attention.sequence_first import SequenceFirstAttention
from mha_core.measure import agreement, conventions, measures
from mha_core.positions.rotated import permute_to_neighbours, rotate_halves, rotate_neighbours
from mha_core.token_text import isolate, quote

from . import random_layer
from .lesson import MAX_SHOWN, StepLesson, matrix, shape_str, source_code

PAIRS = 4  # of channels, in the table
SHOWN_POSITION = 5  # of the vector that is rotated, if the sentence is as long


def rope_pairs(layer: LayerTrace, head: int) -> StepLesson:
    """Return the lesson on the two pairings of rotary positions, on this layer's q and k."""
    base, tokens = quantities.rope_base(layer), layer.tokens
    place = min(SHOWN_POSITION, len(tokens) - 1)
    before = quantities.value(layer, "q.transpose")
    ways = {pairing: quantities.rotated(layer, pairing) for pairing in conventions.PAIRINGS}
    scores = {pairing: conventions.scores(q, k) for pairing, (q, k) in ways.items()}
    maps = {pairing: quantities.attend(layer, q, k) for pairing, (q, k) in ways.items()}
    d = before.shape[-1]
    rows = []
    for m in range(min(PAIRS, d // 2)):
        pairs = {"halves": [m, m + d // 2], "neighbours": [2 * m, 2 * m + 1]}
        cells = [
            cell
            for name, pair in pairs.items()
            for cell in (f"{pair[0]}, {pair[1]}", _pair(before[head, place, pair]), _pair(ways[name][0][head, place, pair]))  # type: ignore[index]
        ]
        rows.append([str(m), f"{number(place / (base or BASE) ** (2 * m / d), 2)} rad", *cells])
    header = ["pair", "angle", "halves", "before", "after", "neighbours", "before", "after"]
    caption = f"The query of {quote(tokens[place])} at position {place}, head {head}: the first pairs of {d} channels."
    names = {
        "halves": "halves",
        "permuted": "neighbours, channels of q and k permuted",
        "neighbours": "neighbours, q and k as they are",
    }
    results = [
        [
            names[pairing],
            number(float(scores[pairing][head, place, 0] * d**0.5)),
            numbers.difference(measures.largest_difference(scores[pairing], scores["halves"])),
            numbers.difference(measures.largest_difference(maps[pairing], maps["halves"])),
        ]
        for pairing in names
    ]
    change = (maps["neighbours"] - maps["halves"]).abs().amax(dim=(1, 2))
    if base is None or layer.random_layer:
        trained = (
            f"These weights were not trained with a rotation, so neither pairing is theirs: their q and k are rotated "
            f"here with base {base or BASE:,.0f}, to show the numbers."
        )
    else:
        trained = f"This model was trained with halves, base {base:,.0f}."
    text = (
        "Rotary positions turn channels in pairs. rotate_half of Hugging Face pairs channel m with m + d/2; the paper "
        f"and Meta’s own Llama code pair 2 m with 2 m + 1. {trained}"
    )
    reason = (
        "If W of q and k is permuted, so that channel m moves to 2 m and m + d/2 beside it, both are the same "
        "function: a dot product does not depend on the order of its channels. Converters of Llama do this. Weights "
        "for one pairing that run with the other raise no error, and the shapes fit, but weights change by up to "
        f"{number(float(change.max()), 2)} (head {int(change.argmax())}), in head {head} by {number(float(change[head]), 2)}."
    )
    header_2 = ["rotated as", "q · k of that query and the first key", "largest change of a score", "of a weight"]
    marks: dict[tuple[int, int], Mark] = {(1, 0): "good", (2, 0): "bad"}
    titles = (("Halves", "halves"), ("Neighbours, as they are", "neighbours"))
    content = [
        sheet.table(header, rows, caption),
        sheet.table(header_2, results, "Over all heads and cells, against halves.", marks),
        sheet.text(reason),
        sheet.row([matrix(f"{title}: head {head}", maps[name][head], tokens) for title, name in titles]),  # type: ignore[index]
    ]
    source = source_code(rotate_halves, rotate_neighbours, permute_to_neighbours)
    return StepLesson("One vector, two pairings", "rotate_half or neighbours", text, content, source)


def grouped_heads(layer: LayerTrace, head: int, groups: int = 0) -> StepLesson:
    """Return the lesson on key heads that are repeated or tiled for the query heads; `groups` for a model without."""
    q, k = quantities.grouped(layer, groups)
    h, g = len(q), len(k)
    is_grouped = any(step.name == "k.shared" for step in layer.steps)
    readers = {order: conventions.key_heads(h, g, order) for order in ("repeated", "tiled")}  # type: ignore[arg-type]
    maps = {order: quantities.attend(layer, q, k[heads]) for order, heads in readers.items()}
    change = (maps["tiled"] - maps["repeated"]).abs().amax(dim=(1, 2))
    fits = readers["tiled"] == readers["repeated"]
    rows = [
        [str(n), *(str(int(heads[n])) for heads in readers.values()), numbers.difference(float(change[n]))]
        for n in range(h)
    ]
    marks: dict[tuple[int, int], Mark] = {(n, 2): "good" if fits[n] else "bad" for n in range(h)}
    if is_grouped:
        origin = f"This layer has {count(h, 'query head')} and {count(g, 'key head')}, trained for repeated key heads."
    else:
        origin = (
            f"This layer has a key head for each of its {count(h, 'query head')}. Here {count(g, 'key head')} serve "
            "them, each the mean of its group, as in the conversion by Ainslie et al. 2023."
        )
    text = (
        f"Several query heads can share a key head, which must then be written out {h // g} times. "
        f"repeat_interleave makes h0 h0 h1 h1, tile (or torch’s repeat) h0 h1 h0 h1. {origin}"
    )
    reason = (
        f"Both have {h} key heads of one shape, so no error is raised. Tiled, {count(int((~fits).sum()), 'query head')} "
        f"of {h} read the keys of another group, and weights change by up to {number(float(change.max()), 2)}."
        if bool((~fits).any())
        else "With these numbers of heads both orders are the same."
    )
    header = ["query head", "repeated: key head", "tiled: key head", "largest change of a weight"]
    table = sheet.table(header, rows, "Which key head each query head reads. Only one order is the trained one.", marks)
    pictures_ = [matrix(f"{order.capitalize()}: head {head}", maps[order][head], layer.tokens) for order in readers]
    choices: list[Block] = []
    if not is_grouped and (counts := conventions.group_counts(h)):
        events = [(str(n), {"lesson": f"grouped heads {n}"}, n == g) for n in counts]
        choices = [sheet.buttons("Key heads", events)]
    content = [*choices, sheet.row([table, *pictures_]), sheet.text(reason)]
    return StepLesson("Who reads which key head?", "repeat or tile", text, content, source_code(conventions.key_heads))


def batch_first(layer: LayerTrace, head: int) -> StepLesson:
    """Return the lesson on a batch (b, n, c) in a layer that takes (n, b, c)."""
    attention = random_layer.attention(layer, "sequence_first")
    assert isinstance(attention, SequenceFirstAttention)
    batch, others = quantities.batch_of_two(layer)
    changed = torch.stack((batch[0], torch.zeros_like(batch[1])))
    weights = attention.save()
    full = conventions.with_key_head_each(weights, attention.n_heads)
    twin = agreement.load_layer("torch", full, attention.n_heads)
    module = next(part for part in twin.modules() if isinstance(part, torch.nn.MultiheadAttention))
    layouts = ("length first", "batch first")
    with torch.no_grad():
        outs, maps = zip(*(conventions.attend_in_layout(attention, batch, layout) for layout in layouts), strict=True)  # type: ignore[arg-type]
        moved = [conventions.attend_in_layout(attention, changed, layout)[0] for layout in layouts]  # type: ignore[arg-type]
        theirs = conventions.torch_batch_second(module.to(batch), batch)
    n = batch.shape[1]
    wrong = maps[1][..., head]  # (sentence i, sentence j, token)
    rows = [
        [str(t), isolate(layer.tokens[t]), isolate(others[t]), *(number(float(wrong[i, j, t]), 2) for i in (0, 1) for j in (0, 1))]
        for t in range(min(n, MAX_SHOWN))
    ]
    shape = shape_str(batch)
    results = [
        [
            f"{layout}: {shape_str(batch.transpose(0, 1) if layout == 'length first' else batch)}",
            shape_str(out),
            number(float(0 if layout == "length first" else maps[1][0, 1].mean()), 2),
            numbers.difference(measures.largest_difference(out[0], change[0])),
        ]
        for layout, out, change in zip(layouts, outs, moved, strict=True)
    ]
    text = (
        "nn.MultiheadAttention takes (length, batch, c) unless batch_first=True, and so does the layer here, which has "
        f"the weights of this layer. The batch {shape} holds what enters the layer for this sentence and for "
        f"{quote(numbers.cut(quantities.second_sentence(layer.settings.text)))}. Computed without mask, and without "
        "positions inside the layer."
    )
    reason = (
        f"The same shapes come out and no error is raised. But the layer takes the {len(batch)} sentences for the "
        f"tokens of a text, and the {count(n, 'token')} for its batch: the word at place t attends to the word at "
        f"place t of the other sentence, and never to its own. torch’s nn.MultiheadAttention with these weights does the "
        f"same: relative difference {numbers.difference(measures.relative_difference(theirs, outs[1]))}."
    )
    marks: dict[tuple[int, int], Mark] = {(0, 0): "good", (1, 0): "bad"}
    header = ["given as", "out", "mean weight on the other sentence", "change if the other sentence is 0"]
    cells = ["place", "first", "second", "1st → 1st", "1st → 2nd", "2nd → 1st", "2nd → 2nd"]
    caption = f"Given as it is: the weights of head {head} between the two sentences, place by place."
    content = [
        sheet.table(header, results, "Of the first sentence: its shape, and what it takes from the second.", marks),
        sheet.row([sheet.table(cells, rows, caption), sheet.text(reason)]),
    ]
    source = source_code(conventions.attend_in_layout, conventions.torch_batch_second)
    return StepLesson("Attention across the batch", "batch_first", text, content, source)


def add_or_concatenate(layer: LayerTrace, head: int) -> StepLesson:
    """Return the lesson on positions that are added to the content, or stand beside it."""
    content, position, is_own = quantities.content_and_positions(layer)
    attention = random_layer.attention(layer, "efficient")
    weights, c = attention.save(), attention.d_model
    parts = conventions.position_parts(weights, attention.n_heads, content, position)
    w = weights.q
    added = conventions.add_positions(content, position, w)
    beside = conventions.concatenate_positions(content, position, w, w)
    apart = measures.relative_difference(beside, added)
    total = sum(parts.values(), torch.zeros(()))
    exact = conventions.position_parts(weights, attention.n_heads, content + position, torch.zeros_like(position))
    gap = measures.largest_difference(total, exact["content", "content"])
    spread = {pair: part.std(dim=-1, correction=0).mean(dim=-1) for pair, part in parts.items()}
    rows = [
        [f"{ask} → {offer}", number(float(values[head]), 2), number(float(values.mean()), 2)]
        for (ask, offer), values in spread.items()
    ]
    if is_own:
        origin = (
            f"Here x is what enters layer {layer.layer} without positions, and p is what the positions of this model "
            "change in it."
        )
    else:
        origin = (
            "This picture adds no positions before the first layer, so p is the table of sinusoids, as large as the "
            f"input x of layer {layer.layer}."
        )
    text = (
        f"Most models add a vector of the position, x + p; another way is to put it beside the embedding, [x p]. {origin} "
        "By linearity (x + p) W = x W + p W, and [x p] [W1; W2] = x W1 + p W2. So adding is the case W1 = W2 of "
        f"concatenating: relative difference for this layer’s queries {numbers.difference(apart)}."
    )
    reason = (
        f"A score of x + p is the sum of four: content asks content, content asks position, and so on (largest "
        f"difference {numbers.difference(gap)}). Concatenating can give positions a matrix of their own and costs "
        f"{c * c:,} more numbers for each of q, k and v, and wider inputs; adding costs none."
    )
    caption = "How much each part differs between keys: standard deviation in a row of scores, mean of the rows."
    table = sheet.table(["query → key", f"head {head}", "mean of all heads"], rows, caption)
    maps = [_signed(f"{ask} → {offer}", part[head], layer.tokens) for (ask, offer), part in parts.items()]
    content_blocks = [sheet.row([table, sheet.text(reason)]), sheet.row(maps)]
    source = source_code(
        conventions.add_positions, conventions.concatenate_positions, conventions.position_parts, conventions.scores
    )
    return StepLesson("Positions, added or beside", f"scores of head {head}, in four parts", text, content_blocks, source)


def padding_rows(layer: LayerTrace, head: int) -> StepLesson:
    """Return the lesson on rows of padding, which keep weights and do no harm."""
    attention, n = random_layer.attention(layer, "efficient"), len(layer.tokens)
    names = {
        "keys": "keys of padding (key_padding_mask)",
        "rows and keys": "rows and keys of padding",
        "nothing": "nothing",
    }
    rows = []
    for masked, name in names.items():
        (out, weights), (other, _) = quantities.padded(layer, attention, masked)  # type: ignore[arg-type]
        sums = weights[head, n:].sum(dim=-1)
        rows.append(
            [
                name,
                numbers.difference(measures.largest_difference(other[:n], out[:n])),
                numbers.weight(float(weights[:, :n, n:].sum(dim=-1).max())),
                number(float(sums.mean()), 2),
                numbers.difference(measures.largest_difference(other[n:], out[n:])),
            ]
        )
        if masked == "keys":
            tokens = [*layer.tokens[: MAX_SHOWN - 2], *["[PAD]"] * 2]
            places = [*range(min(n, MAX_SHOWN - 2)), n, n + 1]
            shown = weights[head][places][:, places]
            picture = sheet.attention_map(
                f"Keys masked: head {head}", tokens[: len(places)] if n >= MAX_SHOWN - 2 else [*layer.tokens, "[PAD]", "[PAD]"],
                shown.tolist(), sums=weights[head].sum(dim=-1)[places].tolist(), decimals=2,
            )  # fmt: skip
    text = (
        f"{count(PADDING, 'row')} of padding stand behind the {count(n, 'token')} of this sentence, once as zeros, once "
        "as random vectors. If nothing but the keys of padding is masked, its rows keep weights: they attend to the "
        "real tokens and get outputs, which nobody reads."
    )
    is_causal = pictures.model_for(layer.settings).own_mask == "causal"
    harmless = rows[2][1] == "0"
    reason = (
        "No real row has a weight on padding, so its content cannot reach them, in this layer or the next, which masks "
        "the same keys again. Masking the rows too changes no real row; it leaves them without any key, where a plain "
        f"softmax of −∞ is {numbers.outcome(float(torch.full((2,), -torch.inf).softmax(0)[0]))}. The loss and the mean over tokens must leave these rows out."
    )
    if harmless:
        cause = "this model’s own mask" if is_causal else "the mask of this page"
        reason += f" Here even without a padding mask nothing changes: {cause} blocks the keys behind every real token."
    header = ["masked", "largest change of a real row", "weight on padding", "sum of a padding row", "change of padding rows"]
    marks: dict[tuple[int, int], Mark] = {(0, 1): "good", (1, 1): "good", (2, 1): "good" if harmless else "bad"}
    table = sheet.table(header, rows, "When zeros are replaced by random vectors; weights of all heads, at most.", marks)
    link = sheet.links([("The whole model, in a batch with another sentence", pages.link("masks", ("s", layer.settings.text), ("model", layer.settings.model)))])
    source = source_code(conventions.attend_with_padding)
    content = [table, sheet.row([picture, sheet.text(reason)]), link]
    return StepLesson("Padding rows do no harm", "key_padding_mask", text, content, source)


def _pair(values: Tensor) -> str:
    return ", ".join(number(float(one), 2) for one in values)


def _signed(name: str, values: Tensor, tokens: list[str]) -> Block:
    n = min(len(tokens), MAX_SHOWN)
    note = f"the first {n} of {len(tokens)} tokens" if n < len(tokens) else ""
    labels, write = tokens[:n], lambda value: f"{value:.1f}".replace("-", "−")
    return sheet.matrix(
        name,
        values[:n, :n].tolist(),
        rows=labels,
        cols=labels,
        axes="",
        write=write,
        colour="signed",
        compact=True,
        note=note,
    )


# name of a lesson in a link -> its question
QUESTIONS = {
    "rope pairs": "Which channels does RoPE pair?",
    "grouped heads": "Who reads which shared head?",
    "batch first": "What if batch and length are swapped?",
    "add or concatenate": "Add positions, or concatenate?",
    "padding rows": "Do rows of padding do harm?",
}
LESSONS: dict[str, Callable[..., StepLesson]] = dict(
    zip(QUESTIONS, [rope_pairs, grouped_heads, batch_first, add_or_concatenate, padding_rows], strict=True)
)


def answer(name: str, layer: LayerTrace, head: int, *groups: int) -> StepLesson:
    """Return a lesson by its name, or a sentence on why this layer cannot have it."""
    try:
        quantities.check_one_text(layer)
        return LESSONS[name](layer, head, *groups)
    except RuleError as error:
        return StepLesson(QUESTIONS[name], "", f"{numbers.capital(str(error))}.", [], "")
