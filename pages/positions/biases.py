"""Parts of the portrait of an encoding that is a bias: a head's matrix, all heads."""

import math

from torch import Tensor

from headlight.ui import figures, sheet
from headlight.ui.figures import Figure
from headlight.ui.numbers import number

from . import measures, planes
from .encodings import Encoding
from .parts import HEIGHT, Focus, Part, part, sample, sampled, token_names

MOST_ROWS, TILE = 96, 24  # rows and columns that are drawn
MOST_LINES = 6


def matrix(encoding: Encoding, view: Focus) -> Part:
    """The matrix of the head in sight: a row a query, a column a key."""
    values = measures.bias(encoding)
    head, n = min(view.head, len(values) - 1), values.shape[-1]
    places = sample(n, MOST_ROWS)
    note = f"head {head} of 0 to {len(values) - 1}, {n} queries × {n} keys{sampled(len(places), len(places), (n, n))}"
    figure = planes.heat(
        values[head][places][:, places].tolist(),
        x=places,
        y=places,
        x_title="key",
        y_title="query",
        theme=view.theme,
        y_names=token_names(view, places),
        height=HEIGHT,
    )
    return part("picture", encoding, "picture", note, [], figure, f"Heat map of the bias, {note}.")


def by_head(encoding: Encoding, view: Focus) -> Part:
    """The bias of some heads over the distance, the head in sight among them."""
    values = measures.bias(encoding)
    many = len(values)
    heads = sorted({min(view.head, many - 1), *_spread(many, MOST_LINES - 1)})
    series = {f"head {head}": measures.by_distance(values[head], signed=True).mean for head in heads}
    ends = "; ".join(f"{name}: {number(min(curve), 3)} to {number(max(curve), 3)}" for name, curve in series.items())
    note = f"{len(heads)} of {many} heads; mean over all queries and keys that far apart"
    start = 1 - values.shape[-1]
    figure = figures.curves(series, start=start, x_title="j − i, from query to key", y_title="bias", theme=view.theme)
    what, alt = "bias against distance, head by head", f"Curves of the bias over the distance. {ends}."
    return part("lines", encoding, what, note, [sheet.text(f"{ends}.")], figure, alt, "bias")


def all_heads(encoding: Encoding, view: Focus) -> Part:
    """The matrices of all heads, small and in one scale."""
    values = measures.bias(encoding)
    least, most = float(values.min()), float(values.max())
    note = f"{len(values)} heads, from {number(least, 3)} to {number(most, 3)}, in one scale"
    alt = f"Heat maps of the bias of {note}."
    return part("detail", encoding, "all heads", note, [], _tiles(values, view.theme), alt)


def _tiles(values: Tensor, theme: str) -> Figure:
    """The matrices of all heads in one picture, each under its number."""
    places = sample(values.shape[-1], TILE)
    small = values[:, places][:, :, places]
    many, side = len(small), len(places)
    gap = max(1, math.ceil(side / 4))
    across = math.ceil(math.sqrt(many * 1.5))
    step = side + gap
    lines: list[list[float | None]] = [[None] * (across * step - gap) for _ in range(math.ceil(many / across) * step)]
    titles = []
    for head, tile in enumerate(small.tolist()):
        top, left = (head // across) * step + gap, (head % across) * step
        for row, line in enumerate(tile):
            lines[top + row][left : left + side] = line
        titles.append({"x": left + (side - 1) / 2, "y": top - gap / 2 - 0.5, "text": str(head), "showarrow": False})
    x, y = range(len(lines[0])), range(len(lines))
    figure = planes.heat(lines, x=x, y=y, x_title="", y_title="", theme=theme, height=440)
    figure["data"][0]["hoverinfo"] = "skip"
    figure["layout"]["annotations"] = titles
    for axis in ("xaxis", "yaxis"):
        figure["layout"][axis]["visible"] = False
    return figure


def _spread(count: int, wanted: int) -> list[int]:
    """At most `wanted` of the numbers below `count`, evenly spread with both ends."""
    if count <= wanted:
        return list(range(count))
    return [round(at * (count - 1) / (wanted - 1)) for at in range(wanted)]
