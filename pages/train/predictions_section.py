"""Every answer of the chosen candidates, to be sorted, filtered and taken along; computed when it is unfolded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from mha_core.errors import HeadlightError
from pages.kit.draw import canvas, events, sheet
from pages.kit.draw.numbers import count
from pages.kit.frame import missing, widgets
from pages.kit.picture import words

from . import predictions
from .predictions import CHOICES, PredictedRows, TableFilter

if TYPE_CHECKING:
    from pandas import DataFrame

_KEYS = ("only", "true", "said", "sort", "desc")

Answers = Callable[[], tuple[list[PredictedRows], list[str]]]


def draw(classes: Sequence[str], answers: Answers, *, seen: bool) -> None:
    """Draws the table under its controls.

    Args:
        classes: their names; none where there is nothing to predict.
        answers: every answer, and sentences on them; asked for only when they are looked at.
        seen: otherwise the controls alone are mounted, for the link.
    """
    names = predictions.columns(classes)
    with (
        widgets.kept_mounted("predictions", seen),
        widgets.folded("predictions", "Every prediction: a row per text, its probabilities", *_KEYS, lazy=True) as fold,
    ):
        choice = _controls(classes, names)
        if not (seen and fold.open):
            return
        try:
            parts, notes = answers()
        except HeadlightError as error:
            canvas.sheet("predictions", [sheet.notices([words.sentence(error)])])
            return
        if not parts:
            canvas.sheet("predictions", [sheet.text("There is no model here that can be asked.")])
            return
        with missing.package_error():
            _draw_table(predictions.frame(parts), choice, notes, names)


def _draw_table(table: DataFrame, choice: TableFilter, notes: Sequence[str], names: list[str]) -> None:
    """Draws the chosen rows, and gives all of them as a file."""
    kept = predictions.chosen(table, choice)
    said = [sheet.text(sentence, muted=True) for sentence in notes]
    canvas.sheet("predictions", [predictions.block(kept, choice, len(table)), *said], _sorter(names))
    st.download_button(
        f"{count(len(kept), 'row')}, CSV",
        lambda: predictions.csv_of(kept),
        "headlight-predictions.csv",
        "text/csv",
        key="predictions_file",
        on_click="ignore",
    )


def _controls(classes: Sequence[str], names: list[str]) -> TableFilter:
    """Draws what is kept and how it is sorted."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="predictions_bar"):
        only = widgets.choice("only", CHOICES)
        actual = widgets.optional_choice("true", "any", classes)
        predicted = widgets.optional_choice("said", "any", classes)
        by = widgets.choice("sort", names)
        down = widgets.switch("desc")
    return TableFilter(only, actual, predicted, by, down)


def _sorter(names: list[str]) -> Callable[[dict[str, Any]], None]:
    """Takes the head of a column that was pressed: sorted by it, and turned round where it was so already."""

    def sort(event: dict[str, Any]) -> None:
        at = events.whole(event, "sort")
        if at is None or not 0 <= at < len(names):
            return
        again = st.session_state.get("sort") == names[at]
        is_share = names[at].startswith("P(")  # of which the largest are looked for
        st.session_state["desc"] = not st.session_state.get("desc") if again else is_share
        st.session_state["sort"] = names[at]

    return sort
