"""The worked examples of By hand as blocks: every step, computed from what the visitor set. No streamlit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS
from mha_core.measure.by_hand import LARGEST_EXPONENT, Stages, softmax_steps, weights_of
from pages.kit.draw import sheet
from pages.kit.draw.sheet import Block

from .codec import Matrix
from .state import MASKS, SIZES, TOKENS, Given, distinct

__all__ = ["EXAMPLES", "Example", "cut_cells", "one_head", "stacked", "two_heads", "two_sentences"]

EDITABLE = "every number in a frame can be changed; rows and columns count from 0"
IDS = (10, 3, 5)
ONE_HOT = 0.999  # a weight above it leaves next to nothing for the others
# what the post prints
PRINTED: Matrix = ((0.38, 0.26, 0.35), (0.23, 0.48, 0.29), (0.38, 0.34, 0.28))
OUTPUT: Matrix = ((2.0630, 2.1630), (2.1523, 2.2523), (2.0020, 2.1020))

Pair = Sequence[str]
_TWO, _FOUR = ("0", "1"), ("0", "1", "2", "3")


def one_head(given: Given) -> list[Block]:
    """Three words, two numbers each, one head."""
    ids = ", ".join(f"{token} {id_}" for token, id_ in zip(TOKENS, IDS, strict=True))
    x = given.block(
        "x", "x", TOKENS, _TWO, "i c", f"Embeddings. Token ids: {ids}; an embedding table has a row for each id."
    )
    if not given.products:
        note = "As the post takes them: made up, not computed from x." if given.is_default("s") else ""
        scores, v = given["s"], given["x"]
        inputs = [x, given.block("s", "scores", TOKENS, TOKENS, "i j", note)]
        between = []
    else:
        q, k, v = (given["x"] @ given[f"w{name}"] for name in "qkv")
        scores = q @ k.T
        inputs = [x, *_projections(given, "")]
        between = [
            sheet.panel("Queries, keys, values", [_projected(q, k, v)]),
            _scores_panel(q, k, scores, TOKENS, TOKENS),
        ]
    done = softmax_steps(scores, v, allow=given.allow("a"), divisor=given.divisor(2))
    said = [*_sentences(done, given.allow("a"), TOKENS, TOKENS), *_as_printed(given, done)]
    start = sheet.row([sheet.panel("Inputs", [sheet.row(inputs)], EDITABLE), _mask_panel(given, "a", TOKENS, TOKENS)])
    return [start, *between, *_softmax_panels(given, done, v, TOKENS, TOKENS, said)]


def two_sentences(given: Given) -> list[Block]:
    """Queries from one sentence, keys and values from another: the map need not be square."""
    if not (given.queries and given.keys):
        return [sheet.notices(["Type at least one word for the queries and one for the keys."])]
    words = distinct(given.queries, given.keys)
    q = given["e"][[words.index(word) for word in given.queries]]
    k = given["e"][[words.index(word) for word in given.keys]]
    done = softmax_steps(q @ k.T, k, allow=given.allow("a2"), divisor=given.divisor(2))
    note = "One row a word: in both sentences it has the same numbers. No projections here: q = x, k = v = the other x."
    said = _sentences(done, given.allow("a2"), given.queries, given.keys, same=False)
    return [
        sheet.row(
            [
                sheet.panel("Embeddings", [given.block("e", "x", words, _TWO, "v c", note)], EDITABLE),
                _mask_panel(given, "a2", given.queries, given.keys),
            ]
        ),
        _scores_panel(q, k, q @ k.T, given.queries, given.keys),
        *_softmax_panels(given, done, k, given.queries, given.keys, said),
    ]


def two_heads(given: Given) -> list[Block]:
    """Four numbers a word, two heads of two: by hand head by head, and by the app's own layer."""
    x, allow = given["x4"], given.allow("a4")
    w = {name: [given[f"w{name}{head}"] for head in range(2)] for name in "qkv"}
    heads = []
    for q, k, v in zip(*([x @ own for own in w[name]] for name in "qkv"), strict=True):
        heads.append((q, k, v, softmax_steps(q @ k.T, v, allow=allow, divisor=given.divisor(2))))
    joined = torch.cat([done.mixed for *_, done in heads], dim=1)
    out = joined @ given["wo"]
    slip = "The post prints 4000 in one place where all others follow 3000; 3000 is taken."
    inputs = given.block("x4", "x", TOKENS, _FOUR, "i c", slip if given.is_default("x4") else "")
    said = [*_empty_rows(allow, TOKENS), *_not_itself(allow, TOKENS), _against_the_layer(given, w, out)]
    return [
        sheet.row(
            [
                sheet.panel("Inputs", [given.presets("x4", SIZES, "Inputs"), inputs], EDITABLE),
                _mask_panel(given, "a4", TOKENS, TOKENS),
            ]
        ),
        sheet.row([_head_panel(given, head, *parts) for head, parts in enumerate(heads)]),
        sheet.panel(
            "Joined and projected",
            [
                sheet.row(
                    [
                        _shown("joined", joined, TOKENS, _FOUR, "i c", "head 0, then head 1"),
                        given.block("wo", "Wo", _FOUR, _FOUR, "c c"),
                        _shown("out", out, TOKENS, _FOUR, "i c", "joined Wo"),
                    ],
                    ["·", "="],
                )
            ],
        ),
        *map(sheet.text, said),
    ]


