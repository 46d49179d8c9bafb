"""Tables that people bring: columns found, rows read and counted, and tables refused with a sentence."""

import csv
import io
from collections.abc import Iterable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_core.errors import HeadlightError
from mha_core.training import tasks
from mha_core.training.tasks import Labelled
from mha_core.training.tasks.table import LIMITS

from .runs import case

GERMAN = ("Der Kurs der Aktie fällt weiter", "Das Spiel endet ohne Tor", "Der Film läuft „heute“ an")


def written(lines: Iterable[tuple[str, ...]], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(lines)
    return out.getvalue().encode()


def table(*rows: tuple[str, ...], head: tuple[str, ...] = ("text", "label"), delimiter: str = ",") -> bytes:
    return written([head, *rows], delimiter)


def rows(count: int, classes: int = 2) -> list[tuple[str, str]]:
    return [(f"text {number}", f"class {number % classes}") for number in range(count)]


def labelled(task: Labelled) -> set[tuple[str, str]]:
    return {(row.text, task.classes[row.label]) for row in (*task.train, *task.test)}


@given(counts=st.lists(st.integers(2, 30), min_size=2, max_size=8))
def test_every_class_is_in_both_parts_and_a_quarter_is_tested(counts: list[int]) -> None:
    made = [(f"{label} {number}", f"{label}") for label, count in enumerate(counts) for number in range(count)]
    task = tasks.from_csv(table(*made))
    for part in (task.train, task.test):
        assert {row.label for row in part} == set(range(len(counts)))
    assert len(task.train) + len(task.test) == sum(counts)
    assert min(counts) < 4 or len(task.test) == -(-sum(counts) // 4)
    assert tasks.from_csv(table(*made)).fingerprint == task.fingerprint


def test_columns_are_found_by_name_in_any_case_order_and_separator() -> None:
    made = [(str(number), named, f"so, {text};\tand\nmore") for number, (text, named) in enumerate(rows(8))]
    for delimiter in ",;\t":
        task = tasks.from_csv(table(*made, head=("id", "Label", " TEXT "), delimiter=delimiter))
        assert labelled(task) == {(line[2], line[1]) for line in made}, delimiter
    plain = table(*rows(8))  # with the mark of UTF-8 and old line ends
    odd = b"\xef\xbb\xbf" + plain.replace(b"\r\n", b"\r")
    assert tasks.from_csv(odd).fingerprint == tasks.from_csv(plain).fingerprint


def test_what_is_left_out_cut_or_kept_is_counted() -> None:
    odd = b"only a text\n,class 0\n \x00 ,class 1\n\nunquoted, comma,class 0\n"
    doubled = (("text 0", "class 0"), (" text 1 ", "class 0"))
    for data, notes in (
        (table(*rows(8)) + odd, ("Rows without a text or a label: 3; they were left out.",
                                 "Rows with more cells than there are columns: 1; they were left out.")),
        (table(*rows(8), *doubled), ("Rows whose text was there before: 2; they were left out.",
                                     "Texts that occur with more than one label: 1; the first label was kept.")),
        (table(*rows(8), ("odd", "alone"), ("odder", "alone too")),
         ("Classes with a single row: 2; they were left out, for a class needs two rows.",)),
    ):  # fmt: skip
        task = tasks.from_csv(data)
        with case(notes):
            assert task.notes == notes
            assert labelled(task) == set(rows(8))
    task = tasks.from_csv(table(*rows(8), ("x" * (LIMITS["characters"] + 1), "class 0")))
    assert max(len(row.text) for row in (*task.train, *task.test)) == LIMITS["characters"]
    assert task.notes == ("Texts of more than 20,000 characters: 1; they were cut there.",)
    task = tasks.from_csv(table(*rows(40), *rows(40)), keep_duplicates=True)
    assert len(task.train) + len(task.test) == 80
    both = sum(row.text in {row.text for row in task.train} for row in task.test)
    assert both > 0
    assert task.notes == (
        "Rows whose text was there before: 40; they were kept.",
        f"Test rows whose text is also in the training rows: {both} of 20.",
    )


BAD_TABLES: list[tuple[bytes, str]] = [
    (b"\n\n", "the file is empty"),
    (table(), "no two rows with a text and the same label"),
    (table(*rows(8, 8), head=("a", "b")), "no column 'label', and no other one holds 2 to 50 labels; its .* 'a', 'b'"),
    (table(("a",), ("b",), head=("label",)), "no column 'text', and no other one holds texts; its columns are 'label'"),
    (table(*rows(8), head=("text", "text")), "twice a column 'text'"),
    (table(("a", "x"), ("b", "x"), ("odd", "alone")), "every row has the label 'x'"),
    (table(*rows(200, 51)), "51 different labels; at most 50"),
    (table(*rows(8), ("a text", "x" * 201)), "a label has 201 characters, at most 200"),
    (table(*rows(8), ("x",) * 51), r"line 10 has 51 columns; at most 50"),
    (table(*rows(LIMITS["rows"] + 1)), "more than 50,000 rows"),
    (b"x" * (LIMITS["bytes"] + 1), r"5,242,881 bytes; at most 5,242,880 \(5 MB\)"),
    ("text,label\ncafé,a\n".encode("latin-1"), r"not UTF-8 \(byte 14\)"),
    (b'text,label\n"' + b"x" * 140_000, "line 2 cannot be read as CSV .* is a quotation mark left open"),
]  # fmt: skip


def test_what_is_no_table_is_refused_with_a_sentence() -> None:
    for data, sentence in BAD_TABLES:
        with pytest.raises(HeadlightError, match=sentence):
            tasks.from_csv(data)
    with pytest.raises(HeadlightError, match="cannot both be in column 'text'"):
        tasks.from_csv(table(*rows(8)), text="text", label="Text")


@given(st.binary(max_size=300))
def test_any_bytes_give_a_task_or_a_sentence(data: bytes) -> None:
    with suppress(HeadlightError):
        tasks.from_csv(b"text,label\n" + data)


# ---- columns of any name


HEAD = ("Nr", "Datum", "Rubrik", "Verweis", "Meldung")
ARTICLES: list[tuple[str, ...]] = [  # in order of their rubrics, as such files often are
    (str(number), f"2024-0{1 + number % 9}-01", ("Wirtschaft", "Sport", "Kultur")[number // 8],
     f"https://example.org/{'x' * 80}/{number}", f"{GERMAN[number // 8]}, meldet Nummer {number}")
    for number in range(24)
]  # fmt: skip


@given(order=st.permutations(range(5)), delimiter=st.sampled_from(",;\t"))
def test_columns_of_any_name_and_order_are_guessed(order: list[int], delimiter: str) -> None:
    lines = [tuple(line[at] for at in order) for line in (HEAD, *ARTICLES)]
    task = tasks.from_csv(written(lines, delimiter))
    assert labelled(task) == {(line[4], line[2]) for line in ARTICLES}
    assert "“Meldung”, labels in “Rubrik”" in task.notes[0]
    assert tasks.from_csv(written(lines, delimiter), label="datum").classes[0] == "2024-01-01"


def test_tables_without_names_with_known_names_and_with_numbers() -> None:
    task = tasks.from_csv(written(ARTICLES))  # read from its first line on
    assert labelled(task) == {(line[4], line[2]) for line in ARTICLES}
    assert "texts were found in column 5, labels in column 3, counted from 1" in task.notes[0]
    # a name that is there is taken, whatever stands in the column
    lines: list[tuple[str, ...]] = [("text", "Meldung", "Rubrik")]
    lines += [(f"kurz {line[0]}", line[4], line[2]) for line in ARTICLES]
    assert {text for text, _ in labelled(tasks.from_csv(written(lines)))} == {f"kurz {n}" for n in range(24)}
    # numbers are labels where nothing else returns
    lines = [("review", "stars"), *((f"review number {number} of all", str(number % 5)) for number in range(30))]
    assert tasks.from_csv(written(lines)).classes == ("0", "1", "2", "3", "4")
