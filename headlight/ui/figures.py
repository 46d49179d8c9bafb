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
from .palette import AXIS, DASHES, PALETTES, SYMBOLS, candidate_colour

Figure = dict[str, Any]
# for `st.plotly_chart`: no toolbar, as a table below shows the numbers
CONFIG: dict[str, Any] = {"displayModeBar": False, "displaylogo": False, "responsive": True}
HEIGHT = 340  # in pixels
MAX_POINTS = 600  # of a curve
FEW_POINTS = 48  # up to which each point has a label
SYMBOLS_SHOWN = 7  # on a curve


@dataclass(frozen=True)
class Curve:
    """A curve over integers, such as the steps of a training."""

    name: str  # label in the legend and the tooltip
    number: int  # index of the candidate, which selects colour and symbol
    x: Sequence[int]  # ascending integers
    y: Sequence[float | None]  # values, one for each x; None leaves a gap
    low: Sequence[float] = ()  # lower ends of a band, one for each x; empty without a band
    high: Sequence[float] = ()  # upper ends of the band
    band: str = ""  # name of the band in the legend, "" for none
    dash: int = 0  # index of the dash pattern, 0 for a solid line
    width: float = 2.5  # in pixels
    listed: bool = True  # whether the legend lists it


def line_chart(
    curves: Sequence[Curve],
    *,
    span: tuple[int, int],
    titles: tuple[str, str],
    theme: str,
    x_phrase: str = "at",
    height: int = HEIGHT,
    marks: Mapping[str, int] | None = None,
) -> Figure:
    """Return a line chart over integers; without a curve it shows the axes alone.

    Args:
        curves: the curves; long ones are sampled.
        span: the first and last value of the x axis, also while the curves are shorter.
        titles: titles of the x and the y axis.
        theme: a key of `PALETTES`.
        x_phrase: the words before x in a tooltip, which screen readers say too.
        height: in pixels.
        marks: name -> x of a vertical line.
    """
    layout = base_layout(theme, *titles, height=height)
    ticks, margin = _round_ticks(*span), 0.02 * (span[1] - span[0]) + 0.2
    layout["xaxis"] |= {"tickvals": ticks, "ticktext": [integer(x) for x in ticks], "zeroline": False}
    layout["xaxis"]["range"] = [span[0] - margin, span[1] + margin]
    colours = [candidate_colour(curve.number, theme) for curve in curves]
    data = [_band(curve, colour) for curve, colour in zip(curves, colours, strict=True) if curve.low]
    data += [_line(curve, colour, x_phrase) for curve, colour in zip(curves, colours, strict=True)]
    visible_marks = {name: x for name, x in (marks or {}).items() if span[0] <= x <= span[1]}
    _add_marks(layout, visible_marks, sum(span) / 2, PALETTES[theme].muted)
    return {"data": data, "layout": layout}


def escaped(text: str) -> str:
    """Return the text with HTML escaped, as Plotly renders tags."""
    return html.escape(text, quote=False)


def short(value: float) -> float:
    """Round to four digits, all that a chart can show, which takes a third of the bytes."""
    return float(f"{value:.4g}")


def base_layout(theme: str, x_title: str, y_title: str, *, height: int = HEIGHT) -> Figure:
    """Return the layout that all charts share: colours, fonts, margins and axes."""
    palette = PALETTES[theme]
    axis = {
        "gridcolor": palette.line,
        "zerolinecolor": palette.muted,
        "linecolor": palette.muted,
        "tickfont": {"size": AXIS["tick"], "color": palette.muted},
        "automargin": True,
        "ticklabeloverflow": "allow",  # otherwise Plotly forces a reflow of the page for each label
    }
    title = {"size": AXIS["title"], "color": palette.muted}
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": palette.ink, "size": AXIS["title"], "family": '"Source Sans", sans-serif'},
        "margin": {"l": 10, "r": 10, "t": 20, "b": 10},
        "height": height,
        "legend": {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "xanchor": "left", "x": 0},
        "hovermode": "closest",
        "dragmode": False,  # a finger on a chart scrolls the page
        "xaxis": axis | {"title": {"text": escaped(x_title), "font": title}},
        "yaxis": axis | {"title": {"text": escaped(y_title), "font": title, "standoff": 12}},
    }


def _line(curve: Curve, colour: str, x_phrase: str) -> Figure:
    """Return the trace of a curve; only solid curves get symbols, as those of other curves would cover them."""
    sample = slice(None, None, math.ceil(len(curve.x) / MAX_POINTS) or 1)
    symbols = {"size": 8, "symbol": SYMBOLS[curve.number % len(SYMBOLS)], "maxdisplayed": SYMBOLS_SHOWN}
    return {
        "type": "scatter",
        "name": escaped(curve.name),
        "mode": "lines" if curve.dash or not curve.listed else "lines+markers",
        "x": list(curve.x[sample]),
        "y": [None if value is None else short(value) for value in curve.y[sample]],
        "line": {"color": colour, "width": curve.width, "dash": DASHES[curve.dash % len(DASHES)]},
        "marker": {"color": colour, **symbols},
        "unselected": {"marker": {"opacity": 1}},  # a click on a point does not dim the others
        "showlegend": curve.listed,
        "hovertemplate": f"%{{fullData.name}}: %{{y:.4g}} {x_phrase} %{{x:,}}<extra></extra>",
    }


def _band(curve: Curve, colour: str) -> Figure:
    outline = {"x": [*curve.x, *reversed(curve.x)], "y": [*curve.high, *reversed(curve.low)]}
    look = {"mode": "lines", "line": {"width": 0}, "fill": "toself", "fillcolor": f"{colour}33", "hoverinfo": "skip"}
    return {"type": "scatter", "name": escaped(curve.band), "showlegend": bool(curve.band), **outline, **look}


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
