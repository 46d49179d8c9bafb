"""Tables that people bring: columns found, rows read and counted, and tables refused with a sentence."""

import csv
import io
import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_core.errors import HeadlightError
from mha_core.training.tasks import Labelled, TrainingData
from mha_core.training.tasks.table import from_table
from mha_core.training.tasks.table_file import LIMITS

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


def task_of(data: bytes, **options: Any) -> Labelled:
    """The task of a table."""
    return from_table(TrainingData("csv", data, **options))


def labelled(task: Labelled) -> set[tuple[str, str]]:
    return {(row.text, task.classes[row.label]) for row in (*task.train, *task.test)}


@given(counts=st.lists(st.integers(2, 30), min_size=2, max_size=8))
def test_every_class_is_in_both_parts_and_a_quarter_is_tested(counts: list[int]) -> None:
    made = [(f"{label} {number}", f"{label}") for label, count in enumerate(counts) for number in range(count)]
    task = task_of(table(*made))
    for part in (task.train, task.test):
        assert {row.label for row in part} == set(range(len(counts)))
    assert len(task.train) + len(task.test) == sum(counts)
    assert min(counts) < 4 or len(task.test) == -(-sum(counts) // 4)
    assert task_of(table(*made)).fingerprint == task.fingerprint


def test_columns_are_found_by_name_in_any_case_order_and_separator() -> None:
    made = [(str(number), named, f"so, {text};\tand\nmore") for number, (text, named) in enumerate(rows(8))]
    for delimiter in ",;\t":
        task = task_of(table(*made, head=("id", "Label", " TEXT "), delimiter=delimiter))
        assert labelled(task) == {(line[2], line[1]) for line in made}, delimiter
    plain = table(*rows(8))  # with the mark of UTF-8 and old line ends
    odd = b"\xef\xbb\xbf" + plain.replace(b"\r\n", b"\r")
    assert task_of(odd).fingerprint == task_of(plain).fingerprint


def test_dropped_cut_and_kept_rows_are_counted() -> None:
    odd = b"only a text\n,class 0\n \x00 ,class 1\n\nunquoted, comma,class 0\n"
    doubled = (("text 0", "class 0"), (" text 1 ", "class 0"))
    for data, count, notes in (
        (table(*rows(8)) + odd, 4, ("Rows without a text or a label: 3; they were left out.",
                                 "Rows with more cells than there are columns: 1; they were left out.")),
        (table(*rows(8), *doubled), 2, ("Rows whose text was there before: 2; they were left out.",
                                     "Texts that occur with more than one label: 1; the first label was kept.")),
        (table(*rows(8), ("odd", "alone"), ("odder", "alone too")), 2,
         ("Classes with a single row: 2; they were left out, for a class needs two rows.",)),
    ):  # fmt: skip
        task = task_of(data)
        with case(notes):
            assert task.notes[1:] == notes
            assert task.notes[0] == f"Rows in the file: {8 + count}; used: 8."
            assert labelled(task) == set(rows(8))
    task = task_of(table(*rows(8), ("x" * (LIMITS["characters"] + 1), "class 0")))
    assert max(len(row.text) for row in (*task.train, *task.test)) == LIMITS["characters"]
    assert task.notes[1:] == ("Texts of more than 20,000 characters: 1; they were cut there.",)
    task = task_of(table(*rows(40), *rows(40)), keep_duplicates=True)
    assert len(task.train) + len(task.test) == 80
    both = sum(row.text in {row.text for row in task.train} for row in task.test)
    assert both > 0
    assert task.notes == (
        "Rows in the file: 80; used: 80.",
        "Rows whose text was there before: 40; they were kept.",
        f"Test rows whose text is also in the training rows: {both} of 20.",
    )


BAD_TABLES: list[tuple[bytes, str]] = [
    (b"\n\n", "the file is empty"),
    (table(), "no two rows with a text and the same label"),
    (table(*rows(8, 8), head=("a", "b")), "no column 'label', and no other one holds 2 to 50 labels; .* are 'a', 'b'"),
    (table(("a",), ("b",), head=("label",)), "no column 'text', and no other one holds texts; its .* are 'label'"),
    (table(*rows(8), head=("text", "text")), "twice a column 'text'"),
    (table(("a", "x"), ("b", "x"), ("odd", "alone")), "every row has the label 'x'"),
    (table(*rows(200, 51)), "51 different labels; at most 50"),
    (table(*rows(8), ("a text", "x" * 201)), "a label has 201 characters, at most 200"),
    (table(*rows(8), ("x",) * 51), r"line 10 has 51 columns; at most 50"),
    (table(*rows(LIMITS["rows"] + 1)), "more than 50,000 rows"),
    (b"x" * (LIMITS["bytes"] + 1), r"5,242,881 bytes; at most 5,242,880 \(5 MB\)"),
    (b"PK\3\4\0\0" + bytes(range(256)), r"not UTF-8 \(byte 134\); save the table as CSV"),
    (table(*rows(8)).decode().encode("utf-16-le"), "UTF-16 without its byte order mark"),
    (b"\xff\xfet", r"not UTF-16 \(byte 2\)"),
    (b'{"text": "a", "label": 0}\n\n{"text": "b"', "line 3 is not JSON"),
    (b'[["a", 0], ["b", 1]]', "entry 1 of this JSON is not an object"),
    (b"[" * 100_000, "line 1 is not JSON"),
    (json.dumps({str(number): "" for number in range(51)}).encode(), "has 51 keys"),
    (b"[" + b"{}," * (LIMITS["rows"] + 1) + b"{}]", "more than 50,000 rows"),
    (b"a\n" * 500_001, "more than 500,000 lines"),
    (b"[" + b"[]," * 500_001 + b"0]", "more than 500,000 objects"),
    (b'text,label\n"' + b"x" * 140_000, "line 2 cannot be read as CSV .* is a quotation mark left open"),
]  # fmt: skip


def test_invalid_table_is_refused() -> None:
    for data, sentence in BAD_TABLES:
        with pytest.raises(HeadlightError, match=sentence):
            task_of(data)
    with pytest.raises(HeadlightError, match="cannot both be in column 'text'"):
        task_of(table(*rows(8)), text="text", label="Text")


SMS = [("spam" if n % 3 else "ham", f"call {n} now; free, or so | {n}") for n in range(60)]
OPEN = [
    ("spam", f'"{text}') if n in (20, 40) else ("ham", f'{text}"') if n == 30 else (label, text)
    for n, (label, text) in enumerate(SMS)
]  # two marks that never close, one at the end of a line between them
PLAIN = "".join(f"{label}\t{text}\n" for label, text in SMS)
QUOTED = "label, text\n" + "".join(f'{label}, "{text},\nsaid ""I"", and left"\n' for label, text in SMS)
DIALECTS: dict[str, tuple[bytes, str, str]] = {  # file, form of its texts, a note on it
    "a comma in the first line": (PLAIN.encode(), "{}", "texts were found in column 2, labels in column 1"),
    "open quotation marks": ("".join(f"{l}\t{t}\n" for l, t in OPEN).encode(), "", "close: 2, the first is line 21"),
    "blanks, lines in quotes": (QUOTED.encode(), '{},\nsaid "I", and left', ""),
    "lines end with \\r": (PLAIN.replace("\n", "\r").encode(), "{}", ""),
    "comments and sep": (b"# from a phone, 2011\nsep=\t\n" + PLAIN.encode(), "{}", "begin with #: 1"),
    "pipes": (("text|label\n" + "".join(f'"{t}"|{l}\n' for l, t in SMS)).encode(), "{}", ""),
    "UTF-16": (PLAIN.replace("call", "шар").encode("utf-16"), "шар", ""),
    "Latin-1": (PLAIN.replace("call", "café").encode("latin-1"), "café", "not UTF-8 (byte 7): it was read as"),
    "JSON lines": ("".join(json.dumps({"id": 1, "label": l, "text": t}) + "\n" for l, t in SMS).encode(), "{}", ""),
    "JSON": (json.dumps([{"label": l, "text": t, "a": None} for l, t in SMS], indent=1).encode(), "{}", ""),
    "columns of codes": ("".join(f"{n % 7}x\t{l}\t{'*'[n % 2 :]}\t{t}\n" for n, (l, t) in enumerate(SMS)).encode(),
                         "{}", "texts were found in column 4, labels in column 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", DIALECTS)
def test_a_table_in_any_dialect_keeps_its_rows(name: str) -> None:
    data, form, note = DIALECTS[name]
    task = task_of(data)
    expected = {(form.format(text) if "{" in form else text.replace("call", form), label) for label, text in SMS}
    assert labelled(task) == (expected if form else {(text, label) for label, text in OPEN})
    assert note in " ".join(task.notes)
    assert task.notes[0] == "Rows in the file: 60; used: 60."


def test_columns_without_names_are_chosen_by_their_numbers() -> None:
    lines = [(f"{n % 7}x", label, text) for n, (label, text) in enumerate(SMS)]
    task = task_of(written(lines, "\t"), text="3", label="1")
    assert labelled(task) == {(text, code) for code, _, text in lines}


@given(st.binary(max_size=300))
def test_any_bytes_give_a_task_or_a_sentence(data: bytes) -> None:
    with suppress(HeadlightError):
        task_of(b"text,label\n" + data)


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
    task = task_of(written(lines, delimiter))
    assert labelled(task) == {(line[4], line[2]) for line in ARTICLES}
    assert "“Meldung”, labels in “Rubrik”" in task.notes[1]
    assert task_of(written(lines, delimiter), label="datum").classes[0] == "2024-01-01"


def test_tables_without_names_with_known_names_and_with_numbers() -> None:
    task = task_of(written(ARTICLES))  # read from its first line on
    assert labelled(task) == {(line[4], line[2]) for line in ARTICLES}
    assert "texts were found in column 5, labels in column 3, counted from 1" in task.notes[1]
    # a name that is there is taken, whatever stands in the column
    lines: list[tuple[str, ...]] = [("text", "Meldung", "Rubrik")]
    lines += [(f"kurz {line[0]}", line[4], line[2]) for line in ARTICLES]
    assert {text for text, _ in labelled(task_of(written(lines)))} == {f"kurz {n}" for n in range(24)}
    # numbers are labels where nothing else returns
    lines = [("review", "stars"), *((f"review number {number} of all", str(number % 5)) for number in range(30))]
    assert task_of(written(lines)).classes == ("0", "1", "2", "3", "4")
