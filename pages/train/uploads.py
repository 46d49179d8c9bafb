"""The data of the chosen task, generated, shipped or uploaded, and the upload of saved runs.

Uploads are private to their session. They are parsed at once, so that errors are reported before a training.
"""

from functools import lru_cache

import streamlit as st

from headlight import ROOT
from headlight.jobs.training import MAX_BYTES, convert_write_errors
from headlight.registry import get_source
from headlight.ui import sheet
from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.training import checkpoints, saved, tasks
from mha_core.training.tasks import Labelled, Task, TrainingData
from mha_core.training.tasks.table_file import LIMITS
from pages.frame import canvas, user, widgets

from .recipe_controls import TASKS, task_title
from .task_words import class_list

ZIP = b"PK"  # the first bytes of a zip file
TaskData = tuple[Task | None, TrainingData | None, list[str]]
_MAX_CLASSES = 8  # classes
_SHIPPED = "Shakespeare’s Coriolanus, acts I to IV, in the public domain; your own text replaces it."
_TEXT = "Your own text of at least 200 characters; it is kept for this session only"


generated_task = lru_cache(maxsize=8)(tasks.build)  # a task that needs no upload, by its name


@lru_cache(maxsize=1)
def shakespeare() -> bytes:
    """Return the default text, see assets/texts."""
    return (ROOT / checkpoints.TEXT).read_bytes()


def load_data(name: str, keep_duplicates: bool | None, context: int) -> TaskData:
    """Draw the uploads of a task; return the task, the data for the worker process, and notices.

    The task is None if there is no data yet, the data if the task is generated. `keep_duplicates` is None if the
    table's switch decides it; `context` is the number of characters in a model's context.
    """
    if name in tasks.NAMES:
        return generated_task(name), None, []
    contents: dict[str, bytes] = st.session_state.setdefault("brought", {})
    data = _text(contents) if name == "text" else _table(name, contents, keep_duplicates)
    if data is None:
        return None, None, []
    task, problem = _read(data, context)
    canvas.sheet("brought_notice", [sheet.text(_summary(task, data), muted=True)] if task else [])
    return task, data, [problem] if problem else []


def _summary(task: Task, data: TrainingData) -> str:
    """Describe the data before a training."""
    sentences = [_SHIPPED if data.content == shakespeare() else f"{task.title}."]
    if isinstance(task, Labelled):
        rows = f"{len(task.train):,} rows for training, {len(task.test):,} for testing"
        sentences.append(f"{rows}, {len(task.classes)} classes: {class_list(task.classes, _MAX_CLASSES)}.")
    return " ".join([*sentences, *task.notes])


def _text(contents: dict[str, bytes]) -> TrainingData:
    """Draw the box and the upload of a text; return its data, by default Shakespeare's."""

    def on_paste() -> None:
        contents["text"] = str(st.session_state["pasted"] or "").encode("utf-8", "replace")

    with st.expander("Your own text instead", expanded=False):
        st.text_area(_TEXT, key="pasted", on_change=on_paste, height=140)
        _upload("Or a text file (UTF-8, at most 1 MB)", ["txt", "md"], "text_file", 1, contents, "text")
    return TrainingData("text", contents.get("text") or shakespeare())


def _table(name: str, contents: dict[str, bytes], keep_duplicates: bool | None) -> TrainingData | None:
    megabytes = MAX_BYTES // 2**20
    with st.expander("Your table", expanded=name == "csv" and name not in contents):
        request = (
            "A table (CSV or JSON) with one column of texts and one of labels, of any names and in any language: "
            f"at most {megabytes} MB, {LIMITS['rows']:,} rows, {LIMITS['columns']} columns, {LIMITS['characters']:,} "
            "characters a cell"
        )
        _upload(request, ["csv", "tsv", "txt", "json", "jsonl"], f"{name}_file", megabytes, contents, name)
        left, middle, right = st.columns(3, vertical_alignment="bottom")
        with left:
            text = widgets.text("tc")
        with middle:
            label = widgets.text("lc")
        with (
            right,
            widgets.hidden_but_mounted("dups", keep_duplicates is None),
        ):  # the long post's experiments fix it
            keep = widgets.switch("dups")
    if name in contents:
        return TrainingData(name, contents[name], text, label, keep if keep_duplicates is None else keep_duplicates)
    return None


def _upload(label: str, kinds: list[str], key: str, megabytes: int, contents: dict[str, bytes], name: str) -> None:
    def on_file(content: bytes | None) -> None:
        if content is not None:
            contents[name] = content

    widgets.file(label, kinds, key, megabytes, on_file)


def _read(data: TrainingData, context: int) -> tuple[Task | None, str]:
    """Parse the data once; return the task, or None and the reason why there is none."""
    key = (data, context if data.kind == "text" else 0)
    entry = st.session_state.get("read_data")
    # comparing an unchanged upload is cheap, because its bytes are the same object
    if entry is None or entry[0] != key:
        try:
            with st.spinner("Reading the data"):
                task: tuple[Task | None, str] = tasks.from_outside(data, length=context), ""
        except HeadlightError as error:
            task = None, f"This data cannot be used: {error}."
        entry = st.session_state["read_data"] = (key, task)
    return entry[1]


def draw_upload() -> None:
    """Draw the upload of a saved run or a recording, which becomes one of the client's models."""

    def on_file(content: bytes | None) -> None:
        message = ""
        if content is not None:
            message = _open_run(content) if content.startswith(ZIP) else _open_recording(content)
        st.session_state["opened_notice"] = message

    megabytes = MAX_BYTES // 2**20
    with st.expander("Open a saved run or a recording"):
        label = f"A zip file downloaded from Headlight, or a recording (safetensors), at most {megabytes} MB"
        widgets.file(label, ["zip", "safetensors"], "run_file", megabytes, on_file)
        sentence = st.session_state.get("opened_notice", "")
        canvas.sheet("run_opened", [sheet.notices([sentence] if sentence else [])])


def _open_run(content: bytes) -> str:
    """Open a saved run and select its task; return a message for the page."""
    try:
        folder = user.new_folder() / "run"
        with convert_write_errors():
            task = saved.unpack(content, folder).recipe.task
        if task not in TASKS.values():
            raise WeightsFileError(f"there is no task {task!r:.40} here")
        run = user.add_run(folder)
    except HeadlightError as error:
        return f"This run cannot be opened: {error}. Models trained earlier are still there."
    st.session_state["task"] = task_title(task)
    return f"Opened: {run.label}. It can also be chosen as a model on the other pages."


def _open_recording(content: bytes) -> str:
    """Open a recording, which replaces the previous one; return a message for the page."""
    try:
        name = user.open_recording(content)
    except HeadlightError as error:
        return f"This file cannot be opened: {error}. A recording opened earlier is still there."
    return f"Opened: {get_source(name).title}. It can be chosen as a model on Maps."
