"""Right and wrong answers of a trained classifier on the test rows: report, confusion matrix, sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mha_core.training import report as judged
from mha_core.training.events import History
from mha_core.training.tasks import Labelled
from pages.kit.draw import sheet
from pages.kit.draw.numbers import count, fixed
from pages.kit.draw.sheet import Block

CELL = "confusion"  # what the name of a matrix begins with in its events
_MOST_LISTED = 200  # sentences of one cell

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

    def of(self, seed: int | None) -> UnseenRows:
        """The same of one seed alone, if it has such a run; None = of all."""
        kept = {seed: self.predicted[seed]} if seed in self.predicted and seed is not None else self.predicted
        return UnseenRows(self.name, self.classes, self.labels, self.texts, kept)

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
        caption += " “—”: the class was never answered; the means count it as 0."
    return sheet.table(["class", "precision", "recall", "F1", "test rows"], rows, caption)


def confusion(of: UnseenRows, chosen: ConfusionCell | None, number: int = 0) -> Block:
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
        note="Choose a cell to read its sentences.",
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
    if len(found) > _MOST_LISTED:
        caption += f"; the first {_MOST_LISTED}"
    order = sorted(found, key=lambda at: (-found[at], at))[:_MOST_LISTED]
    rows = [[f"{found[at]}" if several else f"{place}", of.texts[at]] for place, at in enumerate(order)]
    return sheet.table(["seeds" if several else "", "text"], rows, caption, prose=True)
