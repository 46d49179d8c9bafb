"""Right and wrong answers of trained classifiers on the test rows: report, confusion matrix and sentences.

Shows one or two candidates side by side, summed over their seeds.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from headlight.ui import sheet
from headlight.ui.numbers import count, fixed
from headlight.ui.sheet import Block
from mha_core.token_text import quote
from mha_core.training import report as metrics
from mha_core.training.events import History
from mha_core.training.tasks import Labelled
from pages.frame import canvas, widgets

CELL = "confusion"  # the prefix of a matrix's name in its events
_MAX_LISTED = 200  # sentences of one cell

ConfusionCell = tuple[int, int]


@dataclass(frozen=True)
class Outcome:
    """The predictions of one candidate's runs on the test rows.

    Attributes:
        predictions: by seed, the predicted class of every test row.
    """

    name: str
    classes: tuple[str, ...]
    labels: tuple[int, ...]
    texts: tuple[str, ...]
    predictions: dict[int, tuple[int, ...]]

    @property
    def seed_label(self) -> str:
        """The seeds as a label: "seed 1", or "seeds 1, 2, 3 together"."""
        numbers = ", ".join(map(str, self.predictions))
        return f"seeds {numbers} together" if len(self.predictions) > 1 else f"seed {numbers}"


def evaluate(name: str, runs: Sequence[History], task: Labelled) -> Outcome | None:
    """Return the predictions of the runs that were tested on exactly these rows; None if there are none."""
    predicted = {run.recipe.seed: tuple(run.end.predicted) for run in runs if run.end and has_predictions(run, task)}
    labels, texts = tuple(row.label for row in task.test), tuple(row.text for row in task.test)
    return Outcome(name, task.classes, labels, texts, predicted) if predicted else None


def has_predictions(history: History, task: Labelled) -> bool:
    """Check that a run has predictions for exactly these test rows."""
    start, end = history.start, history.end
    if start is None or end is None:
        return False
    fits = len(end.predicted) == len(task.test) and start.classes == list(task.classes)
    return fits and start.fingerprint.startswith(task.fingerprint)


def counts(outcome: Outcome) -> list[list[int]]:
    """Count the test rows by true class (rows) and predicted class (columns), over all seeds."""
    labels = outcome.labels * len(outcome.predictions)
    answers = [answer for predicted in outcome.predictions.values() for answer in predicted]
    return metrics.confusion(labels, answers, len(outcome.classes))


def report(outcome: Outcome) -> Block:
    """Return a table of precision, recall, F1 and support of each class, with accuracy and averages."""
    cells = counts(outcome)
    classes = metrics.per_class(cells)
    macro, weighted = metrics.averages(classes)
    averages = (("macro avg", macro), ("weighted avg", weighted))
    rows = [
        [name, fixed(scores.precision), fixed(scores.recall), fixed(scores.f1), f"{scores.support:,}"]
        for name, scores in [*zip(outcome.classes, classes, strict=True), *averages]
    ]
    rows.insert(-2, ["accuracy", "", "", fixed(metrics.accuracy(cells)), f"{macro.support:,}"])
    caption = (
        "Precision: how many of the answers “this class” are right. Recall: how many rows of this class were found. F1 "
        "lies between the two. “macro avg” counts every class once, “weighted avg” by its rows, as scikit-learn does."
    )
    if any(scores.precision is None for scores in classes):
        caption += " “—” means that the class was never answered; the means count it as 0."
    return sheet.table(["class", "precision", "recall", "F1", "test rows"], rows, caption)


def confusion(outcome: Outcome, cell: ConfusionCell | None, number: int) -> Block:
    """Return the confusion matrix, whose cells can be selected; `number`: its number on the page."""
    cells = counts(outcome)
    return sheet.matrix(
        "Confusion matrix",
        cells,
        rows=list(outcome.classes),
        cols=list(outcome.classes),
        formula="rows: the true class · columns: the answer",
        axes="",
        edit=f"{CELL} {number}",
        cell_kind="choice",
        colour="weights",
        shares=[[rows / max(1, sum(line)) for rows in line] for line in cells],
        compact=True,
        marks=[] if cell is None else [cell],
        note="Choose a cell to see its sentences.",
    )


def cell_sentences(outcome: Outcome, cell: ConfusionCell) -> Block:
    """Return a table of the test sentences of one cell, those that most seeds predicted so first."""
    true, answer = cell
    hits = Counter(
        row
        for predicted in outcome.predictions.values()
        for row, prediction in enumerate(predicted)
        if outcome.labels[row] == true and prediction == answer
    )
    has_seeds = len(outcome.predictions) > 1
    caption = f"{count(hits.total(), 'test row')} of {outcome.classes[true]}, taken for {outcome.classes[answer]}"
    if has_seeds:
        caption += f": {count(len(hits), 'text')}, and how many of the {len(outcome.predictions)} seeds answered so"
    if len(hits) > _MAX_LISTED:
        caption += f"; the first {_MAX_LISTED}"
    order = sorted(hits, key=lambda row: (-hits[row], row))[:_MAX_LISTED]
    rows = [[f"{hits[row]}" if has_seeds else f"{number}", outcome.texts[row]] for number, row in enumerate(order)]
    return sheet.table(["seeds" if has_seeds else "", "text"], rows, caption, prose=True)


def controls(names: list[str]) -> list[str]:
    """Draw the choice of one or two candidates; return their names."""
    first = widgets.choice("cand", names)
    second = widgets.optional_choice("cand2", "nothing", names)
    return [name for name in dict.fromkeys((first, second)) if name]


def draw(outcomes: Mapping[str, Outcome], names: list[str]) -> None:
    """Draw a confusion matrix and a report for each of the named candidates."""
    selection = [outcomes[name] for name in names if name in outcomes]
    if not selection:
        canvas.sheet("verdicts", [])
        return
    cell: ConfusionCell | None = st.session_state.get("judged_cell")
    if cell is not None and max(cell) >= len(selection[0].classes):
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
