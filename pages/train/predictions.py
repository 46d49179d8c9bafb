"""Every answer of trained classifiers as one table: a row a text, its probabilities, its class, and the true one.

Every text is asked alone; those of test rows are asked once for all visitors. The table is a pandas frame that can be
sorted, filtered and taken along. It is made, and pandas imported, which takes half a second, when it is unfolded.
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
from mha_core.training import inference
from mha_core.training.tasks import Labelled
from pages.frame import canvas, missing, widgets

from . import confusion
from .answers import Models, Trained

if TYPE_CHECKING:
    from pandas import DataFrame

TYPED = "typed"  # the number of a row that is no test row
NOT_KNOWN = ""  # the class of such a text
EVERY, RIGHT, WRONG, OWN = "every row", "right answers", "wrong answers", "typed sentences"
CHOICES = (EVERY, WRONG, RIGHT, OWN)
MAX_SHOWN = 100  # rows on the screen; all are in the file
CACHE_BYTES = 16 * 2**20
ENTRY_BYTES = 1024  # of the smallest with its key
MAX_ROWS = 5_000  # test rows that are asked: a table of a visitor may have more
AT_ONCE = 256  # texts of one turn
_MAX_LETTERS = 80  # of a text on the screen
_DECIMALS = 3
_KEYS = ("only", "true", "said", "sort", "desc")

_known: LRUCache[object, Tensor] = LRUCache(CACHE_BYTES, getsizeof=lambda found: ENTRY_BYTES + found.nbytes)


def of_texts(trained: Trained, texts: Sequence[str]) -> Tensor:
    """The probabilities (rows, classes) of a few texts that were typed."""
    with pass_slot():
        return inference.probabilities_of_each(trained.model, texts, told=trained.hear)


@single_flight(_known, lambda trained, task: hashkey(trained.id, str(trained.model.device), task.fingerprint))
def of_test_rows(trained: Trained, task: Labelled) -> Tensor:
    """The probabilities (rows, classes) of the first `MAX_ROWS` test rows."""
    texts = [row.text for row in task.test[:MAX_ROWS]]
    found = [of_texts(trained, texts[first : first + AT_ONCE]) for first in range(0, len(texts), AT_ONCE)]
    return torch.cat(found)


def answered(models: Models, task: Labelled | None, typed: Sequence[str]) -> DataFrame | None:
    """The answers of these models to the test rows and to typed texts, in one table; None where there are none.

    Models with other classes are left out. Raises what `inference.probabilities_of_each` raises.
    """
    import pandas as pd

    found = dict[str, Tensor]()
    classes = task.classes if task else next((inference.classes(one.model) for one in models.values()), ())
    for name, one in models.items():
        if inference.classes(one.model) == classes:
            own = of_texts(one, typed)
            found[name] = own if task is None else torch.cat([of_test_rows(one, task), own])
    rows = [(row.text, row.label) for row in task.test[:MAX_ROWS]] if task else []
    texts, labels = [*(text for text, _ in rows), *typed], [*(label for _, label in rows), *[None] * len(typed)]
    tables = [frame(name, classes, texts, labels, chances) for name, chances in found.items()]
    return pd.concat(tables, ignore_index=True) if tables else None


def frame(
    model: str, classes: Sequence[str], texts: Sequence[str], labels: Sequence[int | None], chances: Tensor
) -> DataFrame:
    """The answers of one model; a row knows its place in the data. `labels`: None where nobody knows."""
    import pandas as pd

    table = pd.DataFrame(chances.numpy(), columns=[*map(chance_of, classes)])
    table.insert(0, "row", [TYPED if label is None else str(at) for at, label in enumerate(labels)])
    table.insert(1, "text", list(texts))
    table["predicted"] = [classes[at] for at in chances.argmax(dim=-1).tolist()]
    table["actual"] = [NOT_KNOWN if label is None else classes[label] for label in labels]
    table["model"] = model
    return table


def notes(models: Models, table: DataFrame, task: Labelled | None) -> list[str]:
    """Sentences on what was asked: which models, which rows, and where the answers are not those of the report."""
    said = []
    if task is not None and len(task.test) > MAX_ROWS:
        said.append(f"Only the first {MAX_ROWS:,} of {len(task.test):,} test rows were evaluated.")
    for name in dict.fromkeys(table["model"]):
        history = models[name].model.history
        if history is None or history.start is None:
            continue
        one, longest = f"“{name}”: seed {history.recipe.seed}, every text evaluated alone.", history.start.longest
        if longest == history.recipe.max_len:
            one += f" Of texts of more than {longest} tokens these are read, as in training."
        if task is not None and history.end is not None and confusion.usable(history, task):
            alone = table[(table["model"] == name) & (table["row"] != TYPED)]["predicted"]
            beside = [task.classes[answer] for answer in history.end.predicted]
            others = sum(one != other for one, other in zip(alone, beside, strict=False))
            if others:
                one += f" In a batch with padding its answers differ in {count(others, 'row')}: see the report."
        said.append(one)
    return [*dict.fromkeys(notice for one in models.values() for notice in one.notices), *said]


@dataclass(frozen=True)
class TableFilter:
    """The rows to see and their order.

    Attributes:
        only: one of `EVERY`, `RIGHT`, `WRONG`, `OWN`.
        actual, predicted: a class, None = any.
        by: the column to sort by; one that the table lacks keeps the order of the rows.
        down: the largest first.
    """

    only: str = EVERY
    actual: str | None = None
    predicted: str | None = None
    by: str = "row"
    down: bool = False


def columns(classes: Sequence[str]) -> list[str]:
    return ["row", "text", *map(chance_of, classes), "predicted", "actual", "model"]


def chance_of(name: str) -> str:
    """The column of the probability of a class; no class can be called as another column is."""
    return f"P({name})"


def chosen(table: DataFrame, choice: TableFilter) -> DataFrame:
    """The rows of a table that are wanted, in the order that is wanted; equal ones stay as they were."""
    known, right = table["actual"] != NOT_KNOWN, table["predicted"] == table["actual"]
    kept = {EVERY: known | ~known, RIGHT: right, WRONG: known & ~right, OWN: table["row"] == TYPED}[choice.only]
    for column, wanted in (("actual", choice.actual), ("predicted", choice.predicted)):
        if wanted is not None:
            kept &= table[column] == wanted
    some = table[kept]
    if choice.by == "row":  # the place in the data, not its digits
        return some.iloc[::-1] if choice.down else some
    by = [choice.by] if choice.by in some else []
    return some.sort_values(by, ascending=not choice.down, kind="stable") if by else some


def csv_of(table: DataFrame) -> bytes:
    """A table as CSV, every digit of its probabilities in it; no cell of text is a formula."""
    safe = table.copy()
    for column in safe.columns[[kind.kind != "f" for kind in safe.dtypes]]:
        safe[column] = safe[column].map(quoted)
    safe.columns = [quoted(str(name)) for name in safe.columns]
    written: str = safe.to_csv(index=False)
    return written.encode("utf-8-sig", "replace")


def block(table: DataFrame, choice: TableFilter, rows: int) -> Block:
    """The first rows of a table that was chosen out of so many rows, each right or wrong."""
    head, first = list(map(str, table.columns)), table.head(MAX_SHOWN)
    cells, marks = [], dict[tuple[int, int], sheet.Mark]()
    for at, values in enumerate(first.itertuples(index=False)):
        cells.append([_written(value) for value in values])
        predicted, actual = (values[head.index(name)] for name in ("predicted", "actual"))
        if actual != NOT_KNOWN:
            cells[-1][head.index("predicted")] += " ✓" if predicted == actual else " ✗"
            marks[at, head.index("predicted")] = "good" if predicted == actual else "bad"
    shown = f", of which the first {MAX_SHOWN} are shown and all are in the file" if len(table) > MAX_SHOWN else ""
    caption = f"{len(table):,} of {count(rows, 'row')}{shown}. ✓ right, ✗ wrong according to the data."
    by = head.index(choice.by) if choice.by in head else 0
    return sheet.table(head, cells, caption, marks, order=(by, choice.down))


def _written(value: object) -> str:
    return cut(value, _MAX_LETTERS) if isinstance(value, str) else share(float(value), _DECIMALS)  # type: ignore[arg-type]


def draw(
    classes: Sequence[str], models: Callable[[], Models], task: Labelled | None, typed: Sequence[str], *, seen: bool
) -> None:
    """Draws the table under its controls.

    Args:
        classes: their names; none where there is nothing to predict.
        models: are loaded only when the table is looked at.
        task: with the test rows, None where they are not at hand.
        typed: texts to ask after them.
        seen: otherwise the controls alone are mounted, for the link.
    """
    names = columns(classes)
    with (
        widgets.hidden_but_mounted("predictions", seen),
        widgets.folded(
            "predictions", "All predictions: one row per text, with its probabilities", *_KEYS, lazy=True
        ) as fold,
    ):
        choice = _controls(classes, names)
        if not (seen and fold.open):
            return
        with missing.package_error():
            try:
                table = answered(models(), task, typed)
            except HeadlightError as error:
                canvas.sheet("predictions", [sheet.notices([words.sentence(error)])])
                return
            if table is None:
                canvas.sheet("predictions", [sheet.text("No model here can make predictions.")])
                return
            kept = chosen(table, choice)
            said = [sheet.text(sentence, muted=True) for sentence in notes(models(), table, task)]
            canvas.sheet("predictions", [block(kept, choice, len(table)), *said], _sorter(names))
            st.download_button(
                f"{count(len(kept), 'row')}, CSV",
                lambda: csv_of(kept),
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
