"""Report and confusion matrix against their definitions, of one seed and of all, and the sentences of a cell."""

from __future__ import annotations

from collections import Counter

from mha_core.training.events import End, History, Start
from mha_core.training.recipe import Recipe
from mha_core.training.tasks import Labelled, Row
from pages.kit.draw.numbers import fixed
from pages.train import confusion
from pages.train.confusion import UnseenRows

TRUE = [0, 0, 0, 1, 1, 2]
SAID = [0, 0, 1, 1, 0, 0]
AGAIN = [0, 1, 1, 1, 1, 0]
ROWS = tuple(Row(f"text {number} =1+1", label) for number, label in enumerate(TRUE))
TASK = Labelled("csv", "Mine", 1, ("a", "=b()", "c"), ROWS, ROWS, ("q",), ("q",))


def history(predicted: list[int], fingerprint: str = TASK.fingerprint, seed: int = 1) -> History:
    recipe = Recipe(seed=seed)
    start = Start(recipe, "Mine", list(TASK.classes), 6, 6, fingerprint, [], 9, 9, 5, [], {}, "cpu")
    return History.of([start, End("steps", 1, 0.1, predicted)])


def outcome(*answers: list[int]) -> UnseenRows:
    found = confusion.outcome("mine", [history(said, seed=seed) for seed, said in enumerate(answers, 1)], TASK)
    assert found
    return found


def test_report() -> None:
    rows = confusion.report(outcome(SAID))["rows"]
    assert rows[0] == ["a", "0.500", "0.667", "0.571", "3"]
    assert rows[1] == ["=b()", "0.500", "0.500", "0.500", "2"]
    assert rows[2] == ["c", "—", "0.000", "0.000", "1"]  # never answered
    assert rows[3] == ["accuracy", "", "", "0.500", "6"]
    assert rows[4] == ["macro avg", "0.333", "0.389", "0.357", "6"]
    assert rows[5][:2] == ["weighted avg", "0.417"]
    assert rows[5][4] == "6"


def test_the_report_of_all_seeds_is_that_of_all_their_answers() -> None:
    """Counted here from the pairs themselves, without a matrix."""
    for seed in (None, 2):
        of = outcome(SAID, AGAIN).of(seed)
        pairs = [*zip(TRUE, SAID, strict=True)] * (seed is None) + [*zip(TRUE, AGAIN, strict=True)]
        right = Counter(label for label, said in pairs if label == said)
        true, said = (Counter(part) for part in zip(*pairs, strict=True))
        f1 = [2 * right[number] / (true[number] + said[number]) for number in range(3)]
        rows = confusion.report(of)["rows"]
        assert [row[3] for row in rows[:3]] == [fixed(value) for value in f1]
        assert [int(row[4]) for row in rows] == [true[0], true[1], true[2], *[len(pairs)] * 3]
        assert rows[3][3] == fixed(right.total() / len(pairs)) == rows[5][2]
        assert rows[4][3] == fixed(sum(f1) / 3)
        assert of.seeds == ("seed 2" if seed else "seeds 1, 2 together")


def test_the_matrix_and_its_cells() -> None:
    block = confusion.confusion(outcome(SAID), (0, 1), 0)
    assert block["cells"] == [["2", "1", "0"], ["1", "1", "0"], ["1", "0", "0"]]
    assert block["marks"] == [[0, 1]]
    assert block["edit"].startswith(confusion.CELL)
    assert confusion.listed(outcome(SAID), (0, 1))["rows"] == [["0", "text 2 =1+1"]]
    assert confusion.listed(outcome(SAID), (2, 2))["rows"] == []
    block = confusion.listed(outcome(SAID, AGAIN), (0, 1))  # how many seeds answered so
    assert block["rows"] == [["2", "text 2 =1+1"], ["1", "text 1 =1+1"]]
    assert block["caption"].startswith("3 test rows of a, taken for =b(): 2 texts")
    texts = tuple(map(str, range(500)))  # not all of a large cell are sent
    block = confusion.listed(UnseenRows("mine", ("a", "b"), (0,) * 500, texts, {1: (0,) * 500}), (0, 0))
    assert len(block["rows"]) == 200
    assert block["caption"].startswith("500 test rows")


def test_only_a_run_on_these_rows_is_judged() -> None:
    runs = [history(SAID), history(SAID, "other data"), History(Recipe())]
    assert [confusion.usable(run, TASK) for run in runs] == [True, False, False]
    assert confusion.outcome("mine", runs[1:], TASK) is None
