"""One weight of a real map taken apart, and what ÷ √d does to the entropy of rows, as blocks."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from headlight.link.limits import MAX_TEXT_LENGTH
from headlight.link.place import Cursor
from headlight.picture.settings import Settings
from headlight.picture.traces import Recorded
from headlight.ui import events, sheet
from headlight.ui.numbers import difference, number, weight
from headlight.ui.sheet import Block
from mha_core.attention.functional import softmax_over_keys
from mha_core.measure.by_hand import Cell, entropy, entropy_of_random, take_apart

MAX_LISTED = 64  # keys of a row; beyond that the largest weights
MAX_MAPPED = 24  # tokens of a map to choose in; beyond that rows of buttons
WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
KEYS, DRAWS, SEED = 16, 64, 0


def chooser(found: Recorded, at: Cursor, layers: int, heads: int, *, cell: bool = True) -> Block:
    """Buttons for layer and head, and with `cell` the map to choose query and key in; their events are for `moved`."""

    def choices(name: str, texts: Sequence[str], now: int | None) -> Block:
        part = name.lower()
        made: list[tuple[str, dict[str, Any], bool | None]] = [
            (shown, {"part": part, "value": value}, value == now) for value, shown in enumerate(texts)
        ]
        if part == "key":
            made.insert(0, ("the largest", {"part": part, "value": None}, now is None))
        return sheet.buttons(name, made)

    numbers = [choices("Layer", [str(n) for n in range(layers)], at.layer)]
    numbers.append(choices("Head", [str(n) for n in range(heads)], at.head))
    if not cell:
        return sheet.panel("Which head", [sheet.row(numbers)], "counted from 0")
    tokens = [f"{place} {token}" for place, token in enumerate(found.tokens)]
    words = [choices("Query", tokens, at.row), choices("Key", tokens, at.key)]
    if len(tokens) <= MAX_MAPPED:
        row, weights = at.row or 0, found.weights[at.head]
        mark = [row, int(weights[row].argmax()) if at.key is None else at.key]
        chosen = {"kind": "choice", "edit": "cell", "marks": [mark], "axes": []}
        words = [sheet.attention_map("weights", found.tokens, weights.tolist()) | chosen]
    note = "choose a cell; the word of its row (query) attends to the word of its column (key); counted from 0"
    return sheet.panel("Which weight", [sheet.row(numbers), *words], note)


def moved(at: Cursor, event: Mapping[str, Any], layers: int, heads: int) -> Cursor:
    """Where a button of `chooser` leads; nowhere when the event makes no sense."""
    if event.get("edit") == "cell":
        row, key = events.whole(event, "row"), events.whole(event, "col")
        if row is None or key is None or not {row, key} <= set(range(MAX_MAPPED)):
            return at
        return replace(at, row=row, key=key)
    part, value = events.text(event, "part") or "", events.whole(event, "value")
    if event.get("value") is None and part == "key":
        return replace(at, key=None)
    if value is None or not 0 <= value < {"layer": layers, "head": heads}.get(part, MAX_TEXT_LENGTH):
        return at
    field = {"layer": "layer", "head": "head", "query": "row", "key": "key"}.get(part)
    return replace(at, **{field: value}) if field else at


def cell_blocks(found: Recorded, settings: Settings, at: Cursor) -> list[Block]:
    """Everything that one weight is made of, and the map's own number beside it. Without a key: the row's largest.

    The first block says it in one line, the second in large numbers.
    """
    row = at.row or 0
    key = int(found.weights[at.head, row].argmax()) if at.key is None else at.key
    allow = None if found.allow is None else found.allow[at.head]
    cell = take_apart(
        found.q[at.head],
        found.k[at.head],
        row,
        key,
        allow=allow,
        bias=found.bias(at.head, settings.temperature),
        temperature=settings.temperature,
    )
    own = float(found.weights[at.head, row, key])
    query, wanted = found.tokens[row], found.tokens[key]
    heading = f"Layer {at.layer} head {at.head}: {query} → {wanted}"
    said = _sentences(cell, settings, at, query, wanted, itself=row == key)
    chain = sheet.panel(heading, [sheet.steps(_chain(cell, settings)), *map(sheet.text, said)])
    steps = sheet.table(["step", "value", "how"], _steps(cell, own, settings), marks={(9, -1): "here"})
    return [
        sheet.title(f"“{query}” attends to “{wanted}” with weight {weight(cell.weight)}"),
        chain,
        sheet.row([sheet.panel("Every step", [steps]), _row_table(cell, found.tokens, row, key)]),
        _features(cell, found.q[at.head, row], found.k[at.head, key]),
    ]


def entropy_blocks(found: Recorded, settings: Settings, at: Cursor) -> list[Block]:
    """Entropy of the rows of a layer with and without ÷ √d, and the same of random rows for growing d.

    The first block says it of the head in one line.
    """
    d = found.q.shape[-1]
    scores = found.scores.double()
    kinds = [(f"with ÷ √{d}", scores), (f"without: scores · √{d}", scores * math.sqrt(d))]
    bits = [entropy(softmax_over_keys(values.clone(), found.allow)) for _, values in kinds]
    n = len(found.tokens)
    allowed = torch.full((n,), n) if found.allow is None else found.allow[at.head].sum(dim=-1)
    most = math.log2(max(1, int(allowed.max())))
    heads = [
        [f"head {head}", *(number(float(part[head].mean()), 3) for part in bits)] for head in range(scores.shape[0])
    ]
    labels = [f"{place} {token}" for place, token in enumerate(found.tokens)]
    limit = f"A row over n keys has at most log₂ n bits: here {number(most, 3)} for {int(allowed.max())}."
    pair = [
        sheet.bars(name, labels, part[at.head].tolist(), decimals=3, most=most)
        for (name, _), part in zip(kinds, bits, strict=True)
    ]
    means = sheet.table(
        ["", *(name for name, _ in kinds)], heads, f"Mean over the {n} rows, in bits", {(at.head, -1): "here"}
    )
    mean, raw = (number(float(part[at.head].mean()), 2) for part in bits)
    answer = f"A row of layer {at.layer} head {at.head} holds {mean} bits on average, {raw} without ÷ √{d}"
    return [
        sheet.title(answer, "0 bits means that one key gets all the weight; more bits mean a more even row"),
        sheet.row(
            [
                sheet.panel(f"Layer {at.layer}: how focused each head’s rows are", [sheet.text(limit), means]),
                sheet.panel(f"Head {at.head}, row by row", [sheet.row(pair)], "entropy in bits"),
            ]
        ),
        _random_panel(),
    ]


# ---- parts


def _chain(cell: Cell, settings: Settings) -> list[tuple[str, str]]:
    """From q · k to the weight; what changes nothing is left out."""
    d = len(cell.products)
    made = [(number(cell.dot, 2), f"q · k, {d} products"), (number(cell.scaled, 2), f"÷ √{d}")]
    if cell.bias:
        made.append((number(cell.scaled + cell.bias, 2), "position bias added"))
    if settings.temperature != 1:
        made.append((number(cell.score, 2), f"÷ temperature {settings.temperature:g}"))
    if not cell.allowed:
        made.append(("−∞", "blocked by the mask"))
    return [*made, (weight(cell.weight), f"softmax over {len(cell.scores)} keys")]


def _steps(cell: Cell, own: float, settings: Settings) -> list[list[str]]:
    d, n = len(cell.products), len(cell.scores)
    allowed = int(cell.scores.isfinite().sum())
    kind = "none, as this encoding does not act on the scores" if cell.bias == 0 else "from the encoding"
    plus = "+" if cell.bias >= 0 else "−"
    sum_ = f"({number(cell.scaled, 6)} {plus} {number(abs(cell.bias), 6)})" if cell.bias else number(cell.scaled, 6)
    shown = cell.score if cell.allowed else -math.inf
    return [
        ["q · k", number(cell.dot, 6), f"sum of {d} products, below"],
        [f"÷ √{d}", number(cell.scaled, 6), f"{number(cell.dot, 6)} / {number(math.sqrt(d), 6)}"],
        ["position bias", difference(cell.bias, 6), kind],
        ["÷ temperature", number(cell.score, 6), f"{sum_} / {settings.temperature:g}"],
        [
            "mask",
            number(shown, 6),
            "allowed, so the score stays" if cell.allowed else "masked, so the score becomes −∞",
        ],
        [
            "row's largest",
            number(cell.largest if allowed else math.nan, 6),
            f"the largest score of the {allowed} of {n} keys that are allowed",
        ],
        ["− largest", number(shown - cell.largest, 6), "prevents exp from overflowing; the weights stay the same"],
        ["exp", number(cell.exp, 6), f"exp({number(shown - cell.largest, 6)})"],
        ["row sum", number(cell.total, 6), f"of exp, over {allowed} of {n} keys"],
        [
            "weight",
            f"{cell.weight:.9f}",
            f"{number(cell.exp, 6)} / {number(cell.total, 6)}" if allowed else "no keys: 0",
        ],
        ["in the map", f"{own:.9f}", "float32, by the layer; by hand: float64 from its q and k"],
        ["difference", difference(abs(cell.weight - own), 9), ""],
    ]


def _sentences(cell: Cell, settings: Settings, at: Cursor, query: str, wanted: str, *, itself: bool) -> list[str]:
    said = []
    if not bool(cell.scores.isfinite().any()):
        said.append(f"The row “{query}” may look at no key, so all its weights and its output are 0.")
    elif not cell.allowed:
        whom = "itself" if itself else f"“{wanted}”"
        said.append(f"The mask blocks “{query}” from {whom}: exp(−∞) is 0, so the weight is 0.")
    if (at.layer, at.head) in settings.heads_off:
        said.append("This head is ablated: its map is still computed, but its output is set to 0.")
    return said


def _features(cell: Cell, q: Tensor, k: Tensor) -> Block:
    products = cell.products.tolist()
    lines = [
        [str(place), *(number(float(value), 4) for value in values)]
        for place, values in enumerate(zip(q, k, cell.products, cell.running, strict=True))
    ]
    table = sheet.table(["feature", "q", "k", "q · k", "sum so far"], lines)
    labels = list(map(str, range(len(products))))
    bars = sheet.bars("sum so far", labels, cell.running.tolist())
    return sheet.panel("Feature by feature", [sheet.row([bars, table])], f"{len(products)} products")


def _row_table(cell: Cell, tokens: Sequence[str], row: int, key: int) -> Block:
    order = list(range(len(tokens)))
    note = f"all {len(tokens)} keys"
    if len(tokens) > MAX_LISTED:
        best = sorted(order, key=lambda j: (j != key, -float(cell.weights[j]), j))[:MAX_LISTED]
        order, note = sorted(best), f"{MAX_LISTED} of {len(tokens)} keys: the chosen one and the largest weights"
    lines = [
        [
            f"{j} {tokens[j]}",
            number(float(cell.scores[j])),
            number(float(cell.exps[j])),
            number(float(cell.weights[j]), 6),
        ]
        for j in order
    ]
    note = f"{note}; exp is of the score less the row's largest"
    table = sheet.table(["key", "score", "exp", "weight"], lines, note, {(order.index(key), -1): "here"})
    return sheet.panel(
        f"The whole row {row}: {tokens[row]}", [table], f"weights sum to {float(cell.weights.sum()):.6f}"
    )


@lru_cache(maxsize=1)
def _random_panel() -> Block:
    kinds = (("with ÷ √d", True), ("without", False))
    curves = [
        [entropy_of_random(d, KEYS, draws=DRAWS, seed=SEED, scaled=scaled) for d in WIDTHS] for _, scaled in kinds
    ]
    setting = f"Random q and k, standard normal, seed {SEED}, {DRAWS} rows over {KEYS} keys each."
    raw, divided = (f"from {values[0]:.2f} to {values[-1]:.2f}" for values in reversed(curves))
    ends = f"From d = {WIDTHS[0]} to d = {WIDTHS[-1]} the mean entropy changes"
    told = f"{ends} {raw} bits without the division, {divided} with it; at most {math.log2(KEYS):g} are possible."
    why = "q · k is a sum of d products, so scores spread like √d. Undivided, one score gets nearly all the weight."
    labels = [f"d = {d}" for d in WIDTHS]
    bars = [
        sheet.bars(f"mean entropy in bits, {name}", labels, values, decimals=2, most=math.log2(KEYS))
        for (name, _), values in zip(kinds, curves, strict=True)
    ]
    return sheet.panel("Why √d: entropy as d grows", [sheet.text(why), sheet.row(bars), sheet.text(told)], setting)
