"""Charts of curves as Plotly's plain dictionaries; plotly itself is left to the caller.

Axes of whole numbers have tickvals and ticktext. Every text goes through `escaped`, because Plotly renders <b>, <br>
and <a>. Lines differ by colour, dash and symbol.
"""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .numbers import whole
from .palette import DASHES, PALETTES, SYMBOLS, candidate_colour

Figure = dict[str, Any]
# for `st.plotly_chart`: no tools over the curves; the numbers stand in a table
CONFIG: dict[str, Any] = {"displayModeBar": False, "displaylogo": False, "responsive": True}
MAX_POINTS = 600  # of a curve
FEW_POINTS = 48  # up to which each has its symbol or number
SYMBOLS_SHOWN = 7  # on a curve over steps


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


def curves(
    series: Mapping[str, Sequence[float]],
    *,
    start: int = 0,
    x_title: str,
    y_title: str,
    theme: str,
    spread: tuple[Sequence[float], Sequence[float], str] | None = None,
    marks: Mapping[str, int] | None = None,
) -> Figure:
    """Curves over whole numbers in equal steps; of long ones every second, third, … point is drawn.

    Args:
        series: name -> values at start, start + 1, ….
        spread: lower ends, upper ends and the name of a band to draw behind them.
        marks: name -> the whole number at which an upright line is drawn.
    """
    layout = layout_of(theme, x_title, y_title)
    length = max(len(values) for values in series.values())
    few = length <= FEW_POINTS
    places = range(0, length, math.ceil(length / MAX_POINTS))
    ticks = _round_ticks(start, start + length - 1)
    layout["xaxis"] |= {"tickvals": ticks, "ticktext": [whole(x) for x in ticks], "zeroline": False}
    layout["xaxis"]["range"] = [start - 0.02 * length - 0.2, start + 1.02 * length - 0.8]
    data: list[Figure] = []
    if spread is not None:
        low, high, name = spread
        ends = [low[at] for at in places], [high[at] for at in places]
        data.append(_band([start + at for at in places], *ends, PALETTES[theme].muted) | {"name": escaped(name)})
    for number, (name, values) in enumerate(series.items()):
        drawn = [at for at in places if at < len(values)]
        line = _line(name, [start + at for at in drawn], [short(values[at]) for at in drawn], number, theme)
        line["mode"] = "lines+markers" if few else "lines"
        data.append(line | {"hovertemplate": "%{fullData.name}: %{y:.4g} at %{x}<extra></extra>"})
    layout["showlegend"] = len(data) > 1
    inside = {name: at for name, at in (marks or {}).items() if start <= at <= start + length - 1}
    _mark(layout, inside, start + length / 2, PALETTES[theme].muted)
    return {"data": data, "layout": layout}


