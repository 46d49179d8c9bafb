"""Every answer of trained classifiers as one table: a row a text, its probabilities, its class, and the true one.

The table is a pandas frame, so that it can be sorted, filtered and taken along. It is made, and pandas imported, which
takes half a second, when it is unfolded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st
from torch import Tensor

from headlight.picture import words
from headlight.ui import events, sheet
from headlight.ui.numbers import count, cut, share
from headlight.ui.sheet import Block
from headlight.ui.tables import quoted
from mha_core.errors import HeadlightError
from pages.frame import canvas, missing, widgets

if TYPE_CHECKING:
    from pandas import DataFrame

TYPED = "typed"  # the number of a row that is no test row
NOT_KNOWN = ""  # the class of such a text
EVERY, RIGHT, WRONG, OWN = "every row", "right answers", "wrong answers", "typed sentences"
CHOICES = (EVERY, WRONG, RIGHT, OWN)
MOST_SHOWN = 100  # rows on the screen; all are in the file
_MOST_LETTERS = 80  # of a text on the screen
_DECIMALS = 3
_KEYS = ("only", "true", "said", "sort", "desc")


@dataclass(frozen=True)
class PredictedRows:
    """What one model made of some texts.

    Attributes:
        labels: the class of each, None where nobody knows.
        probabilities: (rows, classes).
        typed: so many of the last texts were typed, the others are test rows.
    """

    model: str
    classes: tuple[str, ...]
    texts: tuple[str, ...]
    labels: tuple[int | None, ...]
    probabilities: Tensor
    typed: int = 0


Answers = Callable[[], tuple[list[PredictedRows], list[str]]]


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


def frame(parts: Sequence[PredictedRows]) -> DataFrame:
    """The answers of all these models, which have the same classes, in one table; a row knows its place in the data."""
    import pandas as pd

    tables = []
    for part in parts:
        best = part.probabilities.argmax(dim=-1).tolist()
        test_rows = len(part.texts) - part.typed
        table = pd.DataFrame(part.probabilities.numpy(), columns=[*map(chance_of, part.classes)])
        table.insert(0, "row", [*map(str, range(test_rows)), *[TYPED] * part.typed])
        table.insert(1, "text", list(part.texts))
        table["predicted"] = [part.classes[at] for at in best]
        table["actual"] = [NOT_KNOWN if label is None else part.classes[label] for label in part.labels]
        table["model"] = part.model
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


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
    head, first = list(map(str, table.columns)), table.head(MOST_SHOWN)
    cells, marks = [], dict[tuple[int, int], sheet.Mark]()
    for at, values in enumerate(first.itertuples(index=False)):
        cells.append([_written(value) for value in values])
        predicted, actual = (values[head.index(name)] for name in ("predicted", "actual"))
        if actual != NOT_KNOWN:
            cells[-1][head.index("predicted")] += " ✓" if predicted == actual else " ✗"
            marks[at, head.index("predicted")] = "good" if predicted == actual else "bad"
    shown = f", of which the first {MOST_SHOWN} are shown and all are in the file" if len(table) > MOST_SHOWN else ""
    caption = f"{len(table):,} of {count(rows, 'row')}{shown}. ✓ right, ✗ wrong, by the data."
    by = head.index(choice.by) if choice.by in head else 0
    return sheet.table(head, cells, caption, marks, order=(by, choice.down))


def _written(value: object) -> str:
    return cut(value, _MOST_LETTERS) if isinstance(value, str) else share(float(value), _DECIMALS)  # type: ignore[arg-type]


def draw(classes: Sequence[str], answers: Answers, *, seen: bool) -> None:
    """Draws the table under its controls.

    Args:
        classes: their names; none where there is nothing to predict.
        answers: every answer, and sentences on them; asked for only when they are looked at.
        seen: otherwise the controls alone are mounted, for the link.
    """
    names = columns(classes)
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
            _draw_table(frame(parts), choice, notes, names)


def _draw_table(table: DataFrame, choice: TableFilter, notes: Sequence[str], names: list[str]) -> None:
    """Draws the chosen rows, and gives all of them as a file."""
    kept = chosen(table, choice)
    said = [sheet.text(sentence, muted=True) for sentence in notes]
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
