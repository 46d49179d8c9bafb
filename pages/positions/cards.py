"""The parts of portraits on the page: those of two encodings beside each other."""

from collections.abc import Sequence

import streamlit as st

from pages.kit.draw import canvas

from .parts import Part

MARGIN = 0.05  # of the range of an upright axis, kept free above and below the curves


def show_row(parts: Sequence[Part | None], *, charts: bool = True) -> None:
    """Parts side by side; one alone has the whole width. `charts`: as well as the words."""
    if len(parts) == 1:
        show_part("0", parts[0], wide=True, charts=charts)
    elif any(parts):
        _level([part for part in parts if part])
        for side, (column, part) in enumerate(zip(st.columns(len(parts)), parts, strict=True)):
            with column:
                show_part(str(side), part, charts=charts)


def _level(parts: Sequence[Part]) -> None:
    """Gives the charts of one unit one upright axis: over all their values; others keep their own."""
    charts = [part.figure for part in parts if part.unit and part.figure is not None]
    if len(charts) < 2 or len({part.unit for part in parts}) > 1:
        return
    values = [float(y) for chart in charts for line in chart["data"] for y in line["y"]]
    least, most = min(values), max(values)
    free = MARGIN * (most - least) or MARGIN
    for chart in charts:
        chart["layout"]["yaxis"]["range"] = [least - free, most + free]


def show_part(side: str, part: Part | None, *, wide: bool = False, charts: bool = True) -> None:
    """Words and numbers of a part, and its chart under them, or beside them where it has the whole width."""
    if part is None:
        return
    name = f"{side}_{part.slot}"
    with st.container(key=f"part_{name}_panel", border=True, height="stretch"):
        left, right = st.columns([2, 3]) if wide and part.figure else (st.container(), st.container())
        with left:
            canvas.sheet(f"words_{name}", part.blocks)
        if part.figure is not None and charts:
            with right:
                canvas.chart(f"chart_{name}", part.figure, part.alt)
