"""Effects of a mask on the weights of one head, as computed sentences and tables."""

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from headlight.link import mask_codec
from headlight.link.cursor import Cursor
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.picture.traces import layer_tensors
from headlight.ui import numbers, sheet
from headlight.ui.numbers import outcome
from headlight.ui.sheet import Block
from mha_core.measure import measures
from mha_core.measure.by_hand import softmax_three_ways
from mha_core.token_text import isolate, quote

MAX_KEYS = 16  # columns shown of a long row
ROUNDING = 1e-5
WAYS = ("Headlight: 0 where nothing is allowed", "softmax over −∞ alone", "−1e9 instead of −∞")


def sums_in_words(weights: Tensor) -> str:
    """Describe the row sums of a map (i, j), and the number of empty rows."""
    sums = weights.sum(dim=-1)
    full, empty = sums[sums > 0], int((sums == 0).sum())
    if not len(full):
        return f"all {empty} rows empty"
    low, high = f"{float(full.min()):.4f}", f"{float(full.max()):.4f}"
    rows = f" · {'one row' if empty == 1 else f'{empty} rows'} empty" if empty else ""
    return f"row sums {low if low == high else f'{low} to {high}'}{rows}"


def empty_rows(settings: Settings, cursor: Cursor) -> list[Block]:
    """Return a table of three masked softmaxes, which differ on empty rows; empty if there are none."""
    picture = pictures.picture(settings)
    n = len(picture.run.tokens)
    allow = mask_codec.head_mask(picture.settings.allowed_cells(picture.model, len(picture.run.tokens)), cursor.head)
    empty = [row for row in range(n) if not bool(allow[row].any())]
    if not empty:
        return []
    layer = layer_tensors(settings, cursor.layer)
    ways = softmax_three_ways(layer.scores[cursor.head], allow)
    row = empty[0]
    token, columns = layer.tokens[row], range(min(n, MAX_KEYS))
    head = ["", *(f"{key} {isolate(layer.tokens[key])}" for key in columns), "sum"]
    lines = [
        [name, *(outcome(float(way[row, key])) for key in columns), outcome(float(way[row].sum()))]
        for name, way in zip(WAYS, ways, strict=True)
    ]
    cut = f" The first {len(columns)} of {n} keys." if n > len(columns) else ""
    caption = f"Row {row} {quote(token)}: its weights computed in three ways from this head’s scores.{cut}"
    sentence = _three_outcomes(row, token, len(empty) - 1, [way[row] for way in ways])
    blocks = [sheet.row([sheet.text(sentence), sheet.table(head, lines, caption)])]
    return [sheet.panel("A row that may attend to no key", blocks, "counted from 0")]


def compare_renormalised(settings: Settings, cursor: Cursor) -> str:
    """Describe whether the masked weights equal the unmasked ones with blocked cells zeroed and rows rescaled."""
    masked, free = map(pictures.picture, (settings, replace(settings, mask="none", painted="")))
    masked_weights, free_weights = (picture.run.weights[cursor.layer, cursor.head] for picture in (masked, free))
    allow = masked.settings.allowed_cells(masked.model, len(masked.run.tokens))
    remaining = free_weights * mask_codec.head_mask(allow, cursor.head)
    sums = remaining.sum(dim=-1, keepdim=True)
    difference = measures.largest_difference(masked_weights, remaining / sums.masked_fill(sums == 0, 1))
    maximum, place = numbers.difference(difference), f"Layer {cursor.layer}, head {cursor.head}"
    question = f"{place}: would it be enough to set the blocked weights to 0 and rescale each row?"
    if difference <= ROUNDING:
        return f"{question} Yes, here that gives the same weights (largest difference {maximum})."
    return (
        f"{question} No, the weights would differ by up to {maximum}, because the layers below were masked too and "
        "their outputs have changed. In layer 0 it would be enough."
    )


def _three_outcomes(row: int, token: str, others: int, ways: Sequence[Tensor]) -> str:
    """Describe the three results for an empty row in one sentence."""
    ours, plain, large = ways
    low, high = outcome(float(large.min())), outcome(float(large.max()))
    spread = low if bool(large.min() == large.max()) else f"{low} to {high}"
    nans = int(plain.isnan().sum())
    minus = f"{nans} of {len(plain)} weights are NaN" if nans else "no weight is NaN"
    more = f", and {others} more" if others else ""
    return (
        f"Row {row} {quote(token)}{more} may attend to no key. Here its weights are {outcome(float(ours.abs().max()))} "
        f"and nothing breaks. With a softmax over −∞ alone, {minus}, and so is everything computed from them. With "
        f"−1e9 instead of −∞, each blocked key gets {spread}, as if the row attended to all of them."
    )