def stacked(given: Given) -> list[Block]:
    """Two heads' matrices side by side are one matrix: one product instead of two."""
    x, w = given["x4"], [given["w0"], given["w1"]]
    both = torch.cat(w, dim=1)
    apart = [x @ own for own in w]
    together = x @ both
    difference = float((torch.cat(apart, dim=1) - together).abs().max())
    fields = [given.block(f"w{head}", f"W of head {head}", _FOUR, _TWO, "c d") for head in range(2)]
    inputs = sheet.row([given.block("x4", "x", TOKENS, _FOUR, "i c"), *fields])
    factors = [
        _shown("x", x, TOKENS, _FOUR, "i c"),
        _shown("both", both, _FOUR, _FOUR, "c c", "side by side"),
    ]
    product = _shown("product", together, TOKENS, _FOUR, "i c", "x · both")
    written = sheet.number(difference) if difference else "0"
    told = f"Largest difference between this product and the two joined: {written}."
    return [
        sheet.panel("Two heads, a matrix each", [given.presets("x4", SIZES, "Inputs"), inputs], EDITABLE),
        sheet.panel(
            "One product a head",
            [
                sheet.row(
                    [
                        _shown(f"head {head}", made, TOKENS, _TWO, "i d", f"x · W of head {head}")
                        for head, made in enumerate(apart)
                    ]
                )
            ],
        ),
        sheet.panel("One product for both", [sheet.row([*factors, product], ["·", "="]), sheet.text(told)]),
    ]


def cut_cells(printed: Matrix, weights: Tensor) -> list[tuple[int, int]]:
    """Where a table printed to two digits is not the rounded weight but the one whose digits were cut off."""
    return [
        (i, j)
        for i, line in enumerate(printed)
        for j, value in enumerate(line)
        if value != round(float(weights[i, j]), 2) and value == math.floor(100 * float(weights[i, j])) / 100
    ]


@dataclass(frozen=True)
class Example:
    """A worked example: its heading, a line under it, the matrices that it uses, and what makes its blocks."""

    heading: str
    note: str
    matrices: tuple[str, ...]
    blocks: Callable[[Given], list[Block]]


EXAMPLES = {
    "one head": Example(
        "One head by hand",
        "softmax of the scores row by row, then the weighted sum of the values",
        ("x", "s", "a", "wq", "wk", "wv"),
        one_head,
    ),
    "two sentences": Example(
        "Two sentences",
        "one asks, the other answers: queries from the first, keys and values from the second",
        ("e", "a2"),
        two_sentences,
    ),
    "two heads": Example(
        "Two heads by hand",
        "each projects, looks and mixes by itself; then they are joined and projected once more",
        ("x4", "a4", "wo", *(f"w{name}{head}" for name in "qkv" for head in range(2))),
        two_heads,
    ),
    "stacked weights": Example(
        "Stacked weights", "why all heads together need only one product", ("x4", "w0", "w1"), stacked
    ),
}


