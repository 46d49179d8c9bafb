"""The predictions of trained classifiers as one table of texts, probabilities, predicted and true classes.

Every text is a batch of its own; predictions of test rows are cached for all sessions. The table is a pandas frame, to
be sorted, filtered and downloaded. pandas takes half a second to import, so the table is built when it is unfolded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st
import torch
from cachetools import LRUCache
from cachetools.keys import hashkey
from torch import Tensor

from headlight.picture import words
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.ui import events, sheet
from headlight.ui.numbers import count, cut, share
from headlight.ui.sheet import Block
from headlight.ui.tables import quoted
from mha_core.errors import HeadlightError
from mha_core.token_text import quote
from mha_core.training import inference
from mha_core.training.tasks import Labelled
from pages.frame import canvas, missing, widgets

from . import confusion
from .answers import Models, TrainedModel
from .ask_section import Questions

if TYPE_CHECKING:
    from pandas import DataFrame

TYPED = "typed"  # in the column "row", for typed texts
UNKNOWN = ""  # their true class
ALL_ROWS, RIGHT_ROWS, WRONG_ROWS, TYPED_ROWS = "every row", "right answers", "wrong answers", "typed sentences"
CHOICES = (ALL_ROWS, WRONG_ROWS, RIGHT_ROWS, TYPED_ROWS)
MAX_VISIBLE = 100  # rows on the screen; the file has all
CACHE_BYTES = 16 * 2**20
ENTRY_BYTES = 1024  # of an empty tensor with its key
MAX_ROWS = 5_000  # of the test rows; an uploaded table may have more
BATCH_ROWS = 256  # texts in one slot
_MAX_LETTERS = 80  # of a text on the screen
_DECIMALS = 3
_KEYS = ("only", "true", "said", "sort", "desc")

_cache: LRUCache[object, Tensor] = LRUCache(CACHE_BYTES, getsizeof=lambda tensor: ENTRY_BYTES + tensor.nbytes)


def text_probabilities(trained: TrainedModel, texts: Sequence[str]) -> Tensor:
    """Return the probabilities (rows, classes) of a few typed texts."""
    with pass_slot():
        return inference.unpadded_probabilities(trained.model, texts, on_warning=trained.notices.append)


@single_flight(_cache, lambda trained, task: hashkey(trained.id, str(trained.model.device), task.fingerprint))
def test_probabilities(trained: TrainedModel, task: Labelled) -> Tensor:
    """Return the probabilities (rows, classes) of the first `MAX_ROWS` test rows."""
    texts = [row.text for row in task.test[:MAX_ROWS]]
    return torch.cat([text_probabilities(trained, texts[i : i + BATCH_ROWS]) for i in range(0, len(texts), BATCH_ROWS)])


def prediction_table(models: Models, task: Labelled | None, typed: Sequence[str]) -> DataFrame | None:
    """Return the predictions of the models for the test rows and the typed texts; None if there are none.

    Models with other classes are left out. Raises what `inference.unpadded_probabilities` raises.
    """
    import pandas as pd

    probabilities = dict[str, Tensor]()
    classes = task.classes if task else next((inference.classes(trained.model) for trained in models.values()), ())
    for name, trained in models.items():
        if inference.classes(trained.model) == classes:
            rows = [text_probabilities(trained, typed)]
            probabilities[name] = torch.cat(rows if task is None else [test_probabilities(trained, task), *rows])
    test = task.test[:MAX_ROWS] if task else ()
    texts, labels = [*(row.text for row in test), *typed], [*(row.label for row in test), *[None] * len(typed)]
    tables = [frame(name, classes, texts, labels, chances) for name, chances in probabilities.items()]
    return pd.concat(tables, ignore_index=True) if tables else None


def frame(
    model: str, classes: Sequence[str], texts: Sequence[str], labels: Sequence[int | None], chances: Tensor
) -> DataFrame:
    """Return the predictions of one model as a table.

    The chances are (rows, classes); a label is None if the true class is unknown.
    """
    import pandas as pd

    table = pd.DataFrame(chances.numpy(), columns=[*map(probability_column, classes)])
    table.insert(0, "row", [TYPED if label is None else str(index) for index, label in enumerate(labels)])
    table.insert(1, "text", list(texts))
    table["predicted"] = [classes[index] for index in chances.argmax(dim=-1).tolist()]
    table["actual"] = [UNKNOWN if label is None else classes[label] for label in labels]
    table["model"] = model
    return table


def notes(models: Models, table: DataFrame, task: Labelled | None) -> list[str]:
    """Return sentences on the models and rows of the table, and on differences from the report's answers."""
    sentences = []
    if task is not None and len(task.test) > MAX_ROWS:
        sentences.append(f"Only the first {MAX_ROWS:,} of {len(task.test):,} test rows were evaluated.")
    for name in dict.fromkeys(table["model"]):
        history = models[name].model.history
        if history is None or history.start is None:
            continue
        sentence = f"{quote(name)}: seed {history.recipe.seed}, every text evaluated alone."
        max_length = history.start.longest
        if max_length == history.recipe.max_len:
            sentence += f" Of texts of more than {max_length} tokens these are read, as in training."
        if task is not None and history.end is not None and confusion.has_predictions(history, task):
            single = table[(table["model"] == name) & (table["row"] != TYPED)]["predicted"]
            batched = [task.classes[answer] for answer in history.end.predicted]
            others = sum(left != right for left, right in zip(single, batched, strict=False))
            if others:
                rows = count(others, "row")
                sentence += f" In a batch with padding its answers differ in {rows}: see the report."
        sentences.append(sentence)
    return [*dict.fromkeys(notice for trained in models.values() for notice in trained.notices), *sentences]