def over_steps(
    curves: Sequence[Curve],
    *,
    span: int,
    y_title: str,
    theme: str,
    share: bool,
    height: int = 340,
) -> Figure:
    """Curves over the steps of a training, from 0 to `span` however far they have come.

    Args:
        share: the values lie between 0 and 1, and all of that is shown.

    Without a curve the axes stand alone.
    """
    layout = layout_of(theme, "step", y_title, height=height)
    ticks = _round_ticks(0, span)
    layout["xaxis"] |= {"tickvals": ticks, "ticktext": [whole(x) for x in ticks], "zeroline": False}
    layout["xaxis"]["range"] = [-0.02 * span, 1.02 * span]
    levels = {"range": [-0.03, 1.03], "tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".2f"}
    layout["yaxis"] |= {"zeroline": False, **(levels if share else {"rangemode": "tozero"})}
    if not curves and not share:
        layout["yaxis"]["range"] = [0, 1]
    data = [
        _band(curve.x, curve.low, curve.high, candidate_colour(curve.number, theme)) | {"showlegend": False}
        for curve in curves
        if curve.low
    ]
    for curve in curves:
        values = [None if value is None else short(value) for value in curve.y]
        line = _line(curve.name, curve.x, values, curve.number, theme)
        # symbols tell the solid curves apart; the others would be hidden under theirs
        line["mode"] = "lines+markers" if not curve.dash and curve.listed else "lines"
        colour = {"color": candidate_colour(curve.number, theme)}
        line["line"] = {**colour, "width": curve.width, "dash": DASHES[curve.dash % len(DASHES)]}
        line["marker"] |= {**colour, "size": 8, "maxdisplayed": SYMBOLS_SHOWN}
        line["unselected"] = {"marker": {"opacity": 1}}  # a point that is pressed does not dim the others
        line["showlegend"] = curve.listed
        data.append(line | {"hovertemplate": "%{fullData.name}: %{y:.4g} after step %{x:,}<extra></extra>"})
    return {"data": data, "layout": layout}


def escaped(text: str) -> str:
    """Text that Plotly shows letter by letter."""
    return html.escape(text, quote=False)


def short(value: float) -> float:
    """Four digits: what a chart can show, at a third of the bytes."""
    return float(f"{value:.4g}")


def layout_of(theme: str, x_title: str, y_title: str, *, height: int = 340) -> Figure:
    palette = PALETTES[theme]
    axis = {
        "gridcolor": palette.line,
        "zerolinecolor": palette.muted,
        "linecolor": palette.muted,
        "tickfont": {"size": 13},
        "automargin": True,
        "ticklabeloverflow": "allow",  # otherwise Plotly has the page laid out once more for each label
    }
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": palette.ink, "size": 14, "family": '"Source Sans", sans-serif'},
        "margin": {"l": 10, "r": 10, "t": 20, "b": 10},
        "height": height,
        "legend": {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "xanchor": "left", "x": 0},
        "hovermode": "closest",
        "dragmode": False,  # a finger on a chart scrolls the page
        "xaxis": axis | {"title": {"text": escaped(x_title), "font": {"size": 14}}},
        "yaxis": axis | {"title": {"text": escaped(y_title), "font": {"size": 14}, "standoff": 12}},
    }


def _line(name: str, x: Sequence[int], y: Sequence[float | None], number: int, theme: str) -> Figure:
    """A curve in the look of its number."""
    colours = PALETTES[theme].curves
    colour = {"color": colours[number % len(colours)]}
    return {
        "type": "scatter",
        "name": escaped(name),
        "mode": "lines+markers",
        "x": list(x),
        "y": list(y),
        "line": {**colour, "width": 2, "dash": DASHES[number % len(DASHES)]},
        "marker": {**colour, "size": 6, "symbol": SYMBOLS[number % len(SYMBOLS)]},
    }


def _band(x: Sequence[int], low: Sequence[float], high: Sequence[float], colour: str) -> Figure:
    outline = {"x": [*x, *reversed(x)], "y": [*high, *reversed(low)]}
    look = {"mode": "lines", "line": {"width": 0}, "fill": "toself", "fillcolor": f"{colour}33", "hoverinfo": "skip"}
    return {"type": "scatter", **outline, **look}


def _mark(layout: Figure, marks: Mapping[str, int], middle: float, colour: str) -> None:
    """Draws upright lines with their names, which lean to the side of the middle."""
    across = {"yref": "paper", "y0": 0, "y1": 1, "line": {"color": colour, "width": 1.5, "dash": "dot"}}
    layout["shapes"] = [{"type": "line", "x0": x, "x1": x, **across} for x in marks.values()]
    above = {"yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False, "font": {"color": colour, "size": 13}}
    layout["annotations"] = [
        {"x": x, "text": escaped(name), "xanchor": "right" if x > middle else "left", **above}
        for name, x in marks.items()
    ]
    if marks:
        layout["margin"]["t"] = 30


def _round_ticks(first: int, last: int) -> list[int]:
    """At most ten round whole numbers between two."""
    step = next(
        step * 10**power for power in range(9) for step in (1, 2, 5) if (last - first) / (step * 10**power) <= 9
    )
    return list(range(math.ceil(first / step) * step, last + 1, step))
