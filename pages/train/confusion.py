"""Right and wrong answers of a trained classifier on the test rows: report, confusion matrix, sentences."""

from __future__ import annotations

from collections.abc import Sequence

from mha_core.training import report as judged
from mha_core.training.events import History
from mha_core.training.tasks import Labelled
from pages.kit.draw import sheet
from pages.kit.draw.numbers import count, fixed
from pages.kit.draw.sheet import Block

CELL = "confusion"  # the name of the matrix in its events
_MOST_LISTED = 200  # sentences of one cell


def usable(history: History, task: Labelled) -> bool:
    """True when the run has said what it makes of exactly these test rows."""
    start, end = history.start, history.end
    if start is None or end is None:
        return False
    fits = len(end.predicted) == len(task.test) and start.classes == list(task.classes)
    return fits and start.fingerprint.startswith(task.fingerprint)


def counts(task: Labelled, predicted: Sequence[int]) -> list[list[int]]:
    """The numbers of test rows of each class (rows) that were taken for each class (columns)."""
    return judged.confusion([row.label for row in task.test], predicted, len(task.classes))


def report(task: Labelled, predicted: Sequence[int]) -> Block:
    """Precision, recall, F1 and number of test rows of each class, and their means."""
    classes = judged.per_class(counts(task, predicted))
    shares = [(one.precision, one.recall, one.f1) for one in classes]
    supports = [one.support for one in classes]
    rows = [
        [name, *map(fixed, three), f"{support:,}"]
        for name, three, support in zip(task.classes, shares, supports, strict=True)
    ]
    for name, heights in (("mean of the classes", [1] * len(classes)), ("mean by rows", supports)):
        means = [_mean([value or 0.0 for value in column], heights) for column in zip(*shares, strict=True)]
        rows.append([name, *map(fixed, means), f"{sum(supports):,}"])
    return sheet.table(
        ["class", "precision", "recall", "F1", "test rows"],
        rows,
        "Precision: of those taken for the class, how many are of it. Recall: of those of the class, how many were "
        "found. F1 lies between the two. “—”: the class was never answered; the means count it as 0.",
    )


def confusion(task: Labelled, predicted: Sequence[int], chosen: tuple[int, int] | None) -> Block:
    """The confusion matrix; a click on a cell asks for its sentences."""
    cells = counts(task, predicted)
    return sheet.matrix(
        "Confusion matrix",
        cells,
        rows=list(task.classes),
        cols=list(task.classes),
        formula="rows: the true class · columns: the answer",
        axes="",
        edit=CELL,
        how="choice",
        colour="weights",
        shares=[[rows / max(1, sum(line)) for rows in line] for line in cells],
        compact=True,
        marks=[] if chosen is None else [chosen],
        note="Choose a cell to read its sentences.",
    )


def listed(task: Labelled, predicted: Sequence[int], chosen: tuple[int, int]) -> Block:
    """The test sentences of one cell of the confusion matrix."""
    true, answer = chosen
    texts = [row.text for row, taken in zip(task.test, predicted, strict=True) if row.label == true and taken == answer]
    caption = f"{count(len(texts), 'test row')} of {task.classes[true]}, taken for {task.classes[answer]}"
    if len(texts) > _MOST_LISTED:
        caption += f"; the first {_MOST_LISTED}"
    rows = [[str(at), text] for at, text in enumerate(texts[:_MOST_LISTED])]
    return sheet.table(["", "text"], rows, caption, prose=True)


def _mean(values: Sequence[float], heights: Sequence[int]) -> float | None:
    """The mean of values that count so many times; None where nothing counts."""
    total = sum(heights)
    return sum(value * height for value, height in zip(values, heights, strict=True)) / total if total else None