@dataclass(frozen=True)
class TableFilter:
    """The rows of the table to show, and their order.

    Attributes:
        subset: one of `CHOICES`.
        actual, predicted: a class; None for any.
        sort_column: the column to sort by; the order stays as it is if the table lacks it.
        descending: whether the largest come first.
    """

    subset: str = ALL_ROWS
    actual: str | None = None
    predicted: str | None = None
    sort_column: str = "row"
    descending: bool = False


def columns(classes: Sequence[str]) -> list[str]:
    """Return the names of the table's columns."""
    return ["row", "text", *map(probability_column, classes), "predicted", "actual", "model"]


def probability_column(name: str) -> str:
    """Return the name of a class's probability column, which no other column can have."""
    return f"P({name})"


def filter_rows(table: DataFrame, choice: TableFilter) -> DataFrame:
    """Filter and sort the rows of a table; the sort is stable."""
    has_label, right, typed = table["actual"] != UNKNOWN, table["predicted"] == table["actual"], table["row"] == TYPED
    masks = {ALL_ROWS: has_label | ~has_label, RIGHT_ROWS: right, WRONG_ROWS: has_label & ~right, TYPED_ROWS: typed}
    mask = masks[choice.subset]
    for column, value in (("actual", choice.actual), ("predicted", choice.predicted)):
        if value is not None:
            mask &= table[column] == value
    rows = table[mask]
    if choice.sort_column == "row":  # by position, because the column holds strings
        return rows.iloc[::-1] if choice.descending else rows
    keys = [choice.sort_column] if choice.sort_column in rows else []
    return rows.sort_values(keys, ascending=not choice.descending, kind="stable") if keys else rows


def to_csv(table: DataFrame) -> bytes:
    """Return a table as CSV with full precision, its text cells protected against formulas."""
    safe = table.copy()
    for column in safe.columns[[kind.kind != "f" for kind in safe.dtypes]]:
        safe[column] = safe[column].map(quoted)
    safe.columns = [quoted(str(name)) for name in safe.columns]
    text: str = safe.to_csv(index=False)
    return text.encode("utf-8-sig", "replace")


