"""Right and wrong answers of trained classifiers on the test rows: report, confusion matrix and sentences.

Shows one or two candidates side by side, summed over their seeds.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import streamlit as st
from torch import Tensor

from headlight.ui import sheet
from headlight.ui.numbers import count, fixed
from headlight.ui.sheet import Block
from mha_core.token_text import quote
from mha_core.training import report as metrics
from mha_core.training.events import History
from mha_core.training.tasks import Labelled
from pages.frame import canvas, widgets

from .curves import Candidate

CELL = "confusion"  # the prefix of a matrix's name in its events
_MAX_LISTED = 200  # sentences of one cell

ConfusionCell = tuple[int, int]


class Outcome(NamedTuple):
    """The predicted class of every test row of a task, by seed of one candidate's runs."""

    name: str
    task: Labelled
    predictions: dict[int, list[int]]

    @property
    def seed_label(self) -> str:
        """The seeds as a label: "seed 1", or "seeds 1, 2, 3 together"."""
        numbers = ", ".join(map(str, self.predictions))
        return f"seeds {numbers} together" if len(self.predictions) > 1 else f"seed {numbers}"


def evaluate(name: str, runs: Sequence[History], task: Labelled) -> Outcome | None:
    """Return the predictions of the runs that were tested on exactly these rows; None if there are none."""
    predicted = {run.recipe.seed: run.end.predicted for run in runs if run.end and has_predictions(run, task)}
    return Outcome(name, task, predicted) if predicted else None


def has_predictions(history: History, task: Labelled) -> bool:
    """Check that a run has predictions for exactly these test rows."""
    start, end = history.start, history.end
    if start is None or end is None:
        return False
    fits = len(end.predicted) == len(task.test) and start.classes == list(task.classes)
    return fits and start.fingerprint.startswith(task.fingerprint)


def counts(outcome: Outcome) -> Tensor:
    """Count the test rows by true class (rows) and predicted class (columns), over all seeds."""
    labels = [row.label for row in outcome.task.test] * len(outcome.predictions)
    return metrics.confusion(labels, [*chain(*outcome.predictions.values())], len(outcome.task.classes))


def report(outcome: Outcome) -> Block:
    """Return a table of precision, recall, F1 and support of each class, with accuracy and averages."""
    cells = counts(outcome)
    shares = metrics.class_report(cells)
    names, total = [*outcome.task.classes, "macro avg", "weighted avg"], int(cells.sum())
    supports = [*cells.sum(1).tolist(), total, total]
    rows = [
        [name, *map(fixed, line.tolist()), f"{support:,}"]
        for name, line, support in zip(names, shares, supports, strict=True)
    ]
    rows.insert(-2, ["accuracy", "", "", fixed(float(cells.diag().sum() / total)), f"{total:,}"])
    caption = (
        "Precision: how many of the answers “this class” are right. Recall: how many rows of this class were found. F1 "
        "lies between the two. “macro avg” counts every class once, “weighted avg” by its rows, as scikit-learn does."
    )
    if bool(shares[:, 0].isnan().any()):
        caption += " “—” means that the class was never answered; the means count it as 0."
    return sheet.table(["class", "precision", "recall", "F1", "test rows"], rows, caption)


def confusion(outcome: Outcome, cell: ConfusionCell | None, number: int) -> Block:
    """Return the confusion matrix, whose cells can be selected; `number`: its number on the page."""
    cells = counts(outcome)
    return sheet.matrix(
        "Confusion matrix",
        cells.tolist(),
        rows=list(outcome.task.classes),
        cols=list(outcome.task.classes),
        formula="rows: the true class · columns: the answer",
        axes="",
        edit=f"{CELL} {number}",
        cell_kind="choice",
        colour="weights",
        shares=(cells / cells.sum(1, keepdim=True).clamp(min=1)).tolist(),
        compact=True,
        marks=[] if cell is None else [cell],
        note="Choose a cell to see its sentences.",
    )


def cell_sentences(outcome: Outcome, cell: ConfusionCell) -> Block:
    """Return a table of the test sentences of one cell, those that most seeds predicted so first."""
    test, (true, answer) = outcome.task.test, (outcome.task.classes[number] for number in cell)
    hits = Counter(
        row
        for predicted in outcome.predictions.values()
        for row, prediction in enumerate(predicted)
        if (test[row].label, prediction) == cell
    )
    has_seeds = len(outcome.predictions) > 1
    caption = f"{count(hits.total(), 'test row')} of {true}, taken for {answer}"
    if has_seeds:
        caption += f": {count(len(hits), 'text')}, and how many of the {len(outcome.predictions)} seeds answered so"
    if len(hits) > _MAX_LISTED:
        caption += f"; the first {_MAX_LISTED}"
    order = sorted(hits, key=lambda row: (-hits[row], row))[:_MAX_LISTED]
    rows = [[f"{hits[row]}" if has_seeds else f"{number}", test[row].text] for number, row in enumerate(order)]
    return sheet.table(["seeds" if has_seeds else "", "text"], rows, caption, prose=True)


def controls(names: list[str], default: str | None) -> list[str]:
    """Draw the choice of one or two candidates; return their names. Without a choice the first is `default`."""
    first = widgets.choice("cand", names, default)
    second = widgets.optional_choice("cand2", "nothing", names)
    return [name for name in dict.fromkeys((first, second)) if name]


def draw(candidates: Sequence[Candidate], task: Labelled | None, names: list[str]) -> None:
    """Draw a confusion matrix and a report for each of the named candidates that was tested on these test rows."""
    runs = {candidate.name: candidate.histories for candidate in candidates}
    selection = [outcome for name in names if task and (outcome := evaluate(name, runs[name], task))]
    if not selection:
        canvas.sheet("verdicts", [])
        return
    cell: ConfusionCell | None = st.session_state.get("judged_cell")
    if cell is not None and max(cell) >= len(selection[0].task.classes):
        cell = None
    panels = [_panel(outcome, cell, number, narrow=len(selection) > 1) for number, outcome in enumerate(selection)]
    canvas.sheet("verdicts", [sheet.row(panels, even=True)] if len(selection) > 1 else panels, _on_cell)


def _panel(outcome: Outcome, cell: ConfusionCell | None, number: int, *, narrow: bool) -> Block:
    """Return the matrix beside or above the report; the sentences of a selected cell come first."""
    matrix, table = confusion(outcome, cell, number), report(outcome)
    sentences = [cell_sentences(outcome, cell)] if cell else []
    blocks = (
        [matrix, table, *sentences]
        if narrow
        else [sheet.row([matrix, *(sentences or [table])]), *([table] if sentences else [])]
    )
    return sheet.panel(f"Right and wrong answers of {quote(outcome.name)}", blocks, outcome.seed_label)


def _on_cell(event: dict[str, Any]) -> None:
    """Select the cell of an event, or clear the selection if it was selected already."""
    row, col = event.get("row"), event.get("col")
    is_matrix = str(event.get("edit")).startswith(CELL)
    if is_matrix and isinstance(row, int) and isinstance(col, int) and min(row, col) >= 0:
        st.session_state["judged_cell"] = None if st.session_state.get("judged_cell") == (row, col) else (row, col)
