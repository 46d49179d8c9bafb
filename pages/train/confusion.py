"""Right and wrong answers of trained classifiers on the test rows: report, confusion matrix, sentences.

One or two candidates stand beside each other, over all their seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from headlight.ui import sheet
from headlight.ui.numbers import count, fixed
from headlight.ui.sheet import Block
from mha_core.training import report as judged
from mha_core.training.events import History
from mha_core.training.tasks import Labelled
from pages.frame import canvas, widgets

CELL = "confusion"  # what the name of a matrix begins with in its events
_MAX_LISTED = 200  # sentences of one cell

ConfusionCell = tuple[int, int]


@dataclass(frozen=True)
class UnseenRows:
    """What the runs of one candidate make of the test rows.

    Attributes:
        predicted: by seed, the answer to every test row.
    """

    name: str
    classes: tuple[str, ...]
    labels: tuple[int, ...]
    texts: tuple[str, ...]
    predicted: dict[int, tuple[int, ...]]

    @property
    def seeds(self) -> str:
        """The seeds in words: "seed 1", or "seeds 1, 2, 3 together"."""
        numbers = ", ".join(map(str, self.predicted))
        return f"seeds {numbers} together" if len(self.predicted) > 1 else f"seed {numbers}"


def outcome(name: str, runs: Sequence[History], task: Labelled) -> UnseenRows | None:
    """The outcome of those of a candidate's runs that were tested on exactly these rows; None when none was."""
    predicted = {run.recipe.seed: tuple(run.end.predicted) for run in runs if run.end and usable(run, task)}
    labels, texts = tuple(row.label for row in task.test), tuple(row.text for row in task.test)
    return UnseenRows(name, task.classes, labels, texts, predicted) if predicted else None


def usable(history: History, task: Labelled) -> bool:
    """True when the run has said what it makes of exactly these test rows."""
    start, end = history.start, history.end
    if start is None or end is None:
        return False
    fits = len(end.predicted) == len(task.test) and start.classes == list(task.classes)
    return fits and start.fingerprint.startswith(task.fingerprint)


def counts(of: UnseenRows) -> list[list[int]]:
    """The numbers of test rows of each class (rows) that were taken for each class (columns), over all seeds."""
    labels = of.labels * len(of.predicted)
    answers = [answer for predicted in of.predicted.values() for answer in predicted]
    return judged.confusion(labels, answers, len(of.classes))


def report(of: UnseenRows) -> Block:
    """Precision, recall, F1 and number of test rows of each class, then accuracy and the means of the classes."""
    cells = counts(of)
    classes = judged.per_class(cells)
    named = list(zip(of.classes, classes, strict=True))
    rows = [[name, fixed(one.precision), fixed(one.recall), fixed(one.f1), f"{one.support:,}"] for name, one in named]
    macro, weighted = judged.averages(classes)
    rows.append(["accuracy", "", "", fixed(judged.accuracy(cells)), f"{macro.support:,}"])
    for name, one in (("macro avg", macro), ("weighted avg", weighted)):
        rows.append([name, fixed(one.precision), fixed(one.recall), fixed(one.f1), f"{one.support:,}"])
    caption = (
        "Precision: how many of the answers “this class” are right. Recall: how many rows of this class were found. F1 "
        "lies between the two. “macro avg” counts every class once, “weighted avg” by its rows, as scikit-learn does."
    )
    if any(one.precision is None for one in classes):
        caption += " “—” means that the class was never answered; the means count it as 0."
    return sheet.table(["class", "precision", "recall", "F1", "test rows"], rows, caption)


def confusion(of: UnseenRows, chosen: ConfusionCell | None, number: int) -> Block:
    """The confusion matrix; a click on a cell asks for its sentences. `number`: of the matrix on the page."""
    cells = counts(of)
    return sheet.matrix(
        "Confusion matrix",
        cells,
        rows=list(of.classes),
        cols=list(of.classes),
        formula="rows: the true class · columns: the answer",
        axes="",
        edit=f"{CELL} {number}",
        how="choice",
        colour="weights",
        shares=[[rows / max(1, sum(line)) for rows in line] for line in cells],
        compact=True,
        marks=[] if chosen is None else [chosen],
        note="Choose a cell to see its sentences.",
    )


def listed(of: UnseenRows, chosen: ConfusionCell) -> Block:
    """The test sentences of one cell of the confusion matrix, those that most seeds answered so first."""
    true, answer = chosen
    found = Counter(
        at
        for predicted in of.predicted.values()
        for at, taken in enumerate(predicted)
        if of.labels[at] == true and taken == answer
    )
    several = len(of.predicted) > 1
    caption = f"{count(found.total(), 'test row')} of {of.classes[true]}, taken for {of.classes[answer]}"
    if several:
        caption += f": {count(len(found), 'text')}, and how many of the {len(of.predicted)} seeds answered so"
    if len(found) > _MAX_LISTED:
        caption += f"; the first {_MAX_LISTED}"
    order = sorted(found, key=lambda at: (-found[at], at))[:_MAX_LISTED]
    rows = [[f"{found[at]}" if several else f"{place}", of.texts[at]] for place, at in enumerate(order)]
    return sheet.table(["seeds" if several else "", "text"], rows, caption, prose=True)


def controls(names: list[str]) -> list[str]:
    """Draw the choice of one or two candidates; return their names."""
    first = widgets.choice("cand", names)
    second = widgets.optional_choice("cand2", "nothing", names)
    return [name for name in dict.fromkeys((first, second)) if name]


def draw(outcomes: Mapping[str, UnseenRows], names: list[str]) -> None:
    shown = [outcomes[name] for name in names if name in outcomes]
    if not shown:
        canvas.sheet("verdicts", [])
        return
    chosen: ConfusionCell | None = st.session_state.get("judged_cell")
    if chosen is not None and max(chosen) >= len(shown[0].classes):
        chosen = None
    panels = [_panel(one, chosen, number, narrow=len(shown) > 1) for number, one in enumerate(shown)]
    canvas.sheet("verdicts", [sheet.row(panels, even=True)] if len(shown) > 1 else panels, _choose)


def _panel(of: UnseenRows, chosen: ConfusionCell | None, number: int, *, narrow: bool) -> Block:
    """The matrix beside the report, or above it; the sentences of a chosen cell take the report's place."""
    matrix, table = confusion(of, chosen, number), report(of)
    sentences = [listed(of, chosen)] if chosen else []
    blocks = (
        [matrix, table, *sentences]
        if narrow
        else [sheet.row([matrix, *(sentences or [table])]), *([table] if sentences else [])]
    )
    return sheet.panel(f"Right and wrong answers of “{of.name}”", blocks, of.seeds)


def _choose(event: dict[str, Any]) -> None:
    """Takes a cell of a confusion matrix that was chosen, or let go again."""
    row, col = event.get("row"), event.get("col")
    which = str(event.get("edit")).startswith(CELL)
    if which and isinstance(row, int) and isinstance(col, int) and min(row, col) >= 0:
        st.session_state["judged_cell"] = None if st.session_state.get("judged_cell") == (row, col) else (row, col)
