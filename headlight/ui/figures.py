"""Line charts as Plotly's plain dictionaries, so that plotly itself is not imported.

Axes of integers have tickvals and ticktext. Every text goes through `escaped`, because Plotly renders <b>, <br> and
<a>. Lines differ by colour, dash and symbol.
"""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .numbers import integer
from .palette import DASHES, PALETTES, SYMBOLS, candidate_colour

Figure = dict[str, Any]
# for `st.plotly_chart`: no toolbar, as a table below shows the numbers
CONFIG: dict[str, Any] = {"displayModeBar": False, "displaylogo": False, "responsive": True}
MAX_POINTS = 600  # of a curve
FEW_POINTS = 48  # up to which each point has a symbol
SYMBOLS_SHOWN = 7  # on a curve over steps


@dataclass(frozen=True)
class Curve:
    """A curve over the steps of a training.

    Attributes:
        name: label in the legend and the tooltip.
        number: index of the candidate, which selects colour and symbol.
        x: steps.
        y: values, one a step; None leaves a gap.
        low: lower ends of a band, one a step; empty without a band.
        high: upper ends of the band.
        dash: index of the dash pattern, 0 for a solid line.
        width: in pixels.
        listed: whether the legend lists it.
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
    """Return a line chart of series over consecutive integers, sampled if they are long.

    Args:
        series: name -> values at start, start + 1, ….
        start: x of the first values.
        x_title: title of the x axis.
        y_title: title of the y axis.
        theme: a key of `PALETTES`.
        spread: lower ends, upper ends and the name of a band behind the curves.
        marks: name -> x of a vertical line.
    """
    layout = base_layout(theme, x_title, y_title)
    length = max(len(values) for values in series.values())
    is_short = length <= FEW_POINTS
    sampled = range(0, length, math.ceil(length / MAX_POINTS))
    ticks = _round_ticks(start, start + length - 1)
    layout["xaxis"] |= {"tickvals": ticks, "ticktext": [integer(x) for x in ticks], "zeroline": False}
    layout["xaxis"]["range"] = [start - 0.02 * length - 0.2, start + 1.02 * length - 0.8]
    data: list[Figure] = []
    if spread is not None:
        low, high, name = spread
        bounds = [low[n] for n in sampled], [high[n] for n in sampled]
        data.append(_band([start + n for n in sampled], *bounds, PALETTES[theme].muted) | {"name": escaped(name)})
    for number, (name, values) in enumerate(series.items()):
        indices = [n for n in sampled if n < len(values)]
        line = _line(name, [start + n for n in indices], [short(values[n]) for n in indices], number, theme)
        line["mode"] = "lines+markers" if is_short else "lines"
        data.append(line | {"hovertemplate": "%{fullData.name}: %{y:.4g} at %{x}<extra></extra>"})
    layout["showlegend"] = len(data) > 1
    visible_marks = {name: x for name, x in (marks or {}).items() if start <= x <= start + length - 1}
    _add_marks(layout, visible_marks, start + length / 2, PALETTES[theme].muted)
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
    """Return a line chart over the steps of a training; without a curve it shows the axes alone.

    Args:
        curves: the curves.
        span: the last step of the x axis, also while the curves are shorter.
        y_title: title of the y axis.
        theme: a key of `PALETTES`.
        share: the values are shares, and the y axis shows all of 0 to 1.
        height: in pixels.
    """
    layout = base_layout(theme, "step", y_title, height=height)
    ticks = _round_ticks(0, span)
    layout["xaxis"] |= {"tickvals": ticks, "ticktext": [integer(x) for x in ticks], "zeroline": False}
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
        # only solid curves get symbols, as those of other curves would cover them
        line["mode"] = "lines+markers" if not curve.dash and curve.listed else "lines"
        colour = {"color": candidate_colour(curve.number, theme)}
        line["line"] = {**colour, "width": curve.width, "dash": DASHES[curve.dash % len(DASHES)]}
        line["marker"] |= {**colour, "size": 8, "maxdisplayed": SYMBOLS_SHOWN}
        line["unselected"] = {"marker": {"opacity": 1}}  # a click on a point does not dim the others
        line["showlegend"] = curve.listed
        data.append(line | {"hovertemplate": "%{fullData.name}: %{y:.4g} after step %{x:,}<extra></extra>"})
    return {"data": data, "layout": layout}


def escaped(text: str) -> str:
    """Return the text with HTML escaped, as Plotly renders tags."""
    return html.escape(text, quote=False)


def short(value: float) -> float:
    """Round to four digits, all that a chart can show, which takes a third of the bytes."""
    return float(f"{value:.4g}")


def base_layout(theme: str, x_title: str, y_title: str, *, height: int = 340) -> Figure:
    """Return the layout that all charts share: colours, fonts, margins and axes."""
    palette = PALETTES[theme]
    axis = {
        "gridcolor": palette.line,
        "zerolinecolor": palette.muted,
        "linecolor": palette.muted,
        "tickfont": {"size": 13},
        "automargin": True,
        "ticklabeloverflow": "allow",  # otherwise Plotly forces a reflow of the page for each label
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
    """Return the trace of a curve in the colour, dash and symbol of its number."""
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


def _add_marks(layout: Figure, marks: Mapping[str, int], middle: float, colour: str) -> None:
    """Add labelled vertical lines to a layout, each label on the side of the middle."""
    line_style = {"yref": "paper", "y0": 0, "y1": 1, "line": {"color": colour, "width": 1.5, "dash": "dot"}}
    layout["shapes"] = [{"type": "line", "x0": x, "x1": x, **line_style} for x in marks.values()]
    label = {"yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False, "font": {"color": colour, "size": 13}}
    layout["annotations"] = [
        {"x": x, "text": escaped(name), "xanchor": "right" if x > middle else "left", **label}
        for name, x in marks.items()
    ]
    if marks:
        layout["margin"]["t"] = 30


def _round_ticks(first: int, last: int) -> list[int]:
    """Return at most ten round integers between two."""
    step = next(
        step * 10**power for power in range(9) for step in (1, 2, 5) if (last - first) / (step * 10**power) <= 9
    )
    return list(range(math.ceil(first / step) * step, last + 1, step))
