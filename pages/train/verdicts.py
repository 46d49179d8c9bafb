"""What candidates got right and wrong: one or two of them beside each other, of one seed or of all together."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.kit.draw import canvas, sheet
from pages.kit.draw.sheet import Block
from pages.kit.frame import widgets

from . import confusion
from .confusion import ConfusionCell, UnseenRows

ALL_SEEDS = "all together"


def controls(names: list[str], seeds: list[int]) -> tuple[list[str], int | None]:
    """Draws the choice of candidates and seeds: the names of one or two, and a seed, None = all of them.

    Args:
        seeds: that at least one of them was trained with.
    """
    first = widgets.choice("cand", names)
    second = widgets.optional_choice("cand2", "nothing", names)
    of_runs = widgets.choice("run", [ALL_SEEDS, *(f"seed {seed}" for seed in seeds)])
    chosen = [first] + [second] * (second is not None and second != first)
    return [name for name in chosen if name], None if of_runs == ALL_SEEDS else int(of_runs.removeprefix("seed "))


def draw(outcomes: Mapping[str, UnseenRows], names: list[str], seed: int | None) -> None:
    shown = [outcomes[name].of(seed) for name in names if name in outcomes]
    if not shown:
        canvas.sheet("verdicts", [])
        return
    chosen: ConfusionCell | None = st.session_state.get("judged_cell")
    if chosen is not None and max(chosen) >= len(shown[0].classes):
        chosen = None
    panels = [_panel(one, chosen, number, narrow=len(shown) > 1) for number, one in enumerate(shown)]
    canvas.sheet("verdicts", [sheet.row(panels, even=True)] if len(shown) > 1 else panels, _choose)


def _panel(of: UnseenRows, chosen: ConfusionCell | None, number: int, *, narrow: bool) -> Block:
    """The matrix beside the report, or above it; the sentences of a chosen cell take the report's place."""
    matrix, report = confusion.confusion(of, chosen, number), confusion.report(of)
    sentences = [confusion.listed(of, chosen)] if chosen else []
    blocks = (
        [matrix, report, *sentences]
        if narrow
        else [sheet.row([matrix, *(sentences or [report])]), *([report] if sentences else [])]
    )
    return sheet.panel(f"What “{of.name}” got right and wrong", blocks, of.seeds)


def _choose(event: dict[str, Any]) -> None:
    """Takes a cell of a confusion matrix that was chosen, or let go again."""
    row, col = event.get("row"), event.get("col")
    which = str(event.get("edit")).startswith(confusion.CELL)
    if which and isinstance(row, int) and isinstance(col, int) and min(row, col) >= 0:
        st.session_state["judged_cell"] = None if st.session_state.get("judged_cell") == (row, col) else (row, col)
