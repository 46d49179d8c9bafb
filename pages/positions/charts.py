"""Plotly figures of the page as plain dictionaries: signed heat maps, and a pair of channels as a plane."""

import math
from collections.abc import Sequence

from headlight.ui.figures import FEW_POINTS, Figure, base_layout, escaped, short
from headlight.ui.palette import PALETTES


def heat(
    values: Sequence[Sequence[float]],
    columns: Sequence[int],
    rows: Sequence[str],
    titles: tuple[str, str],
    theme: str,
    maximum: float,
) -> Figure:
    """Build a signed heat map, blue below 0 and orange above, with the first row on top.

    Args:
        values: a list per row.
        columns: tick labels.
        rows: tick labels.
        titles: of the horizontal and the vertical axis.
        theme: "dark" or "light".
        maximum: the absolute value of full colour.
    """
    layout, palette = base_layout(theme, *titles), PALETTES[theme]
    for axis, ticks in (("xaxis", 10), ("yaxis", 24)):
        layout[axis] |= {"type": "category", "nticks": ticks, "showgrid": False, "zeroline": False}
    layout["yaxis"]["autorange"] = "reversed"
    heat_map = {
        "type": "heatmap",
        "z": [[short(value) for value in line] for line in values],
        "x": list(map(str, columns)),
        "y": list(map(escaped, rows)),
        "zmin": -(maximum or 1.0),
        "zmax": maximum or 1.0,
        "colorscale": [[0, palette.less], [0.5, palette.none], [1, palette.more]],
        "colorbar": {"thickness": 12, "outlinewidth": 0, "tickfont": {"size": 13}, "nticks": 5, "xpad": 6},
        "hovertemplate": f"{titles[1]} %{{y}}, {titles[0]} %{{x}}: %{{z:.4g}}<extra></extra>",
    }
    return {"data": [heat_map], "layout": layout}


def circle(
    points: Sequence[tuple[float, float]], xy: tuple[float, float], name: str, *, x_title: str, y_title: str, theme: str
) -> Figure:
    """Build a chart of a pair of channels with a point per position and a hand to the selected one.

    Args:
        points: horizontal and vertical value of positions 0, 1, 2, ….
        xy: horizontal and vertical value of the selected position.
        name: its label.
        x_title: of the horizontal axis.
        y_title: of the vertical axis.
        theme: "dark" or "light".
    """
    layout, palette = base_layout(theme, x_title, y_title), PALETTES[theme]
    reach = 1.25 * max((math.hypot(*point) for point in [*points, xy]), default=1.0) or 1.0
    square = {"range": [-reach, reach], "nticks": 5, "constrain": "domain"}
    layout["xaxis"] |= square
    layout["yaxis"] |= {**square, "scaleanchor": "x"}
    layout["showlegend"] = False
    is_labelled = len(points) <= FEW_POINTS
    dots = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [short(point[0]) for point in points],
        "y": [short(point[1]) for point in points],
        "text": [str(place) if is_labelled and str(place) != name else "" for place in range(len(points))],
        "textposition": "top center",
        "textfont": {"size": 12, "color": palette.muted},
        "marker": {"color": palette.curves[0], "size": 7},
        "customdata": list(range(len(points))),
        "hovertemplate": "position %{customdata}: %{x:.4g}, %{y:.4g}<extra></extra>",
    }
    hand = {
        "type": "scatter",
        "mode": "lines+markers+text",
        "x": [0, short(xy[0])],
        "y": [0, short(xy[1])],
        "text": ["", escaped(name)],
        "textposition": "bottom center",
        "textfont": {"size": 14, "color": palette.ink},
        "line": {"color": palette.curves[1], "width": 3},
        "marker": {"color": palette.curves[1], "size": [0, 13], "symbol": "diamond", "opacity": 1},
        "hoverinfo": "skip",
    }
    return {"data": [dots, hand], "layout": layout}
