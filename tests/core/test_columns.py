"""Tables with columns of any name: which holds the texts and which the labels is seen from their cells."""

from __future__ import annotations

import csv
import io
import random
from dataclasses import replace

import pytest

from mha_core.errors import HeadlightError
from mha_core.training import Training, tasks
from mha_core.training.recipe import defaults
from mha_core.training.tasks import Labelled

GERMAN = ("Der Kurs der Aktie fällt weiter", "Das Spiel endet ohne Tor", "Der Film läuft „heute“ an")


def written(*lines: tuple[str, ...], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(lines)
    return out.getvalue().encode()


def articles(count: int = 24) -> list[tuple[str, ...]]:
    """Number, date, rubric, link, text: in order of their rubrics, as such files often are."""
    return [
        (
            str(number),
            f"2024-0{1 + number % 9}-01",
            ("Wirtschaft", "Sport", "Kultur")[number * 3 // count],
            f"https://example.org/{'x' * 80}/{number}",
            f"{GERMAN[number * 3 // count]}, meldet Nummer {number}",
        )
        for number in range(count)
    ]


HEAD = ("Nr", "Datum", "Rubrik", "Verweis", "Meldung")


def labelled(task: Labelled) -> set[tuple[str, str]]:
    return {(row.text, task.classes[row.label]) for row in (*task.train, *task.test)}


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("seed", range(3))
def test_columns_of_any_name_and_order_are_guessed_and_told(delimiter: str, seed: int) -> None:
    order = random.Random(seed).sample(range(5), 5)
    lines = [tuple(line[at] for at in order) for line in (HEAD, *articles())]
    task = tasks.from_csv(written(*lines, delimiter=delimiter))
    assert labelled(task) == {(line[4], line[2]) for line in articles()}
    assert task.notes == (
        "Texts were found in the column “Meldung”, labels in “Rubrik”; other columns can be named below the file.",
    )
    assert tasks.from_csv(written(*lines, delimiter=delimiter), label="datum").classes[0] == "2024-01-01"


def test_a_table_without_names_is_read_from_its_first_line_on() -> None:
    task = tasks.from_csv(written(*articles()))
    assert labelled(task) == {(line[4], line[2]) for line in articles()}
    assert "The first line is a row like the others" in task.notes[0]
    assert "texts were found in column 5, labels in column 3, counted from 1" in task.notes[0]


def test_a_name_that_is_there_is_taken_whatever_stands_in_it() -> None:
    lines = [("text", "Meldung", "Rubrik"), *((f"kurz {line[0]}", line[4], line[2]) for line in articles())]
    assert {text for text, _ in labelled(tasks.from_csv(written(*lines)))} == {f"kurz {n}" for n in range(24)}


def test_numbers_are_labels_where_nothing_else_returns() -> None:
    lines = [("review", "stars"), *((f"review number {number} of all", str(number % 5)) for number in range(30))]
    assert tasks.from_csv(written(*lines)).classes == ("0", "1", "2", "3", "4")


def test_formulas_and_quotes_are_texts_like_others() -> None:
    cells = ('=1+1|" /C calc"!A0', '@SUM("a", b)', "-2+3", '""')
    lines = [("Satz", "Art"), *((f"{cell} {number}", f"={number % 2}") for number in range(3) for cell in cells)]
    task = tasks.from_csv(written(*lines, *lines[1:]))
    assert {text for text, _ in labelled(task)} == {line[0] for line in lines[1:]}
    assert task.classes == ("=0", "=1")
    assert "Rows whose text was there before: 12; they were left out." in task.notes


@pytest.mark.parametrize("classes", [2, 50])
def test_a_table_of_2_to_50_classes_can_be_trained_on(classes: int) -> None:
    lines = [
        ("Satz", "Art"),
        *((f"Satz über Art {number}", f"Art {number % classes}") for number in range(4 * classes)),
    ]
    task = tasks.from_csv(written(*lines))
    training = Training(replace(defaults("csv"), steps=1, evaluations=1, d_model=16, n_heads=2), task)
    assert list(training.events())
    assert training.history.start
    assert len(training.history.start.classes) == classes
    assert training.history.end
    assert training.history.end.reason == "steps"


def test_a_table_without_anything_like_labels_is_refused_with_its_columns() -> None:
    lines = [("id", "Meldung"), *((str(number), f"Meldung {number}") for number in range(60))]
    with pytest.raises(
        HeadlightError, match=r"no column 'label', and no other one holds 2 to 50 labels; .*'id', 'Meldung'"
    ):
        tasks.from_csv(written(*lines))
