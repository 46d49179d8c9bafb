"""Charts as Plotly's plain dictionaries: curves, heat maps, circles. No streamlit, and plotly is left to the caller.

Axes of whole numbers have tickvals and ticktext. Every text goes through `plain`, because Plotly renders <b>, <br> and
<a>. Lines differ by colour, dash and symbol.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

__all__ = [
    "CONFIG",
    "Curve",
    "Figure",
    "Point",
    "candidate_colour",
    "circle",
    "curves",
    "heat",
    "lines",
    "over_steps",
    "plain",
]

Figure = dict[str, Any]
# for `st.plotly_chart`: no tools over the curves; the numbers stand in a table
CONFIG: dict[str, Any] = {"displayModeBar": False, "displaylogo": False, "responsive": True}
_INK = {"dark": ("#E8ECF6", "#93A0BD", "#26304A"), "light": ("#1B2233", "#5A6375", "#E3E0D6")}
_COLOURS = {
    "dark": ("#56B4E9", "#F0A830", "#2FC793", "#F0E442", "#E58FC0", "#E07B52", "#B3A4F5"),
    "light": ("#0072B2", "#8A5A00", "#00755A", "#6B6200", "#A3387A", "#B04A00", "#5B45C0"),
}
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid")
# less, nothing, more: the colours of differences in the maps
_SIGNED = {"dark": ("#6EA8FF", "#151C2E", "#FF9A6B"), "light": ("#1B59C6", "#FFFFFF", "#B23A0B")}
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star")
_MOST_POINTS = 600  # of a curve
_FEW_POINTS = 48  # up to which each has its symbol or number
_SYMBOLS_SHOWN = 7  # on a curve over steps


@dataclass(frozen=True)
class Point:
    """One point of a line: x, y, and the ends of its spread."""

    x: int
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class Curve:
    """A curve over steps.

    Attributes:
        name: what the legend and the pointer say.
        number: of the candidate, which gives the curve its colour and its symbol.
        x, y: the steps, and a value at each; None leaves a gap.
        low, high: the ends of the band around it, one at each step; empty without a band.
        dash: the number of its dashes; 0 is a solid line.
        width: in pixels.
        listed: whether it stands in the legend.
    """

    name: str
    number: int
    x: Sequence[int]
    y: Sequence[float | None]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    dash: int = 0
    width: float = 2.5
    listed: bool = True


def lines(
    curves: Mapping[str, Sequence[Point]],
    *,
    order: Sequence[str],
    x_title: str,
    y_title: str,
    theme: str,
    reference: tuple[float, str] | None = None,
) -> Figure:
    """Lines over a logarithmic axis of whole numbers, each with its spread.

    Args:
        curves: name -> points by rising x.
        order: all names that there could be: a name keeps its look whichever others are shown.
        x_title, y_title: what the axes show, with units.
        theme: "dark" or "light".
        reference: a level to draw across, and its name.
    """
    ticks = sorted({point.x for points in curves.values() for point in points})
    layout = _layout(theme, x_title, y_title, height=420)
    layout["xaxis"] |= {"type": "log", "tickvals": ticks, "ticktext": [f"{x:,}" for x in ticks]}
    layout["yaxis"]["rangemode"] = "tozero"
    # set, because Plotly would stretch a single point over several powers of ten
    layout["xaxis"]["range"] = [math.log10(ticks[0]) - 0.1, math.log10(ticks[-1]) + 0.1]
    data = [_line(name, points, order.index(name), theme) for name, points in curves.items()]
    if reference is not None:
        level, name = reference
        data.append(
            {
                "type": "scatter",
                "name": plain(name),
                "mode": "lines",
                "x": [10**end for end in layout["xaxis"]["range"]],
                "y": [level, level],
                "line": {"color": _INK[theme][0], "width": 1.5, "dash": "dot"},
                "hoverinfo": "skip",
            }
        )
    return {"data": data, "layout": layout}


def curves(
    series: Mapping[str, Sequence[float]],
    *,
    start: int = 0,
    x_title: str,
    y_title: str,
    theme: str,
    spread: tuple[Sequence[float], Sequence[float], str] | None = None,
    marks: Mapping[str, int] | None = None,
    x_names: Sequence[str] | None = None,
    steps: bool = False,
) -> Figure:
    """Curves over whole numbers in equal steps; of long ones every second, third, … point is drawn.

    Args:
        series: name -> values at start, start + 1, ….
        spread: lower ends, upper ends and the name of a band to draw behind them.
        marks: name -> the whole number at which an upright line is drawn.
        x_names: what to write at each; default the numbers.
        steps: True joins the points by stairs.
    """
    layout = _layout(theme, x_title, y_title)
    length = max(len(values) for values in series.values())
    places = range(0, length, math.ceil(length / _MOST_POINTS))
    ticks = _round_ticks(start, start + length - 1)
    if x_names is not None and length <= _FEW_POINTS:
        ticks = list(range(start, start + length))
    names = [plain(x_names[x - start]) if x_names else _whole(x) for x in ticks]
    layout["xaxis"] |= {"tickvals": ticks, "ticktext": names, "zeroline": False}
    layout["xaxis"]["range"] = [start - 0.02 * length - 0.2, start + 1.02 * length - 0.8]
    _, muted, _ = _INK[theme]
    data: list[Figure] = []
    if spread is not None:
        low, high, name = spread
        x = [start + place for place in places]
        ends = {"x": [*x, *reversed(x)], "y": [high[at] for at in places] + [low[at] for at in reversed(places)]}
        look = {"mode": "lines", "line": {"width": 0}, "fill": "toself", "fillcolor": f"{muted}33", "hoverinfo": "skip"}
        data.append({"type": "scatter", "name": plain(name), **ends, **look})
    for number, (name, values) in enumerate(series.items()):
        colour = _COLOURS[theme][number % len(_COLOURS[theme])]
        shape = "hv" if steps else "linear"
        few = length <= _FEW_POINTS
        data.append(
            {
                "type": "scatter",
                "name": plain(name),
                "mode": "lines+markers" if few else "lines",
                "x": [start + place for place in places if place < len(values)],
                "y": [_short(values[place]) for place in places if place < len(values)],
                "line": {"color": colour, "width": 2, "dash": _DASHES[number % len(_DASHES)], "shape": shape},
                "marker": {"color": colour, "size": 6, "symbol": _SYMBOLS[number % len(_SYMBOLS)]},
                "hovertemplate": "%{fullData.name}: %{y:.4g} at %{x}<extra></extra>",
            }
        )
    layout["showlegend"] = len(data) > 1
    layout["shapes"], layout["annotations"] = [], []
    for name, x_at in (marks or {}).items():
        if start <= x_at <= start + length - 1:
            line = {"color": muted, "width": 1.5, "dash": "dot"}
            layout["shapes"].append(
                {"type": "line", "x0": x_at, "x1": x_at, "yref": "paper", "y0": 0, "y1": 1, "line": line}
            )
            side = "right" if x_at > start + length / 2 else "left"
            text = {"text": plain(name), "showarrow": False, "xanchor": side, "font": {"color": muted, "size": 13}}
            layout["annotations"].append({"x": x_at, "yref": "paper", "y": 1, "yanchor": "bottom", **text})
    if layout["annotations"]:
        layout["margin"]["t"] = 30
    return {"data": data, "layout": layout}


def over_steps(
    curves: Sequence[Curve], *, span: int, y_title: str, theme: str, share: bool, height: int = 340
) -> Figure:
    """Curves over the steps of a training, from 0 to `span` however far they have come.

    Args:
        share: the values lie between 0 and 1, and all of that is shown.
    """
    layout = _layout(theme, "step", y_title, height=height)
    ticks = _round_ticks(0, span)
    layout["xaxis"] |= {"tickvals": ticks, "ticktext": [_whole(x) for x in ticks], "zeroline": False}
    layout["xaxis"]["range"] = [-0.02 * span, 1.02 * span]
    layout["yaxis"] |= {"zeroline": False}
    if share:
        layout["yaxis"] |= {"range": [-0.03, 1.03], "tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".2f"}
    else:
        layout["yaxis"]["rangemode"] = "tozero"
    data: list[Figure] = []
    for curve in curves:
        colour = candidate_colour(curve.number, theme)
        if curve.low:
            outline = {"x": [*curve.x, *reversed(curve.x)], "y": [*curve.high, *reversed(curve.low)]}
            look = {"mode": "lines", "line": {"width": 0}, "fill": "toself", "fillcolor": f"{colour}33"}
            data.append({"type": "scatter", **outline, **look, "hoverinfo": "skip", "showlegend": False})
    for curve in curves:
        colour = candidate_colour(curve.number, theme)
        symbol = _SYMBOLS[curve.number % len(_SYMBOLS)]
        # symbols tell the solid curves apart; the others would be hidden under theirs
        marked = {"mode": "lines+markers"} if not curve.dash and curve.listed else {"mode": "lines"}
        data.append(
            {
                "type": "scatter",
                "name": plain(curve.name),
                **marked,
                "x": list(curve.x),
                "y": [None if value is None else _short(value) for value in curve.y],
                "line": {"color": colour, "width": curve.width, "dash": _DASHES[curve.dash % len(_DASHES)]},
                "marker": {"color": colour, "size": 8, "symbol": symbol, "maxdisplayed": _SYMBOLS_SHOWN},
                "hovertemplate": "%{fullData.name}: %{y:.4g} after step %{x:,}<extra></extra>",
                "showlegend": curve.listed,
            }
        )
    return {"data": data, "layout": layout}


def candidate_colour(number: int, theme: str) -> str:
    """The colour that a candidate of a training has in every chart; the first, mostly "none", is muted."""
    blue, amber, green, *others = _COLOURS[theme]
    # the third encoding and the fourth change places: sinusoidal is blue and rotary amber
    own = (_INK[theme][1], blue, green, amber, *others)
    return own[number % len(own)]


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
    layout = _layout(theme, x_title, y_title, height=height)
    largest = most or max((abs(value) for line in values for value in line if value is not None), default=0.0) or 1.0
    in_order = all(first < second for first, second in pairwise(x))
    across = list(x) if in_order else list(range(len(x)))
    for axis, places, names, room in (
        ("xaxis", across, [_whole(place) for place in x], 10),
        ("yaxis", list(y), y_names or [_whole(place) for place in y], 24),
    ):
        every = math.ceil(len(places) / room)
        layout[axis] |= {
            "tickvals": places[::every],
            "ticktext": [plain(text) for text in names[::every]],
            "showgrid": False,
            "zeroline": False,
        }
    layout["yaxis"]["autorange"] = "reversed"
    less, none, more = _SIGNED[theme]
    place = "%{x}" if in_order else "%{customdata}"
    heat_map = {
        "type": "heatmap",
        "z": [[None if value is None else _short(value) for value in line] for line in values],
        "x": across,
        "y": list(y),
        "zmin": -largest,
        "zmax": largest,
        "colorscale": [[0, less], [0.5, none], [1, more]],
        "colorbar": {"thickness": 12, "outlinewidth": 0, "tickfont": {"size": 13}, "nticks": 5, "xpad": 6},
        "hoverongaps": False,
        "hovertemplate": f"{plain(y_title)} %{{y}}, {plain(x_title)} {place}: %{{z:.4g}}<extra></extra>",
    }
    if not in_order:
        heat_map["customdata"] = [list(x)] * len(values)
    return {"data": [heat_map], "layout": layout}


def circle(
    points: Sequence[tuple[float, float]], at: tuple[float, float], name: str, *, x_title: str, y_title: str, theme: str
) -> Figure:
    """Where a pair of channels lies at each position, and the chosen one as a hand of the clock.

    Args:
        points: across and up, for positions 0, 1, 2, ….
        at, name: the chosen one, and what to write at it.
    """
    layout = _layout(theme, x_title, y_title)
    ink, muted, _ = _INK[theme]
    reach = 1.25 * max((math.hypot(*point) for point in [*points, at]), default=1.0) or 1.0
    layout["xaxis"] |= {"range": [-reach, reach], "nticks": 5, "constrain": "domain"}
    layout["yaxis"] |= {"range": [-reach, reach], "nticks": 5, "scaleanchor": "x", "constrain": "domain"}
    layout["showlegend"] = False
    few = len(points) <= _FEW_POINTS
    colour = _COLOURS[theme][0]
    dots = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [_short(point[0]) for point in points],
        "y": [_short(point[1]) for point in points],
        "text": [str(place) if few and str(place) != name else "" for place in range(len(points))],
        "textposition": "top center",
        "textfont": {"size": 12, "color": muted},
        "marker": {"color": colour, "size": 7},
        "customdata": list(range(len(points))),
        "hovertemplate": "position %{customdata}: %{x:.4g}, %{y:.4g}<extra></extra>",
    }
    hand = {
        "type": "scatter",
        "mode": "lines+markers+text",
        "x": [0, _short(at[0])],
        "y": [0, _short(at[1])],
        "text": ["", plain(name)],
        "textposition": "bottom center",
        "textfont": {"size": 14, "color": ink},
        "line": {"color": _COLOURS[theme][1], "width": 3},
        "marker": {"color": _COLOURS[theme][1], "size": [0, 13], "symbol": "diamond", "opacity": 1},
        "hoverinfo": "skip",
    }
    return {"data": [dots, hand], "layout": layout}


def plain(text: str) -> str:
    """Text as Plotly shows it letter by letter."""
    return html.escape(text, quote=False)


def _layout(theme: str, x_title: str, y_title: str, *, height: int = 340) -> Figure:
    """What all charts share."""
    ink, muted, grid = _INK[theme]
    axis = {"gridcolor": grid, "zerolinecolor": muted, "linecolor": muted, "tickfont": {"size": 13}, "automargin": True}
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": ink, "size": 14, "family": '"Source Sans", sans-serif'},
        "margin": {"l": 10, "r": 10, "t": 20, "b": 10},
        "height": height,
        "legend": {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "xanchor": "left", "x": 0},
        "hovermode": "closest",
        "dragmode": False,  # a finger on a chart scrolls the page
        "xaxis": axis | {"title": {"text": plain(x_title), "font": {"size": 14}}},
        "yaxis": axis | {"title": {"text": plain(y_title), "font": {"size": 14}, "standoff": 12}},
    }


def _round_ticks(first: int, last: int) -> list[int]:
    """At most ten round whole numbers between two."""
    step = next(
        step * 10**power for power in range(9) for step in (1, 2, 5) if (last - first) / (step * 10**power) <= 9
    )
    return list(range(math.ceil(first / step) * step, last + 1, step))


def _whole(number: int) -> str:
    return f"{number:,}".replace("-", "−")


def _short(value: float) -> float:
    """Four digits: what a chart can show, at a third of the bytes."""
    return float(f"{value:.4g}")


def _line(name: str, points: Sequence[Point], number: int, theme: str) -> Figure:
    colours = _COLOURS[theme]
    colour = colours[number % len(colours)]
    return {
        "type": "scatter",
        "name": plain(name),
        "mode": "lines+markers",
        "x": [point.x for point in points],
        "y": [point.y for point in points],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [point.high - point.y for point in points],
            "arrayminus": [point.y - point.low for point in points],
            "thickness": 1.2,
            "width": 4,
        },
        "line": {"color": colour, "width": 2, "dash": _DASHES[number % len(_DASHES)]},
        "marker": {"color": colour, "size": 9, "symbol": _SYMBOLS[number % len(_SYMBOLS)]},
        "hovertemplate": "%{fullData.name}: %{y:.3g} at %{x:,}<extra></extra>",
    }