# ---- parts


def _shown(
    name: str,
    value: Tensor,
    rows: Pair,
    cols: Pair,
    axes: str,
    formula: str = "",
    colour: Literal["weights", "signed"] | None = None,
    sums: Tensor | None = None,
) -> Block:
    """A computed matrix."""
    added = None if sums is None else sums.flatten().tolist()
    return sheet.matrix(
        name, value.tolist(), rows=rows, cols=cols, axes=axes, formula=formula, colour=colour, sums=added
    )


def _projections(given: Given, head: str) -> list[Block]:
    size = _FOUR if head else _TWO
    return [given.block(f"w{name}{head}", f"W{name}", size, _TWO, "c d") for name in "qkv"]


def _projected(q: Tensor, k: Tensor, v: Tensor) -> Block:
    parts = (("q", q, "i"), ("k", k, "j"), ("v", v, "j"))
    return sheet.row([_shown(name, value, TOKENS, _TWO, f"{axis} d", f"x W{name}") for name, value, axis in parts])


def _scores_panel(q: Tensor, k: Tensor, scores: Tensor, rows: Pair, cols: Pair) -> Block:
    parts = [
        _shown("q", q, rows, _TWO, "i d"),
        _shown("kᵀ", k.T, _TWO, cols, "d j"),
        _shown("scores", scores, rows, cols, "i j", "q kᵀ"),
    ]
    return sheet.panel("Scores", [sheet.row(parts, ["·", "="])], "how well each query fits each key")


def _mask_panel(given: Given, name: str, rows: Pair, cols: Pair) -> Block:
    """The mask: 1 = may look."""
    cells = given.block(name, "allow", rows, cols, "i j")
    return sheet.panel(
        "Mask", [given.presets(name, MASKS, "Masks"), cells], "1: this query may look at this key; press to change"
    )


def _softmax(given: Given, done: Stages, rows: Pair, cols: Pair) -> list[Block]:
    """The steps from the scores to the weights, as far as something happens in them."""
    steps = []
    if given.divide:
        steps.append(_shown("scaled", done.scaled, rows, cols, "i j", "scores / √2"))
    if bool((done.masked == -math.inf).any()):
        steps.append(_shown("masked", done.masked, rows, cols, "i j", "−∞ if forbidden"))
    formula = "exp(score − max)" if bool(done.subtracted.any()) else "exp(score)"
    steps.append(_shown("exp", done.exps, rows, cols, "i j", formula, sums=done.sums))
    total = done.weights.sum(dim=-1)
    steps.append(_shown("weights", done.weights, rows, cols, "i j", "exp / row sum", "weights", total))
    return steps


def _softmax_panels(given: Given, done: Stages, v: Tensor, rows: Pair, cols: Pair, said: list[str]) -> list[Block]:
    steps = _softmax(given, done, rows, cols)
    output = [
        _shown("weights", done.weights, rows, cols, "i j", colour="weights"),
        _shown("v", v, cols, _TWO, "j d"),
        _shown("out", done.mixed, rows, _TWO, "i d", "weights · v"),
    ]
    return [
        sheet.panel(
            "Softmax", [sheet.row(steps, ["→"] * len(steps)), *map(sheet.text, said)], "row by row, over the keys"
        ),
        sheet.panel("Output", [sheet.row(output, ["·", "="])], "what each query takes in"),
    ]


def _head_panel(given: Given, head: int, q: Tensor, k: Tensor, v: Tensor, done: Stages) -> Block:
    scores = _shown("scores", q @ k.T, TOKENS, TOKENS, "i j", "q kᵀ")
    mixed = _shown("mixed", done.mixed, TOKENS, _TWO, "i d", "weights · v")
    steps = [scores, *_softmax(given, done, TOKENS, TOKENS), mixed]
    given_here = [sheet.row(_projections(given, str(head))), _projected(q, k, v)]
    return sheet.panel(f"Head {head}", [*given_here, sheet.row(steps), *map(sheet.text, _sharpness(done, TOKENS))])


