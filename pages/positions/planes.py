"""Charts of planes as Plotly's plain dictionaries: signed heat maps, and a pair of channels on its circle."""

import math
from collections.abc import Sequence
from itertools import pairwise

from headlight.ui.figures import FEW_POINTS, Figure, escaped, layout_of, short
from headlight.ui.numbers import whole
from headlight.ui.palette import PALETTES


def heat(
    values: Sequence[Sequence[float | None]],
    *,
    x: Sequence[int],
    y: Sequence[int],
    x_title: str,
    y_title: str,
    theme: str,
    y_names: Sequence[str] | None = None,
    most: float | None = None,
    height: int = 340,
) -> Figure:
    """A signed heat map: blue is less than 0, orange more. The first row is on top, as in a matrix.

    Args:
        values: a row a list; None leaves a gap.
        x, y: the whole number that each column and row stands for; y rises.
        y_names: what to write at the rows; default the numbers.
        most: the value of full colour; default the largest.
    """
    layout = layout_of(theme, x_title, y_title, height=height)
    largest = most or max((abs(value) for line in values for value in line if value is not None), default=0.0) or 1.0
    in_order = all(first < second for first, second in pairwise(x))
    across = list(x) if in_order else list(range(len(x)))
    for axis, places, names, room in (
        ("xaxis", across, [whole(place) for place in x], 10),
        ("yaxis", list(y), y_names or [whole(place) for place in y], 24),
    ):
        every = math.ceil(len(places) / room)
        ticks = {"tickvals": places[::every], "ticktext": [escaped(text) for text in names[::every]]}
        layout[axis] |= {**ticks, "showgrid": False, "zeroline": False}
    layout["yaxis"]["autorange"] = "reversed"
    palette = PALETTES[theme]
    place = "%{x}" if in_order else "%{customdata}"
    heat_map = {
        "type": "heatmap",
        "z": [[None if value is None else short(value) for value in line] for line in values],
        "x": across,
        "y": list(y),
        "zmin": -largest,
        "zmax": largest,
        "colorscale": [[0, palette.less], [0.5, palette.none], [1, palette.more]],
        "colorbar": {"thickness": 12, "outlinewidth": 0, "tickfont": {"size": 13}, "nticks": 5, "xpad": 6},
        "hoverongaps": False,
        "hovertemplate": f"{escaped(y_title)} %{{y}}, {escaped(x_title)} {place}: %{{z:.4g}}<extra></extra>",
    }
    if not in_order:
        heat_map["customdata"] = [list(x)] * len(values)
    return {"data": [heat_map], "layout": layout}


def circle(
    points: Sequence[tuple[float, float]], at: tuple[float, float], name: str, *, x_title: str, y_title: str, theme: str
) -> Figure:
    """A pair of channels as a point for each position, and the chosen one as a hand of the clock.

    Args:
        points: across and up, for positions 0, 1, 2, ….
        at, name: the chosen one, and what to write at it.
    """
    layout, palette = layout_of(theme, x_title, y_title), PALETTES[theme]
    reach = 1.25 * max((math.hypot(*point) for point in [*points, at]), default=1.0) or 1.0
    square = {"range": [-reach, reach], "nticks": 5, "constrain": "domain"}
    layout["xaxis"] |= square
    layout["yaxis"] |= {**square, "scaleanchor": "x"}
    layout["showlegend"] = False
    few = len(points) <= FEW_POINTS
    dots = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [short(point[0]) for point in points],
        "y": [short(point[1]) for point in points],
        "text": [str(place) if few and str(place) != name else "" for place in range(len(points))],
        "textposition": "top center",
        "textfont": {"size": 12, "color": palette.muted},
        "marker": {"color": palette.curves[0], "size": 7},
        "customdata": list(range(len(points))),
        "hovertemplate": "position %{customdata}: %{x:.4g}, %{y:.4g}<extra></extra>",
    }
    hand = {
        "type": "scatter",
        "mode": "lines+markers+text",
        "x": [0, short(at[0])],
        "y": [0, short(at[1])],
        "text": ["", escaped(name)],
        "textposition": "bottom center",
        "textfont": {"size": 14, "color": palette.ink},
        "line": {"color": palette.curves[1], "width": 3},
        "marker": {"color": palette.curves[1], "size": [0, 13], "symbol": "diamond", "opacity": 1},
        "hoverinfo": "skip",
    }
    return {"data": [dots, hand], "layout": layout}
