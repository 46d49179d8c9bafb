"""The report on a trained candidate: right and wrong answers, times, data, the other pages on it, files to keep."""

from typing import cast

import streamlit as st

from headlight.registry import source_of
from headlight.registry.trained import Shipped, Trained
from headlight.ui import pages, sheet
from mha_core.training.tasks import Labelled, Task
from pages.frame import canvas

from . import confusion, predictions, summary
from .ask_section import Questions
from .confusion import UnseenRows
from .runs import Runs, csv_of

_SHOWN_ON = ("explore", "shapes", "compare")


def open_in(shown: Runs, *, seen: bool) -> None:
    read = {name: model for name, model in shown.ready.items() if not source_of(model).about.reads_pictures}
    ways = [(f"Analyse “{name}”", pages.link("explore", ("model", model))) for name, model in read.items()]
    canvas.sheet("open_in", [sheet.links(ways)] if seen else [])


def draw(shown: Runs, task: Task | None, asked: Questions, *, is_open: bool) -> None:
    """Draws the choice of candidates, what they got right and wrong, and how all were trained.

    `asked`: their models and the sentences that were typed.
    """
    with st.container(border=True, key="judge_panel"):
        with st.container(horizontal=True, vertical_alignment="bottom", key="judge_bar"):
            names = confusion.controls([candidate.name for candidate in shown.candidates])
            if is_open:
                _ways_out(shown, shown.ready.get(names[0]))
        if is_open:
            confusion.draw(outcomes(shown, task), names)
    own = asked.task if asked.task and asked.task.classes == asked.classes else None
    typed = list(dict.fromkeys([asked.typed(0), asked.typed(1)]))
    seen = is_open and bool(asked.classes)
    predictions.draw(asked.classes, lambda: asked.models_of(names), own, typed, seen=seen)
    if is_open:
        about = sheet.text(summary.about_data(shown.first(names[0])), muted=True)
        canvas.sheet("trained", [sheet.panel("How they were trained", [about])])


def outcomes(shown: Runs, task: Task | None) -> dict[str, UnseenRows]:
    """What each candidate made of the test rows, where they were these rows."""
    if not isinstance(task, Labelled):
        return {}
    judged = {own.name: confusion.outcome(own.name, own.histories, task) for own in shown.candidates}
    return {name: one for name, one in judged.items() if one is not None}


def _ways_out(shown: Runs, model: str | None) -> None:
    """The other pages on this model, and files."""
    if model is not None:
        ways = [(f"Open in {pages.PAGES[page].title}", pages.link(page, ("model", model))) for page in _SHOWN_ON]
        canvas.sheet("ways_out", [] if source_of(model).about.reads_pictures else [sheet.links(ways)])
        st.download_button(
            "The trained model, zip",
            lambda: cast(Trained | Shipped, source_of(model)).packed(),
            "headlight-run.zip",
            "application/zip",
            on_click="ignore",
        )
    st.download_button(
        "All curves, CSV", lambda: csv_of(shown), "headlight-training.csv", "text/csv", on_click="ignore"
    )
