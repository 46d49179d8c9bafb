"""What a mask does to the weights of one head, in words and tables that are computed. No streamlit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from mha_core.measure import compare
from mha_core.measure.by_hand import softmax_three_ways
from pages.kit.draw import sheet
from pages.kit.draw.sheet import Block
from pages.kit.picture import mask_codec, pictures
from pages.kit.picture.pictures import Settings
from pages.kit.picture.place import At
from pages.kit.picture.recorded import recorded

__all__ = ["empty_rows", "renormalised", "sums_in_words"]

MOST_KEYS = 16  # columns of a row that is written out
WAYS = ("Headlight: 0 where nothing is allowed", "softmax over −∞ alone", "−1e9 instead of −∞")


def sums_in_words(weights: Tensor) -> str:
    """What the rows of a map (i, j) sum to, and how many are empty."""
    sums = weights.sum(dim=-1)
    full, empty = sums[sums > 0], int((sums == 0).sum())
    rows = "" if not empty else " · one row empty" if empty == 1 else f" · {empty} rows empty"
    if not len(full):
        return f"all {empty} rows empty"
    low, high = f"{float(full.min()):.4f}", f"{float(full.max()):.4f}"
    return f"row sums {low if low == high else f'{low} to {high}'}{rows}"


def empty_rows(settings: Settings, at: At) -> Block:
    """What three ways to write a masked softmax make of this head's scores: they differ on rows that are empty."""
    found = recorded(settings, at.layer)
    n, heads = len(found.tokens), len(found.scores)
    allow = mask_codec.allowed(settings.mask, settings.painted, n, heads)
    allow = allow[at.head] if allow.dim() == 3 else allow
    ways = softmax_three_ways(found.scores[at.head], allow)
    empty = [row for row in range(n) if not bool(allow[row].any())]
    heading = "A row that may look at nobody"
    if not empty:
        apart_by = max(compare.largest_difference(ways[0], way) for way in ways[1:])
        written = sheet.number(apart_by) if apart_by else "0"
        said = f"No row is empty here, so how a library writes it does not matter: largest difference {written}."
        return sheet.panel(heading, [sheet.text(said)])
    row = empty[0]
    token, rest = found.tokens[row], len(empty) - 1
    more = f", and {rest} more" if rest else ""
    columns = range(min(n, MOST_KEYS))
    head = ["", *(f"{key} {found.tokens[key]}" for key in columns), "sum"]
    lines = [
        [name, *(_written(float(way[row, key])) for key in columns), _written(float(way[row].sum()))]
        for name, way in zip(WAYS, ways, strict=True)
    ]
    cut = f" The first {len(columns)} of {n} keys." if n > len(columns) else ""
    caption = f"The weights of row {row} “{token}” from this head's own scores, three ways.{cut}"
    return sheet.panel(
        heading, [sheet.text(_told(row, token, more, ways)), sheet.table(head, lines, caption)], "counted from 0"
    )


def renormalised(settings: Settings, at: At) -> str:
    """Whether the weights after are those of the model without a mask, blocked ones 0 and each row divided again."""
    free = replace(settings, mask="none", painted="")
    after, before = (pictures.picture(own).run.weights[at.layer, at.head].cpu() for own in (settings, free))
    n, heads = len(after), pictures.model_of(settings).sizes.n_heads
    allow = mask_codec.allowed(settings.mask, settings.painted, n, heads)
    kept = before * (allow[at.head] if allow.dim() == 3 else allow)
    sums = kept.sum(dim=-1, keepdim=True)
    difference = compare.largest_difference(after, kept / sums.masked_fill(sums == 0, 1))
    written = sheet.number(difference) if difference else "0"
    if difference <= 1e-5:
        return (
            f"Layer {at.layer}, head {at.head}: the weights after are those of no mask with the blocked ones set to 0 "
            f"and each row divided by what is left (largest difference {written})."
        )
    return (
        f"Layer {at.layer}, head {at.head}: setting blocked weights to 0 and dividing each row by what is left would "
        f"not give these weights (largest difference {written}): in the layers before, the mask has changed what the "
        f"tokens carry. In layer 0 it is all that happens."
    )


def _told(row: int, token: str, more: str, ways: Sequence[Tensor]) -> str:
    """The three outcomes of an empty row in one sentence."""
    ours, plain, large = (way[row] for way in ways)
    low, high = float(large.min()), float(large.max())
    spread = _written(low) if low == high else f"{_written(low)} to {_written(high)}"
    nans = int(plain.isnan().sum())
    minus = f"{nans} of {len(plain)} weights are NaN" if nans else "no weight is NaN"
    return (
        f"Row {row} “{token}”{more} may look at nobody. Here its weights are {_written(float(ours.abs().max()))} and "
        f"nothing breaks. With a softmax over −∞ alone {minus}, and every later layer and gradient with them; with "
        f"−1e9 instead of −∞ each forbidden key gets {spread}, as if the row had looked at all of them."
    )


def _written(value: float) -> str:
    """A weight; here alone NaN is said, because that is what the library would give."""
    return "NaN" if math.isnan(value) else "0" if value == 0 else f"{value:.4f}"
