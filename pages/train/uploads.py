"""The data of the chosen task, made by a generator, shipped or brought by the visitor, and runs that were saved before.

What is brought the visit keeps to itself.

Files and texts become a task here once, so that what is wrong with them is said before anything is trained.
"""

from functools import lru_cache
from pathlib import Path

import streamlit as st

from headlight.jobs.training import MAX_BYTES, writing
from headlight.registry import source_of
from headlight.ui import sheet
from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.training import saved, tasks
from mha_core.training.tasks import Labelled, Task, TrainingData
from mha_core.training.tasks.table import LIMITS
from pages.frame import canvas, visitor, widgets

from .recipe_controls import TASKS, title_of

GENERATED = frozenset(tasks.NAMES)  # tasks that need nothing from outside
ZIP = b"PK"  # how the file of a saved run begins
Brought = tuple[Task | None, TrainingData | None, list[str]]
_MAX_NAMED = 8  # classes
_SHAKESPEARE = Path(__file__).parents[2] / "assets" / "texts" / "shakespeare.txt"
_SHIPPED = "Shakespeare’s Coriolanus, acts I to IV, in the public domain; your own text replaces it."
_TEXT = "Your own text of at least 200 characters; it is kept for this session only"


@lru_cache(maxsize=8)
def built(name: str) -> Task:
    """A task that needs nothing from outside."""
    return tasks.build(name)


@lru_cache(maxsize=1)
def shakespeare() -> bytes:
    """The text that is there without a file; see assets/texts."""
    return _SHAKESPEARE.read_bytes()


def data_of(name: str, keep_duplicates: bool | None, context: int) -> Brought:
    """The task, what a worker needs to make it again, and sentences; no task while there is no data.

    Args:
        keep_duplicates: of a table, None = as its switch says.
        context: characters of a text that are seen at once.
    """
    if name in GENERATED:
        return built(name), None, []
    contents: dict[str, bytes] = st.session_state.setdefault("brought", {})
    data = _text(contents) if name == "text" else _table(name, contents, keep_duplicates)
    if data is None:
        return None, None, []
    task, problem = _read(data, context)
    canvas.sheet("brought_told", [sheet.text(_summary(task, data), muted=True)] if task else [])
    return task, data, [problem] if problem else []


def _summary(task: Task, data: TrainingData) -> str:
    """The data in words, before anything is trained on it."""
    sentences = [_SHIPPED if data.content == shakespeare() else f"{task.title}."]
    if isinstance(task, Labelled):
        names = ", ".join(f"“{name:.30}”" for name in task.classes[:_MAX_NAMED])
        more = ", …" if len(task.classes) > _MAX_NAMED else ""
        rows = f"{len(task.train):,} rows for training, {len(task.test):,} for testing"
        sentences.append(f"{rows}, {len(task.classes)} classes: {names}{more}.")
    return " ".join([*sentences, *task.notes])


def _text(contents: dict[str, bytes]) -> TrainingData:
    """The visitor's text, pasted or out of a file; Shakespeare's while there is none."""

    def pasted() -> None:
        contents["text"] = str(st.session_state["pasted"] or "").encode("utf-8", "replace")

    with st.expander("Your own text instead", expanded=False):
        st.text_area(_TEXT, key="pasted", on_change=pasted, height=140)
        _upload("Or a text file (UTF-8, at most 1 MB)", ["txt", "md"], "text_file", 1, contents, "text")
    return TrainingData("text", contents.get("text") or shakespeare())


def _table(name: str, contents: dict[str, bytes], keep_duplicates: bool | None) -> TrainingData | None:
    megabytes = MAX_BYTES // 2**20
    with st.expander("Your table", expanded=name == "csv" and name not in contents):
        request = (
            "A CSV file with one column of texts and one of labels, with any names and in any language: UTF-8, at most "
            f"{megabytes} MB, {LIMITS['rows']:,} rows, {LIMITS['columns']} columns, {LIMITS['characters']:,} "
            "characters a cell"
        )
        _upload(request, ["csv", "tsv", "txt"], f"{name}_file", megabytes, contents, name)
        left, middle, right = st.columns(3, vertical_alignment="bottom")
        with left:
            text = widgets.text("tc")
        with middle:
            label = widgets.text("lc")
        with (
            right,
            widgets.hidden_but_mounted("dups", keep_duplicates is None),
        ):  # the long post's experiment decides it
            keep = widgets.switch("dups")
    if name in contents:
        return TrainingData(name, contents[name], text, label, keep if keep_duplicates is None else keep_duplicates)
    return None


def _upload(label: str, kinds: list[str], key: str, megabytes: int, contents: dict[str, bytes], name: str) -> None:
    def take(content: bytes | None) -> None:
        if content is not None:
            contents[name] = content

    widgets.file(label, kinds, key, megabytes, take)


def _read(data: TrainingData, context: int) -> tuple[Task | None, str]:
    """The task of these bytes, or the reason why there is none; read once."""
    wanted = (data, context if data.kind == "text" else 0)
    known = st.session_state.get("read_data")
    # a content that stayed is the same object, which takes no look at its bytes
    if known is None or known[0] != wanted:
        try:
            with st.spinner("Reading the data"):
                task: tuple[Task | None, str] = tasks.from_outside(data, length=context), ""
        except HeadlightError as error:
            task = None, f"This data cannot be used: {error}."
        known = st.session_state["read_data"] = (wanted, task)
    return known[1]


def saved_run() -> None:
    """Opens a saved run, which becomes one of this visitor's models."""

    def take(content: bytes | None) -> None:
        told = ""
        if content is not None:
            told = _opened_run(content) if content.startswith(ZIP) else _opened_recording(content)
        st.session_state["opened_told"] = told

    megabytes = MAX_BYTES // 2**20
    with st.expander("Open a saved run or a recording"):
        label = f"A zip file downloaded from Headlight, or a recording (safetensors), at most {megabytes} MB"
        widgets.file(label, ["zip", "safetensors"], "run_file", megabytes, take)
        sentence = st.session_state.get("opened_told", "")
        canvas.sheet("run_opened", [sheet.notices([sentence] if sentence else [])])


def _opened_run(content: bytes) -> str:
    """Opens a run, whose task becomes the chosen one; what is said of it."""
    try:
        folder = visitor.new_folder() / "run"
        with writing():
            task = saved.unpack(content, folder).recipe.task
        if task not in TASKS.values():
            raise WeightsFileError(f"there is no task {task!r:.40} here")
        run = visitor.add_run(folder)
    except HeadlightError as error:
        return f"This run cannot be opened: {error}. Models trained earlier are still there."
    st.session_state["task"] = title_of(task)
    return f"Opened: {run.label}. It can also be chosen as a model on the other pages."


def _opened_recording(content: bytes) -> str:
    """Opens a recording, which takes the place of the one before; what is said of it."""
    try:
        name = visitor.open_recording(content)
    except HeadlightError as error:
        return f"This file cannot be opened: {error}. A recording opened earlier is still there."
    return f"Opened: {source_of(name).title}. It can be chosen as a model on Explore."
