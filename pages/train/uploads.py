"""The data of the chosen task: made by a generator, or what the visitor brings. A visit keeps it to itself.

Files and texts become a task here once, so that what is wrong with them is said before anything is trained.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import streamlit as st

from mha_core.errors import HeadlightError
from mha_core.training import tasks
from mha_core.training.tasks import Labelled, Language
from mha_core.training.tasks.table import LIMITS
from pages.kit.draw import canvas, sheet
from pages.kit.frame import layout
from pages.kit.frame.links import BOUND, DEFAULTS
from pages.kit.jobs.training import MOST_BYTES, Data

__all__ = ["Brought", "built", "data_of"]

Brought = tuple[Labelled | Language | None, Data | None, list[str]]
_MOST_NAMED = 8  # classes
_TEXT = "A text of your own, of at least 200 characters; it stays in this visit"
_HUB = "Fetch BBC news from the Hugging Face hub (asks a server outside this machine)"
_NOT_FOR_OTHERS = "Switched off on a server that serves others"
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


@lru_cache(maxsize=8)
def built(name: str) -> Labelled | Language:
    """A task that needs nothing from outside."""
    return tasks.build(name)


def data_of(name: str, keep_duplicates: bool | None) -> Brought:
    """The task, what a worker needs to make it again, and what must be said; no task while there is no data.

    `keep_duplicates`: of a table, None = as its switch says.
    """
    if name in tasks.NAMES:
        return built(name), None, []
    kept: dict[str, bytes] = st.session_state.setdefault("brought", {})
    if name == "text":
        _ask_for_text(kept)
        content = kept.get("text")
        made = Data("text", content) if content else None
    else:
        made = _ask_for_table(name, kept, keep_duplicates)
    if made is None:
        return None, None, []
    task, problem = _read(made)
    canvas.sheet("brought_told", [sheet.text(_told(task), muted=True)] if task else [])
    return task, made, [problem] if problem else []


def _told(task: Labelled | Language) -> str:
    """What was made of the data, before anything is trained on it."""
    said = f"{task.title}. "
    if isinstance(task, Labelled):
        names = ", ".join(f"“{name:.30}”" for name in task.classes[:_MOST_NAMED])
        more = ", …" if len(task.classes) > _MOST_NAMED else ""
        said += f"{len(task.train):,} rows for training, {len(task.test):,} for testing, {len(task.classes)} classes: "
        said += f"{names}{more}. "
    return said + " ".join(task.notes)


def _ask_for_text(kept: dict[str, bytes]) -> None:
    def pasted() -> None:
        kept["text"] = str(st.session_state["pasted"] or "").encode("utf-8", "replace")

    place = st.expander("Your text", expanded=not kept.get("text"))
    with place:
        st.text_area(_TEXT, key="pasted", on_change=pasted, height=140)
        _upload("Or a text file (UTF-8, at most 1 MB)", ["txt", "md"], "text_file", 1, kept, "text")


def _ask_for_table(name: str, kept: dict[str, bytes], keep_duplicates: bool | None) -> Data | None:
    with st.expander("Your table", expanded=name not in kept):
        label = (
            f"A CSV file with a column of texts and one of labels: UTF-8, at most {MOST_BYTES // 2**20} MB, "
            f"{LIMITS['rows']:,} rows, {LIMITS['columns']} columns, "
            f"{LIMITS['characters']:,} characters a cell"
        )
        _upload(label, ["csv", "tsv", "txt"], f"{name}_file", MOST_BYTES // 2**20, kept, name)
        left, middle, right = st.columns(3, vertical_alignment="bottom")
        text = left.text_input("Column of the texts", DEFAULTS["tc"], key="tc", bind=BOUND)
        column = middle.text_input("Column of the labels", DEFAULTS["lc"], key="lc", bind=BOUND)
        with layout.seen(right, "dups", keep_duplicates is None):  # the long post's experiment decides it itself
            keep = st.toggle("Keep duplicate rows", DEFAULTS["dups"], key="dups", bind=BOUND)
        if name == "news":
            alone = st.get_option("server.address") in _THIS_MACHINE
            if st.button(_HUB, key="hub", disabled=not alone, help=None if alone else _NOT_FOR_OTHERS):
                kept["hub"] = b"asked for"
                kept.pop("news", None)
    if name in kept:
        return Data(name, kept[name], text, column, keep if keep_duplicates is None else keep_duplicates)
    return Data("hub") if name == "news" and "hub" in kept else None


def _upload(label: str, kinds: list[str], key: str, megabytes: int, kept: dict[str, bytes], name: str) -> None:
    def take() -> None:
        found = st.session_state[key]
        if found is not None:
            kept[name] = found.getvalue()

    st.file_uploader(label, kinds, key=key, on_change=take, max_upload_size=megabytes)


def _read(data: Data) -> tuple[Labelled | Language | None, str]:
    """The task of these bytes, or why there is none; read once."""
    makers: dict[str, Callable[[], Labelled | Language]] = {
        "text": lambda: tasks.from_text(data.content),
        "hub": tasks.from_hub,
    }

    def table() -> Labelled:
        return tasks.from_csv(
            data.content, text=data.text, label=data.label, keep_duplicates=data.keep_duplicates, name=data.kind
        )

    known = st.session_state.get("read_data")
    if known is None or known[0] != data:  # a content that stayed is the same object, which takes no look at its bytes
        try:
            with st.spinner("Reading the data"):
                found: tuple[Labelled | Language | None, str] = makers.get(data.kind, table)(), ""
        except HeadlightError as error:
            found = None, f"This data cannot be used: {error}."
        known = st.session_state["read_data"] = (data, found)
    return known[1]
