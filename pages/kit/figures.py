"""Charts as Plotly's plain dictionaries: curves with a spread. No streamlit, and plotly itself is left to the caller.

Axes of whole numbers have tickvals and ticktext. Every text goes through `plain`, because Plotly renders <b>, <br> and
<a>. Lines differ by colour, dash and symbol.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["CONFIG", "Point", "lines", "plain"]

Figure = dict[str, Any]
# for `st.plotly_chart`: no tools over the curves; the numbers stand in a table
CONFIG: dict[str, Any] = {"displayModeBar": False, "displaylogo": False, "responsive": True}
_INK = {"dark": ("#E8ECF6", "#93A0BD", "#26304A"), "light": ("#1B2233", "#5A6375", "#E3E0D6")}
_COLOURS = {
    "dark": ("#56B4E9", "#F0A830", "#2FC793", "#F0E442", "#E58FC0", "#E07B52", "#B3A4F5"),
    "light": ("#0072B2", "#8A5A00", "#00755A", "#6B6200", "#A3387A", "#B04A00", "#5B45C0"),
}
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star")


@dataclass(frozen=True)
class Point:
    """One point of a line: x, y, and the ends of its spread."""

    x: int
    y: float
    low: float
    high: float


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
    ink, muted, grid = _INK[theme]
    ticks = sorted({point.x for points in curves.values() for point in points})
    axis = {"gridcolor": grid, "zerolinecolor": muted, "linecolor": muted, "tickfont": {"size": 13}, "automargin": True}
    layout: Figure = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": ink, "size": 14, "family": '"Source Sans", sans-serif'},
        "margin": {"l": 10, "r": 10, "t": 20, "b": 10},
        "height": 420,
        "legend": {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "xanchor": "left", "x": 0},
        "hovermode": "closest",
        "dragmode": False,  # a finger on a chart scrolls the page
        "xaxis": axis
        | {"title": {"text": plain(x_title)}, "type": "log", "tickvals": ticks, "ticktext": [f"{x:,}" for x in ticks]},
        "yaxis": axis | {"title": {"text": plain(y_title)}, "rangemode": "tozero"},
    }
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
                "line": {"color": ink, "width": 1.5, "dash": "dot"},
                "hoverinfo": "skip",
            }
        )
    return {"data": data, "layout": layout}


def plain(text: str) -> str:
    """Text as Plotly shows it letter by letter."""
    return html.escape(text, quote=False)


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
