"""Parts of the portrait of an encoding that is a bias: a head's matrix, all heads, T5's buckets. No streamlit."""

from __future__ import annotations

import math

from torch import Tensor

from pages.kit.draw import figures, sheet
from pages.kit.draw.figures import Figure
from pages.kit.draw.sheet import number

from . import encodings
from .encodings import Encoding
from .parts import Part, View, cut, drawn, heading, sample

__all__ = ["all_heads", "bias", "buckets", "heads"]

MOST_ROWS, TILE = 96, 24  # rows and columns that are drawn
MOST_LINES = 6
REACH = 160  # of the buckets: past T5's own largest distance


def bias(encoding: Encoding, view: View) -> Part:
    """The matrix of the head in sight: a row a query, a column a key."""
    values = encodings.bias(encoding)
    head = min(view.head, len(values) - 1)
    places = sample(values.shape[-1], MOST_ROWS)
    n = values.shape[-1]
    note = f"head {head} of 0 to {len(values) - 1}, {n} queries × {n} keys{drawn(len(places), len(places), (n, n))}"
    names = [f"{place} {cut(view.tokens[place])}" for place in places]
    figure = figures.heat(
        values[head][places][:, places].tolist(),
        x=places,
        y=places,
        x_title="key",
        y_title="query",
        theme=view.theme,
        y_names=names,
    )
    return Part("picture", [heading(encoding, "picture", note)], figure, f"Heat map of the bias, {note}.")


def heads(encoding: Encoding, view: View) -> Part:
    """The bias of some heads over the distance, the head in sight among them."""
    values = encodings.bias(encoding)
    count = len(values)
    heads = sorted({min(view.head, count - 1), *_spread(count, MOST_LINES - 1)})
    series = {f"head {head}": encodings.by_distance(values[head], signed=True).mean for head in heads}
    ends = [f"{name}: {number(min(curve), 3)} to {number(max(curve), 3)}" for name, curve in series.items()]
    note = f"{len(heads)} of {count} heads; mean over all queries and keys that far apart"
    start = 1 - values.shape[-1]
    figure = figures.curves(series, start=start, x_title="j − i, from query to key", y_title="bias", theme=view.theme)
    return Part(
        "lines",
        [heading(encoding, "bias against distance, head by head", note), sheet.text("; ".join(ends) + ".")],
        figure,
        f"Curves of the bias over the distance. {'; '.join(ends)}.",
    )


def all_heads(encoding: Encoding, view: View) -> Part:
    """The matrices of all heads, small and in one scale."""
    values = encodings.bias(encoding)
    figure = _tiles(values, view.theme)
    least, most = float(values.min()), float(values.max())
    note = f"{len(values)} heads, from {number(least, 3)} to {number(most, 3)}, in one scale"
    return Part("detail", [heading(encoding, "all heads", note)], figure, f"Heat maps of the bias of {note}.")


def _tiles(values: Tensor, theme: str) -> Figure:
    """The matrices of all heads in one picture, each under its number."""
    places = sample(values.shape[-1], TILE)
    small = values[:, places][:, :, places]
    count, side = len(small), len(places)
    gap = max(1, math.ceil(side / 4))
    across = math.ceil(math.sqrt(count * 1.5))
    down = math.ceil(count / across)
    step = side + gap
    lines: list[list[float | None]] = [[None] * (across * step - gap) for _ in range(down * step)]
    titles = []
    for head, tile in enumerate(small.tolist()):
        top, left = (head // across) * step + gap, (head % across) * step
        for row, line in enumerate(tile):
            lines[top + row][left : left + side] = line
        titles.append({"x": left + (side - 1) / 2, "y": top - gap / 2 - 0.5, "text": str(head), "showarrow": False})
    x, y = list(range(len(lines[0]))), list(range(len(lines)))
    figure = figures.heat(lines, x=x, y=y, x_title="", y_title="", theme=theme, height=440)
    figure["data"][0]["hoverinfo"] = "skip"
    figure["layout"]["annotations"] = titles
    for axis in ("xaxis", "yaxis"):
        figure["layout"][axis]["visible"] = False
    return figure


def buckets(encoding: Encoding, view: View) -> Part:
    """T5's row of its table for every distance, in both variants."""
    reach = max(REACH, len(view.tokens) - 1)
    variants = encodings.buckets(encoding, reach)
    series: dict[str, list[float]] = {name: [float(row) for row in rows] for name, rows in variants.items()}
    figure = figures.curves(
        series, start=-reach, x_title="j − i, from query to key", y_title="bucket", theme=view.theme, steps=True
    )
    places = (-reach, -64, -16, -8, -1, 0, 1, 8, 16, 64, reach)
    numbers = sheet.table(
        ["j − i", *(str(place).replace("-", "−") for place in places)],
        [[name, *(str(rows[place + reach]) for place in places)] for name, rows in variants.items()],
    )
    used = ", ".join(f"{name} {len(set(rows))}" for name, rows in variants.items())
    title = heading(encoding, "buckets", f"different buckets from −{reach} to {reach}: {used}")
    return Part("buckets", [title, numbers], figure, "Stairs of the bucket over the offset; the table has the numbers.")


def _spread(count: int, wanted: int) -> list[int]:
    """At most `wanted` of the numbers below `count`, evenly spread with both ends."""
    if count <= wanted:
        return list(range(count))
    return [round(at * (count - 1) / (wanted - 1)) for at in range(wanted)]
