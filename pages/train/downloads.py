"""A trained candidate: its report and confusion matrix, the other pages on it, and files to keep."""

from __future__ import annotations

from typing import Any

import streamlit as st

from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.training import saved
from mha_core.training.tasks import Labelled, Language
from pages.kit.draw import canvas, sheet
from pages.kit.frame import links, widgets
from pages.kit.frame.layout import PAGES
from pages.kit.jobs import visitor
from pages.kit.jobs.training import MOST_BYTES, writing
from pages.kit.picture import models

from . import confusion
from .recipe_controls import TASKS, title_of
from .runs import Shown, csv_of

_SHOWN_ON = ("explore", "shapes", "compare")


def judge(shown: Shown, task: Labelled | Language | None) -> None:
    """Draws the choice of a candidate, what its first seed got right and wrong, and links to the pages on models."""
    names = [candidate.name for candidate in shown.candidates]
    with st.container(border=True, key="judge_panel"):
        canvas.sheet("judge_title", [sheet.title("One model in detail", "its first seed")])
        with st.container(horizontal=True, vertical_alignment="bottom"):
            name = widgets.choice("cand", names)
            model = shown.ready.get(name)
            if model is not None:
                query = [(key, value) for key, value in links.kept() if key != "model"]
                for page in _SHOWN_ON:
                    st.page_link(
                        f"../../{page}/page.py", label=f"Open in {PAGES[page]}", query_params=[*query, ("model", model)]
                    )
                st.download_button(
                    "The trained model, zip",
                    lambda: saved.pack(models.folder(model)),
                    "headlight-run.zip",
                    "application/zip",
                    on_click="ignore",
                )
            st.download_button(
                "All curves, CSV", lambda: csv_of(shown), "headlight-training.csv", "text/csv", on_click="ignore"
            )
        history = shown.first(name)
        if isinstance(task, Labelled) and confusion.usable(history, task) and history.end is not None:
            _verdicts(task, history.end.predicted)


def _verdicts(task: Labelled, predicted: list[int]) -> None:
    chosen: tuple[int, int] | None = st.session_state.get("judged_cell")
    if chosen is not None and max(chosen) >= len(task.classes):
        chosen = None
    blocks = [
        sheet.row([confusion.confusion(task, predicted, chosen), confusion.report(task, predicted)]),
        *([confusion.listed(task, predicted, chosen)] if chosen else []),
    ]
    canvas.sheet("verdicts", blocks, _choose)


def _choose(event: dict[str, Any]) -> None:
    """Takes a cell of the confusion matrix that was chosen, or let go again."""
    row, col = event.get("row"), event.get("col")
    if event.get("edit") == confusion.CELL and isinstance(row, int) and isinstance(col, int) and min(row, col) >= 0:
        st.session_state["judged_cell"] = None if st.session_state.get("judged_cell") == (row, col) else (row, col)


def files() -> None:
    """Opens a saved run, which becomes one of this visitor's models."""
    megabytes = MOST_BYTES // 2**20
    with st.expander("Open a saved run"):
        label = f"A zip file that was downloaded here, at most {megabytes} MB"
        st.file_uploader(label, ["zip"], key="run_file", on_change=_open, max_upload_size=megabytes)
        sentence = st.session_state.get("opened_told", "")
        canvas.sheet("run_opened", [sheet.notices([sentence] if sentence else [])])


def _open() -> None:
    file = st.session_state["run_file"]
    if file is None:
        st.session_state["opened_told"] = ""
        return
    try:
        folder = visitor.new_folder() / "run"
        with writing():
            task = saved.unpack(file.getvalue(), folder).recipe.task
        if task not in TASKS.values():
            raise WeightsFileError(f"there is no task {task!r:.40} here")
        run = visitor.add_run(folder)
    except HeadlightError as error:
        st.session_state["opened_told"] = f"This run cannot be opened: {error}. What was trained before is still there."
        return
    st.session_state.setdefault("opened_runs", []).append(run.id)
    st.session_state["task"] = title_of(task)
    st.session_state["opened_told"] = f"Opened: {run.label}. It is one of the models on the other pages too."
