"""The effect of a mask on the weights of one head, in words and tables that are computed."""

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from headlight.link import mask_codec, rules
from headlight.link.place import Cursor
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.picture.traces import recorded
from headlight.ui import numbers, sheet
from headlight.ui.numbers import outcome
from headlight.ui.sheet import Block
from mha_core.measure import measures
from mha_core.measure.by_hand import softmax_three_ways

MAX_KEYS = 16  # columns of a row that is written out
ROUNDING = 1e-5
WAYS = ("Headlight: 0 where nothing is allowed", "softmax over −∞ alone", "−1e9 instead of −∞")


def sums_in_words(weights: Tensor) -> str:
    """The sums of the rows of a map (i, j), and how many rows are empty."""
    sums = weights.sum(dim=-1)
    full, empty = sums[sums > 0], int((sums == 0).sum())
    if not len(full):
        return f"all {empty} rows empty"
    low, high = f"{float(full.min()):.4f}", f"{float(full.max()):.4f}"
    rows = f" · {rules.empty_rows(empty)}" if empty else ""
    return f"row sums {low if low == high else f'{low} to {high}'}{rows}"


def empty_rows(settings: Settings, at: Cursor) -> list[Block]:
    """Three ways to write a masked softmax, on this head's scores: they differ on empty rows. [] without one."""
    picture = pictures.picture(settings)
    n = len(picture.run.tokens)
    allow = mask_codec.of_head(picture.settings.allowed_cells(picture.model, len(picture.run.tokens)), at.head)
    empty = [row for row in range(n) if not bool(allow[row].any())]
    if not empty:
        return []
    layer = recorded(settings, at.layer)
    ways = softmax_three_ways(layer.scores[at.head], allow)
    row = empty[0]
    token, columns = layer.tokens[row], range(min(n, MAX_KEYS))
    head = ["", *(f"{key} {layer.tokens[key]}" for key in columns), "sum"]
    lines = [
        [name, *(outcome(float(way[row, key])) for key in columns), outcome(float(way[row].sum()))]
        for name, way in zip(WAYS, ways, strict=True)
    ]
    cut = f" The first {len(columns)} of {n} keys." if n > len(columns) else ""
    caption = f"Row {row} “{token}”: its weights computed in three ways from this head’s scores.{cut}"
    said = _three_outcomes(row, token, len(empty) - 1, [way[row] for way in ways])
    blocks = [sheet.row([sheet.text(said), sheet.table(head, lines, caption)])]
    return [sheet.panel("A row that may look at no key", blocks, "counted from 0")]


def renormalised(settings: Settings, at: Cursor) -> str:
    """Tells whether the masked weights are the unmasked ones with blocked cells set to 0 and each row divided again."""
    masked, free = (pictures.picture(each) for each in (settings, replace(settings, mask="none", painted="")))
    after, before = (picture.run.weights[at.layer, at.head] for picture in (masked, free))
    allow = masked.settings.allowed_cells(masked.model, len(masked.run.tokens))
    left = before * mask_codec.of_head(allow, at.head)
    sums = left.sum(dim=-1, keepdim=True)
    difference = measures.largest_difference(after, left / sums.masked_fill(sums == 0, 1))
    largest, where = numbers.difference(difference), f"Layer {at.layer}, head {at.head}"
    if difference <= ROUNDING:
        return (
            f"{where}: would it be enough to set the blocked weights to 0 and rescale each row? Yes, here that gives "
            f"the same weights (largest difference {largest})."
        )
    return (
        f"{where}: would it be enough to set the blocked weights to 0 and rescale each row? No, the weights would "
        f"differ by up to {largest}, because the layers below were masked too and their outputs have changed. In layer "
        "0 it would be enough."
    )


def _three_outcomes(row: int, token: str, others: int, ways: Sequence[Tensor]) -> str:
    """The three outcomes of an empty row in one sentence."""
    ours, plain, large = ways
    low, high = outcome(float(large.min())), outcome(float(large.max()))
    spread = low if bool(large.min() == large.max()) else f"{low} to {high}"
    nans = int(plain.isnan().sum())
    minus = f"{nans} of {len(plain)} weights are NaN" if nans else "no weight is NaN"
    more = f", and {others} more" if others else ""
    return (
        f"Row {row} “{token}”{more} may look at no key. Here its weights are {outcome(float(ours.abs().max()))} and "
        f"nothing breaks. With a softmax over −∞ alone, {minus}, and so is everything computed from them. With −1e9 "
        f"instead of −∞, each blocked key gets {spread}, as if the row attended to all of them."
    )