def block(table: DataFrame, choice: TableFilter, rows: int) -> Block:
    """Return the first rows of a filtered table, each marked right or wrong.

    `rows` is the number of rows before the filter.
    """
    head, first = list(map(str, table.columns)), table.head(MAX_VISIBLE)
    cells, marks = [], dict[tuple[int, int], sheet.Mark]()
    for row, values in enumerate(first.itertuples(index=False)):
        texts = [value if isinstance(value, str) else share(float(value), _DECIMALS) for value in values]
        cells.append([cut(text, _MAX_LETTERS) for text in texts])
        predicted, actual = (values[head.index(name)] for name in ("predicted", "actual"))
        if actual != UNKNOWN:
            cells[-1][head.index("predicted")] += " ✓" if predicted == actual else " ✗"
            marks[row, head.index("predicted")] = "good" if predicted == actual else "bad"
    limit = f", of which the first {MAX_VISIBLE} are shown and all are in the file" if len(table) > MAX_VISIBLE else ""
    caption = f"{len(table):,} of {count(rows, 'row')}{limit}. ✓ right, ✗ wrong according to the data."
    sort_index = head.index(choice.sort_column) if choice.sort_column in head else 0
    return sheet.table(head, cells, caption, marks, order=(sort_index, choice.descending))


def draw(questions: Questions, candidates: Sequence[str], *, is_open: bool) -> None:
    """Draw the table of these candidates under its controls, which stay mounted while the tab is closed."""
    classes, seen = questions.classes, is_open and bool(questions.classes)
    task = questions.task if questions.task and questions.task.classes == classes else None
    typed = list(dict.fromkeys([questions.text(0), questions.text(1)]))
    names = columns(classes)
    with (
        widgets.hidden_but_mounted("predictions", seen),
        widgets.fold(
            "predictions", "All predictions: one row per text, with its probabilities", *_KEYS, lazy=True
        ) as fold,
    ):
        choice = _controls(classes, names)
        if not (seen and fold.open):
            return
        with missing.package_error():
            try:
                models = questions.select_models(candidates)
                table = prediction_table(models, task, typed)
            except HeadlightError as error:
                canvas.sheet("predictions", [sheet.notices([words.error_sentence(error)])])
                return
            if table is None:
                canvas.sheet("predictions", [sheet.text("No model here can make predictions.")])
                return
            rows = filter_rows(table, choice)
            remarks = [sheet.text(sentence, muted=True) for sentence in notes(models, table, task)]
            canvas.sheet("predictions", [block(rows, choice, len(table)), *remarks], _sorter(names))
            st.download_button(
                f"{count(len(rows), 'row')}, CSV",
                lambda: to_csv(rows),
                "headlight-predictions.csv",
                "text/csv",
                key="predictions_file",
                on_click="ignore",
            )


def _controls(classes: Sequence[str], names: list[str]) -> TableFilter:
    """Draw the controls of the filter and of the order."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="predictions_bar"):
        subset = widgets.choice("only", CHOICES)
        actual = widgets.optional_choice("true", "any", classes)
        predicted = widgets.optional_choice("said", "any", classes)
        column = widgets.choice("sort", names)
        descending = widgets.switch("desc")
    return TableFilter(subset, actual, predicted, column, descending)


def _sorter(names: list[str]) -> Callable[[dict[str, Any]], None]:
    """Return the callback for a click on a column's head: sort by it, or reverse the order."""

    def sort(event: dict[str, Any]) -> None:
        index = events.integer(event, "sort")
        if index is None or not 0 <= index < len(names):
            return
        is_sorted = st.session_state.get("sort") == names[index]
        is_share = names[index].startswith("P(")  # most interesting from the largest down
        st.session_state["desc"] = not st.session_state.get("desc") if is_sorted else is_share
        st.session_state["sort"] = names[index]

    return sort