# ---- sentences, each computed


def _sentences(done: Stages, allow: Tensor, rows: Pair, cols: Pair, *, same: bool = True) -> list[str]:
    """What must be said about a map. `same`: queries and keys are the same words."""
    own = _not_itself(allow, rows) if same else []
    return [*_empty_rows(allow, rows), *own, *_sharpness(done, rows)]


def _quoted(word: str) -> str:
    return f"“{word if len(word) <= 20 else word[:19] + '…'}”"


def _empty_rows(allow: Tensor, rows: Pair) -> list[str]:
    empty = [i for i in range(len(rows)) if not bool(allow[i].any())]
    return [f"Row {i} {_quoted(rows[i])} may look at nobody: its weights are 0, its output is 0." for i in empty]


def _not_itself(allow: Tensor, rows: Pair) -> list[str]:
    """Rows that may look at others but not at themselves."""
    found = [i for i in range(len(rows)) if not bool(allow[i, i]) and bool(allow[i].any())]
    return [
        f"Row {i} {_quoted(rows[i])} may not look at itself: its output has nothing of its own value." for i in found
    ]


def _sharpness(done: Stages, rows: Pair) -> list[str]:
    """When softmax has become all or nothing, and when exp would overflow."""
    said = []
    if done.weights.shape[1] > 1:
        top, second = done.masked.topk(2, dim=-1).values.T
        sharp = (done.weights.amax(dim=-1) > ONE_HOT) & second.isfinite()  # not those with a single key to look at
        if bool(sharp.any()):
            lead = float((top - second)[sharp].min())
            number = sheet.number(lead, 1)
            where = f"In {int(sharp.sum())} of {len(rows)} rows one weight is above {ONE_HOT}"
            left = math.exp(-lead)
            share = f"at most {sheet.number(left)}" if left else "less than 1e−300"
            rest = f"which leaves the next exp(−{number}), {share}, of its weight"
            said.append(f"{where}: its score leads the next by at least {number}, {rest}.")
    if bool(done.subtracted.any()):
        limit = f"exp of more than {LARGEST_EXPONENT} overflows in float32"
        said.append(f"Before exp the largest score of each row is taken off: {limit}, and the weights stay the same.")
    return said


def _as_printed(given: Given, done: Stages) -> list[str]:
    """How the numbers compare with what the post prints, while they come from its inputs."""
    if given.products or given.divide or not given.is_default("x", "s", "a"):
        return []
    cut = cut_cells(PRINTED, done.weights)
    cells = ", ".join(f"{TOKENS[i]} → {TOKENS[j]} ({done.weights[i, j]:.4f} as {PRINTED[i][j]})" for i, j in cut)
    farthest = float((done.weights - torch.tensor(PRINTED, dtype=torch.float64)).abs().max())
    table = f"The post prints these weights with two digits, at most {farthest:.4f} away"
    said = [f"{table}: rounded, but in {len(cut)} cells cut: {cells}." if cut else f"{table}."]
    printed = torch.tensor(OUTPUT, dtype=torch.float64)
    if bool(((done.mixed - printed).abs() < 0.5e-4).all()):
        said.append("Its output, printed with four digits, is the same as here.")
    return said


def _against_the_layer(given: Given, w: dict[str, list[Tensor]], out: Tensor) -> str:
    """The difference to the app's own layer with the same weights."""
    layer = (
        IMPLEMENTATIONS["efficient"](4, 2, bias=False).double().load(weights_of(w["q"], w["k"], w["v"], given["wo"]))
    )
    temperature = 1.0 if given.divide else 1 / math.sqrt(2)  # the layer always divides by √d
    with torch.no_grad():
        made, _ = layer(given["x4"], allow=given.allow("a4"), temperature=temperature)
    difference = float((made - out).abs().max())
    written = sheet.number(difference) if difference else "0"
    return f"The app's own layer “efficient”, loaded with these weights: largest difference to this output {written}."
