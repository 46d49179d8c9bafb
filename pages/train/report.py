"""The report on a trained candidate: its answers, times and data, links to other pages, and files to download."""

from typing import cast

import streamlit as st

from headlight.registry import get_source
from headlight.registry.trained import Shipped, Trained
from headlight.ui import pages, sheet
from pages.frame import canvas

from . import confusion, long_post, predictions, summary
from .ask_section import Questions
from .runs import Runs, to_csv

_LINKED_PAGES = ("explore", "shapes", "compare")


def draw_links(runs: Runs, *, seen: bool) -> None:
    """Draw a link to the page Maps for each candidate with a model."""
    readers = {name: model for name, model in runs.model_names.items() if not get_source(model).about.reads_pictures}
    links = [(f"Analyse “{name}”", pages.link("explore", ("model", model))) for name, model in readers.items()]
    canvas.sheet("open_in", [sheet.links(links)] if seen else [])


def draw(runs: Runs, questions: Questions, position: str, *, is_open: bool) -> None:
    """Draw the choice of candidates, their right and wrong answers, and the settings of the training.

    Args:
        runs: the runs to report on.
        questions: the test rows and the models that answer them.
        position: positional encoding of the candidate that is shown first.
        is_open: whether the tab is open.
    """
    first = next((c.name for c in runs.candidates if c.histories and c.histories[0].recipe.position == position), None)
    with st.container(border=True, key="judge_panel"):
        with st.container(horizontal=True, vertical_alignment="bottom", key="judge_bar"):
            names = confusion.controls([candidate.name for candidate in runs.candidates], first)
            if is_open:
                _draw_exports(runs, runs.model_names.get(names[0]))
        if is_open:
            confusion.draw(runs.candidates, questions.task, names)
    predictions.draw(questions, names, is_open=is_open)
    if is_open:
        about = sheet.text(summary.about_data(runs.first_run(names[0])), muted=True)
        canvas.sheet("trained", [sheet.panel("How they were trained", [about])])
        is_news = runs.first_run(names[0]).recipe.task == "news"
        canvas.sheet("long_post", long_post.panels() if is_news else [])


def _draw_exports(runs: Runs, model: str | None) -> None:
    """Draw links to other pages with this model, and the downloads."""
    if model is not None:
        links = [(f"Open in {pages.PAGES[page].title}", pages.link(page, ("model", model))) for page in _LINKED_PAGES]
        canvas.sheet("ways_out", [] if get_source(model).about.reads_pictures else [sheet.links(links)])
        st.download_button(
            "The trained model, zip",
            lambda: cast(Trained | Shipped, get_source(model)).to_zip(),
            "headlight-run.zip",
            "application/zip",
            on_click="ignore",
        )
    st.download_button("All curves, CSV", lambda: to_csv(runs), "headlight-training.csv", "text/csv", on_click="ignore")
