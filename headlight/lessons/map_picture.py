"""A map of a step as a PNG file, and as a text for readers who cannot see it."""

import io
from collections.abc import Collection, Sequence
from typing import Final

from PIL import Image, ImageDraw, ImageFont
from plotly.colors import make_colorscale, sample_colorscale
from torch import Tensor

from headlight.ui import numbers
from headlight.ui.palette import PALETTES
from mha_core.token_text import make_visible, quote

from .files import HandoutMap
from .schema import HiddenPart

_STOPS: Final = ("#FFFFFF", "#FDEFD0", "#F6C560", "#DB8A1E", "#A34A06", "#4A1D02")  # as in assets/web/base/colour.js
_INK, _LINE = PALETTES["light"].ink, "#C9C4B6"
_CELL, _GAP, _TEXT = 44, 10, 22  # pixels; the text has its own size
_MAX_LABEL = 14  # characters


def covered_rows(header: HandoutMap, hidden: Sequence[HiddenPart], *, is_second: bool) -> frozenset[int]:
    """Return the rows of a map that the hidden parts cover; `hidesRow` of assets/web/base/curtain.js."""
    tokens, covered = [token.lower().removeprefix("##") or token for token in header["tokens"]], set[int]()
    for row, token in enumerate(tokens):
        labels = {str(row), str(row - len(tokens)), token, f"{token}#{tokens[: row + 1].count(token)}"}
        for part in hidden:
            is_named = bool(labels.intersection(map(str.lower, part.words)))
            by_name = {"row": is_named, "rows": not is_named, "map": True, "all": True, "second": is_second}
            if by_name.get(part.part, False):
                covered.add(row)
    return frozenset(covered)


def to_png(header: HandoutMap, weights: Tensor, covered: Collection[int], *, has_numbers: bool) -> bytes:
    """Return the picture of a map, whose covered rows are blank.

    Args:
        header: its tokens, layer and head.
        weights: (i, j).
        covered: indices of the rows to leave blank.
        has_numbers: whether each cell shows its weight with two decimals.
    """
    font = ImageFont.load_default(_TEXT)
    labels = [numbers.cut(make_visible(token), _MAX_LABEL) for token in header["tokens"]]
    widths = [round(font.getlength(label)) for label in labels]
    margin, n = max(widths) + 2 * _GAP, len(labels)
    side = margin + n * _CELL
    caption = _caption(header)
    width = max(side + _GAP, round(font.getlength(caption)) + 2 * _GAP)
    image = Image.new("RGB", (width, side + _TEXT + 3 * _GAP), "white")
    pen = ImageDraw.Draw(image)
    for index, (label, length) in enumerate(zip(labels, widths, strict=True)):
        middle = margin + index * _CELL + _CELL // 2
        pen.text((margin - _GAP, middle), label, _INK, font, anchor="rm")
        column = Image.new("RGB", (length + 2, _CELL), "white")
        ImageDraw.Draw(column).text((0, _CELL // 2), label, _INK, font, anchor="lm")
        image.paste(column.rotate(90, expand=True), (middle - _CELL // 2, margin - _GAP - length - 2))
    small = ImageFont.load_default(_TEXT - 5)
    for i, row in enumerate(weights.tolist()):
        colours = sample_colorscale(make_colorscale(_STOPS), [weight**0.5 for weight in row])
        for j, (weight, colour) in enumerate(zip(row, colours, strict=True)):
            left, top = margin + j * _CELL, margin + i * _CELL
            pen.rectangle((left, top, left + _CELL, top + _CELL), "white" if i in covered else colour, _LINE)
            if has_numbers and weight and i not in covered:  # a blocked cell is empty
                ink, number = "white" if weight > 0.4 else _INK, f"{weight:.2f}".removeprefix("0")
                pen.text((left + _CELL // 2, top + _CELL // 2), number, ink, small, anchor="mm")
    pen.text((_GAP, side + _GAP), caption, _INK, font)
    buffer = io.BytesIO()
    image.quantize().save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def describe(header: HandoutMap, weights: Tensor, covered: Collection[int], *, has_numbers: bool) -> str:
    """Return the text of the picture: the largest weight of each visible row, and the covered rows."""
    tokens = header["tokens"]
    peaks = weights.max(-1)
    rows = [
        f"{quote(token)} to {quote(tokens[j])}{f' {weight:.2f}' if has_numbers else ''}"
        for i, (token, weight, j) in enumerate(zip(tokens, peaks.values.tolist(), peaks.indices.tolist(), strict=True))
        if i not in covered
    ]
    parts = [f"Attention map: {_caption(header)}, {len(tokens)} tokens."]
    if rows:
        parts.append(f"Each row attends most: {', '.join(rows)}.")
    if covered:
        parts.append(f"Blank rows, for a guess: {', '.join(quote(tokens[i]) for i in sorted(covered))}.")
    return " ".join(parts)


def _caption(header: HandoutMap) -> str:
    return f"layer {header['layer']}, head {header['head']} · {header['label']}"
