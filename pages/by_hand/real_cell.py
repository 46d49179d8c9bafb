"""A single weight of a model's map step by step, and the effect of ÷ √d on the entropy of rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from headlight.link.cursor import Cursor
from headlight.link.limits import MAX_TEXT_LENGTH
from headlight.picture.settings import Settings
from headlight.picture.traces import LayerTensors
from headlight.ui import events, sheet
from headlight.ui.numbers import difference, number, weight
from headlight.ui.sheet import Block
from mha_core.attention.functional import softmax_over_keys
from mha_core.measure.by_hand import Cell, entropy, random_entropy, take_apart
from mha_core.token_text import isolate, quote

MAX_LISTED = 64  # keys of a row; of longer rows the largest weights
MAX_MAPPED = 24  # tokens of a map to choose in; longer texts have rows of buttons
WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
KEYS, DRAWS, SEED = 16, 64, 0
Button = tuple[str, dict[str, Any], bool | None]


def chooser(record: LayerTensors, cursor: Cursor) -> Block:
    """Return a map, or buttons, to choose query and key; `move` handles their events."""
    note = "choose a cell; the word of its row (query) attends to the word of its column (key); counted from 0"
    if len(record.tokens) > MAX_MAPPED:
        queries = token_buttons(record, "query", cursor.row)
        keys: list[Button] = [("the largest", {"part": "key", "value": None}, cursor.key is None)]
        keys += token_buttons(record, "key", cursor.key)
        return sheet.panel("Which weight", [sheet.buttons("Query", queries), sheet.buttons("Key", keys)], note)
    row, weights = cursor.row or 0, record.weights[cursor.head]
    mark = [row, int(weights[row].argmax()) if cursor.key is None else cursor.key]
    selection = {"kind": "choice", "edit": "cell", "marks": [mark], "axes": []}
    cells = sheet.attention_map("weights", record.tokens, weights.tolist()) | selection
    return sheet.panel("Which weight", [cells], note)


def token_buttons(record: LayerTensors, part: str, place: int | None) -> list[Button]:
    """Return a button for each token, whose event `move` handles."""
    return [(f"{n} {token}", {"part": part, "value": n}, n == place) for n, token in enumerate(record.tokens)]


def move(cursor: Cursor, event: Mapping[str, Any]) -> Cursor:
    """Return the cursor after an event of `chooser`, unchanged if the event is invalid."""
    if event.get("edit") == "cell":
        row, key = events.integer(event, "row"), events.integer(event, "col")
        if row is None or key is None or not {row, key} <= set(range(MAX_MAPPED)):
            return cursor
        return replace(cursor, row=row, key=key)
    field, value = {"query": "row", "key": "key"}.get(str(event.get("part"))), events.integer(event, "value")
    if event.get("value") is None and field == "key":
        return replace(cursor, key=None)
    if not field or value is None or not 0 <= value < MAX_TEXT_LENGTH:
        return cursor
    return replace(cursor, **{field: value})


def cell_blocks(record: LayerTensors, settings: Settings, cursor: Cursor) -> list[Block]:
    """Return every step of one weight, with the map's own number; by default the row's largest weight.

    The first block summarises it in one line, the second in large numbers.
    """
    row = cursor.row or 0
    key = int(record.weights[cursor.head, row].argmax()) if cursor.key is None else cursor.key
    allow = None if record.allow is None else record.allow[cursor.head]
    cell = take_apart(
        record.q[cursor.head],
        record.k[cursor.head],
        row,
        key,
        allow=allow,
        bias=record.bias(cursor.head, settings.temperature),
        temperature=settings.temperature,
    )
    map_weight = float(record.weights[cursor.head, row, key])
    query, key_token = record.tokens[row], record.tokens[key]
    heading = f"Layer {cursor.layer} head {cursor.head}: {query} → {key_token}"
    notes = _sentences(cell, settings, cursor, query, key_token, is_same=row == key)
    whole_row = _row_table(cell, record.tokens, row, key)
    chain = sheet.panel(heading, [sheet.steps(_chain(cell, settings)), *map(sheet.text, notes), whole_row])
    steps = sheet.table(["step", "value", "how"], _steps(cell, map_weight, settings), marks={(9, -1): "focus"})
    return [
        sheet.title(f"{quote(query)} attends to {quote(key_token)} with weight {weight(cell.weight)}"),
        chain,
        sheet.panel("Every step", [steps]),
        _features(cell, record.q[cursor.head, row], record.k[cursor.head, key]),
    ]


def entropy_blocks(record: LayerTensors, settings: Settings, cursor: Cursor) -> list[Block]:
    """Return the entropy of a layer's rows with and without ÷ √d, and of random rows for growing d.

    The first block summarises it for the head.
    """
    d = record.q.shape[-1]
    scores = record.scores.double()
    kinds = [(f"with ÷ √{d}", scores), (f"without: scores · √{d}", scores * math.sqrt(d))]
    bits = [entropy(softmax_over_keys(values.clone(), record.allow)) for _, values in kinds]
    n = len(record.tokens)
    allowed = torch.full((n,), n) if record.allow is None else record.allow[cursor.head].sum(dim=-1)
    max_bits = math.log2(max(1, int(allowed.max())))
    heads = [
        [f"head {head}", *(number(float(part[head].mean()), 3) for part in bits)] for head in range(scores.shape[0])
    ]
    labels = [f"{place} {token}" for place, token in enumerate(record.tokens)]
    limit = f"A row over n keys has at most log₂ n bits: here {number(max_bits, 3)} for {int(allowed.max())}."
    pair = [
        sheet.bars(name, labels, part[cursor.head].tolist(), decimals=3, scale=max_bits)
        for (name, _), part in zip(kinds, bits, strict=True)
    ]
    means = sheet.table(
        ["", *(name for name, _ in kinds)], heads, f"Mean over the {n} rows, in bits", {(cursor.head, -1): "focus"}
    )
    mean, raw = (number(float(part[cursor.head].mean()), 2) for part in bits)
    answer = f"A row of layer {cursor.layer} head {cursor.head} holds {mean} bits on average, {raw} without ÷ √{d}"
    return [
        sheet.title(answer, "0 bits means that one key gets all the weight; more bits mean a more even row"),
        sheet.row(
            [
                sheet.panel(f"Layer {cursor.layer}: how focused each head’s rows are", [sheet.text(limit), means]),
                sheet.panel(f"Head {cursor.head}, row by row", [sheet.row(pair)], "entropy in bits"),
            ]
        ),
        _random_panel(),
    ]


# ---- parts


def _chain(cell: Cell, settings: Settings) -> list[tuple[str, str]]:
    """Return the steps from q · k to the weight, without those that change nothing."""
    d = len(cell.products)
    steps = [(number(cell.dot, 2), f"q · k, {d} products"), (number(cell.scaled, 2), f"÷ √{d}")]
    if cell.bias:
        steps.append((number(cell.scaled + cell.bias, 2), "position bias added"))
    if settings.temperature != 1:
        steps.append((number(cell.score, 2), f"÷ temperature {settings.temperature:g}"))
    if not cell.allowed:
        steps.append(("−∞", "blocked by the mask"))
    return [*steps, (weight(cell.weight), f"softmax over {len(cell.scores)} keys")]


def _steps(cell: Cell, map_weight: float, settings: Settings) -> list[list[str]]:
    d, n = len(cell.products), len(cell.scores)
    allowed = int(cell.scores.isfinite().sum())
    kind = "none, as this encoding does not act on the scores" if cell.bias == 0 else "from the encoding"
    plus = "+" if cell.bias >= 0 else "−"
    sum_ = f"({number(cell.scaled, 6)} {plus} {number(abs(cell.bias), 6)})" if cell.bias else number(cell.scaled, 6)
    score = cell.score if cell.allowed else -math.inf
    return [
        ["q · k", number(cell.dot, 6), f"sum of {d} products, below"],
        [f"÷ √{d}", number(cell.scaled, 6), f"{number(cell.dot, 6)} / {number(math.sqrt(d), 6)}"],
        ["position bias", difference(cell.bias, 6), kind],
        ["÷ temperature", number(cell.score, 6), f"{sum_} / {settings.temperature:g}"],
        [
            "mask",
            number(score, 6),
            "allowed, so the score stays" if cell.allowed else "masked, so the score becomes −∞",
        ],
        [
            "row’s largest",
            number(cell.row_max if allowed else math.nan, 6),
            f"the largest score of the {allowed} of {n} keys that are allowed",
        ],
        ["− largest", number(score - cell.row_max, 6), "prevents exp from overflowing; the weights stay the same"],
        ["exp", number(cell.exp, 6), f"exp({number(score - cell.row_max, 6)})"],
        ["row sum", number(cell.total, 6), f"of exp, over {allowed} of {n} keys"],
        [
            "weight",
            f"{cell.weight:.9f}",
            f"{number(cell.exp, 6)} / {number(cell.total, 6)}" if allowed else "no keys: 0",
        ],
        ["in the map", f"{map_weight:.9f}", "float32, by the layer; by hand: float64 from its q and k"],
        ["difference", difference(abs(cell.weight - map_weight), 9), ""],
    ]


def _sentences(
    cell: Cell, settings: Settings, cursor: Cursor, query: str, key_token: str, *, is_same: bool
) -> list[str]:
    sentences = []
    if not bool(cell.scores.isfinite().any()):
        sentences.append(f"The row {quote(query)} may attend to no key, so all its weights and its output are 0.")
    elif not cell.allowed:
        target = "itself" if is_same else quote(key_token)
        sentences.append(f"The mask blocks {quote(query)} from {target}: exp(−∞) is 0, so the weight is 0.")
    if (cursor.layer, cursor.head) in settings.heads_off:
        sentences.append("This head is ablated: its map is still computed, but its output is set to 0.")
    if cursor.layer in settings.layers_off:
        sentences.append("This layer is ablated: its maps are still computed, but it hands on its input unchanged.")
    return sentences


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
            f"{j} {isolate(tokens[j])}",
            number(float(cell.scores[j])),
            number(float(cell.exps[j])),
            number(float(cell.weights[j]), 6),
        ]
        for j in order
    ]
    note = f"{note}; exp is of the score less the row’s largest"
    table = sheet.table(["key", "score", "exp", "weight"], lines, note, {(order.index(key), -1): "focus"})
    return sheet.panel(
        f"The whole row {row}: {isolate(tokens[row])}", [table], f"weights sum to {float(cell.weights.sum()):.6f}"
    )


@lru_cache(maxsize=1)
def _random_panel() -> Block:
    kinds = (("with ÷ √d", True), ("without", False))
    curves = [[random_entropy(d, KEYS, draws=DRAWS, seed=SEED, scaled=scaled) for d in WIDTHS] for _, scaled in kinds]
    setting = f"Random q and k, standard normal, seed {SEED}, {DRAWS} rows over {KEYS} keys each."
    raw, divided = (f"from {values[0]:.2f} to {values[-1]:.2f}" for values in reversed(curves))
    ends = f"From d = {WIDTHS[0]} to d = {WIDTHS[-1]} the mean entropy changes"
    result = f"{ends} {raw} bits without the division, {divided} with it; at most {math.log2(KEYS):g} are possible."
    reason = "q · k is a sum of d products, so scores spread like √d. Undivided, one score gets nearly all the weight."
    labels = [f"d = {d}" for d in WIDTHS]
    bars = [
        sheet.bars(f"mean entropy in bits, {name}", labels, values, decimals=2, scale=math.log2(KEYS))
        for (name, _), values in zip(kinds, curves, strict=True)
    ]
    return sheet.panel("Why √d: entropy as d grows", [sheet.text(reason), sheet.row(bars), sheet.text(result)], setting)
