"""Report and confusion matrix against their definitions, and the sentences of a cell."""

from __future__ import annotations

from mha_core.training.events import End, History, Start
from mha_core.training.recipe import Recipe
from mha_core.training.tasks import Labelled, Row
from pages.train import confusion

TRUE = [0, 0, 0, 1, 1, 2]
SAID = [0, 0, 1, 1, 0, 0]
ROWS = tuple(Row(f"text {number} =1+1", label) for number, label in enumerate(TRUE))
TASK = Labelled("csv", "Mine", 1, ("a", "=b()", "c"), ROWS, ROWS, ("q",), ("q",))


def history(predicted: list[int], fingerprint: str = TASK.fingerprint) -> History:
    start = Start(Recipe(), "Mine", list(TASK.classes), 6, 6, fingerprint, [], 9, 9, 5, [], {}, "cpu")
    return History.of([start, End("steps", 1, 0.1, predicted)])


def test_counts() -> None:
    assert confusion.counts(TASK, SAID) == [[2, 1, 0], [1, 1, 0], [1, 0, 0]]


def test_report() -> None:
    rows = confusion.report(TASK, SAID)["rows"]
    assert rows[0] == ["a", "0.500", "0.667", "0.571", "3"]
    assert rows[1] == ["=b()", "0.500", "0.500", "0.500", "2"]
    assert rows[2] == ["c", "—", "0.000", "0.000", "1"]  # never answered
    assert rows[3] == ["mean of the classes", "0.333", "0.389", "0.357", "6"]
    assert rows[4][:2] == ["mean by rows", "0.417"]
    assert rows[4][4] == "6"


def test_the_matrix_and_its_cells() -> None:
    block = confusion.confusion(TASK, SAID, (0, 1))
    assert block["cells"] == [["2", "1", "0"], ["1", "1", "0"], ["1", "0", "0"]]
    assert block["marks"] == [[0, 1]]
    assert block["edit"] == confusion.CELL
    assert confusion.listed(TASK, SAID, (0, 1))["rows"] == [["0", "text 2 =1+1"]]
    assert confusion.listed(TASK, SAID, (2, 2))["rows"] == []


def test_all_sentences_of_a_large_cell_are_not_sent() -> None:
    rows = tuple(Row(f"{number}", 0) for number in range(500))
    task = Labelled("csv", "Mine", 1, ("a", "b"), rows, rows, ("q",), ("q",))
    block = confusion.listed(task, [0] * 500, (0, 0))
    assert len(block["rows"]) == 200
    assert block["caption"].startswith("500 test rows")


def test_only_a_run_on_these_rows_is_judged() -> None:
    runs = [history(SAID), history(SAID, "other data"), History(Recipe())]
    assert [confusion.usable(run, TASK) for run in runs] == [True, False, False]
