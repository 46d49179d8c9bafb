"""Opening a run that was saved before."""

import streamlit as st

from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.training import saved
from pages.kit.draw import canvas, sheet
from pages.kit.frame import widgets
from pages.kit.jobs import visitor
from pages.kit.jobs.training import MOST_BYTES, writing
from pages.kit.picture import models

from .recipe_controls import TASKS, title_of

ZIP = b"PK"  # how such a file begins


def draw() -> None:
    """Opens a saved run, which becomes one of this visitor's models."""
    megabytes = MOST_BYTES // 2**20
    with st.expander("Open a saved run or a recording"):
        label = f"A zip file that was downloaded here, or the safetensors of a recording, at most {megabytes} MB"
        widgets.file(label, ["zip", "safetensors"], "run_file", megabytes, _open)
        sentence = st.session_state.get("opened_told", "")
        canvas.sheet("run_opened", [sheet.notices([sentence] if sentence else [])])


def _open(content: bytes | None) -> None:
    if content is None:
        st.session_state["opened_told"] = ""
        return
    if not content.startswith(ZIP):
        st.session_state["opened_told"] = _open_recording(content)
        return
    try:
        folder = visitor.new_folder() / "run"
        with writing():
            task = saved.unpack(content, folder).recipe.task
        if task not in TASKS.values():
            raise WeightsFileError(f"there is no task {task!r:.40} here")
        run = visitor.add_run(folder)
    except HeadlightError as error:
        st.session_state["opened_told"] = f"This run cannot be opened: {error}. What was trained before is still there."
        return
    st.session_state["task"] = title_of(task)
    st.session_state["opened_told"] = f"Opened: {run.label}. It is one of the models on the other pages too."


def _open_recording(content: bytes) -> str:
    """Opens a recording, which takes the place of the one before; what is said of it."""
    try:
        name = visitor.open_recording(content)
    except HeadlightError as error:
        return f"This file cannot be opened: {error}. A recording that was opened before is still there."
    return f"Opened: {models.title(name)}. It is one of the models of the page Explore."
