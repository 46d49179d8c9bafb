"""The parts of portraits on the page: two portraits part by part beside each other, or a single one in two columns."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.kit.draw import canvas

from .parts import Part
from .portraits import SLOTS


def show(portraits: Sequence[list[Part]]) -> None:
    """The cards side by side, then their other parts."""
    _show_row([parts[0] for parts in portraits])
    rest = [parts[1:] for parts in portraits if parts[1:]]
    if len(rest) == 2:
        left, right = ({part.slot: part for part in parts} for parts in rest)
        for slot in SLOTS[1:]:
            _show_row([left.get(slot), right.get(slot)])
    elif rest:
        for start in range(0, len(rest[0]), 2):
            _show_row(rest[0][start : start + 2])


def _show_row(parts: Sequence[Part | None]) -> None:
    """Parts side by side; one alone has the whole width."""
    if len(parts) == 1:
        show_part("0", parts[0], wide=True)
    elif any(parts):
        for side, (column, part) in enumerate(zip(st.columns(len(parts)), parts, strict=True)):
            with column:
                show_part(str(side), part)


def show_part(side: str, part: Part | None, *, wide: bool = False) -> None:
    """Words and numbers of a part, and its chart under them, or beside them where it has the whole width."""
    if part is None:
        return
    name = f"{side}_{part.slot}"
    with st.container(key=f"part_{name}", border=True, height="stretch"):
        left, right = st.columns([2, 3]) if wide and part.figure else (st.container(), st.container())
        with left:
            canvas.sheet(f"words_{name}", part.blocks)
        if part.figure is not None:
            with right:
                canvas.chart(f"chart_{name}", part.figure, part.alt)
