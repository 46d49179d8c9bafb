"""Labelled texts out of a table that somebody brings: CSV as UTF-8, with a column of texts and one of labels."""

from __future__ import annotations

import csv
import io
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from ...errors import HeadlightError
from .base import Labelled, Row

__all__ = ["LIMITS", "from_csv", "of_rows"]

# What a table may have at most.
LIMITS = {"bytes": 5 * 2**20, "rows": 50_000, "columns": 50, "characters": 20_000, "classes": 50, "label": 200}

_TEST_SHARE = 0.25
_BEGINNING = 12  # words of a test row to ask about
_QUESTIONS = ("how are you", "you how are", "can you can that")

_Cells = tuple[str, str]  # text and label


def from_csv(
    data: bytes,
    *,
    text: str = "text",
    label: str = "label",
    seed: int = 0,
    keep_duplicates: bool = False,
    name: str = "csv",
) -> Labelled:
    """The task of a CSV file: its first line names the columns, separated by comma, semicolon or tab.

    Args:
        text, label: names of the two columns; upper and lower case are the same here.
        seed: of the split.
        keep_duplicates: keep rows whose text was there before; how many fall on both sides of the split is noted.
        name: of the task.

    Raises:
        HeadlightError: this is no such table, or it is too large, or no split into classes can be made of it.
    """
    if len(data) > LIMITS["bytes"]:
        raise HeadlightError(
            f"the file has {len(data):,} bytes; at most {LIMITS['bytes']:,} ({LIMITS['bytes'] // 2**20} MB) are read"
        )
    try:
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise HeadlightError(
            f"the file is not UTF-8 (byte {error.start:,}); save the table as CSV with UTF-8"
        ) from error
    lines = _lines(content)
    columns = next(lines, [])
    places = [_place(columns, wanted) for wanted in (text, label)]
    if len(set(places)) == 1:
        raise HeadlightError(f"texts and labels cannot both be in column {text!r:.60}; choose two columns")
    title = "News in classes" if name == "news" else "Your own table"
    rows = (_cells(line, places, len(columns)) for line in lines)
    return of_rows(rows, seed=seed, keep_duplicates=keep_duplicates, name=name, title=title)


def of_rows(rows: Iterable[_Cells | None], *, seed: int, keep_duplicates: bool, name: str, title: str) -> Labelled:
    """The task of pairs (text, label), cleaned, counted and split by chance, a quarter of each class for testing.

    Args:
        rows: None stands for a row that does not fit its columns.
        seed, keep_duplicates, name: as in `from_csv`.  title: of the task.

    Raises:
        HeadlightError: too many rows, fewer than two classes or too many, or a class with a single row.
    """
    cleaned, notes = _clean(rows, keep_duplicates)
    classes = _classes([label for _, label in cleaned])
    numbered = [Row(text, classes.index(label)) for text, label in cleaned]
    random.Random(seed).shuffle(numbered)
    train, test = _split(numbered)
    if keep_duplicates:
        known = {row.text for row in train}
        both = sum(row.text in known for row in test)
        notes.append(f"Test rows whose text is also in the training rows: {both:,} of {len(test):,}.")
    beginnings = [" ".join(row.text.split()[:_BEGINNING]) for row in test[:2]]
    return Labelled(
        name=name,
        title=title,
        version=1,
        classes=classes,
        train=tuple(train),
        test=tuple(test),
        questions=_QUESTIONS if name == "news" else (*_QUESTIONS, *beginnings),
        probes=(_QUESTIONS[2], _QUESTIONS[0]),
        notes=tuple(notes),
    )


def _lines(content: str) -> Iterator[list[str]]:
    """The lines of a table, the first one included; empty ones are left out."""
    head = re.split(r"[\r\n]", content.lstrip("\r\n"), maxsplit=1)[0]
    lines = csv.reader(io.StringIO(content, newline=""), delimiter=max(",;\t", key=head.count))
    try:
        for line in lines:
            if len(line) > LIMITS["columns"]:
                raise HeadlightError(
                    f"line {lines.line_num:,} has {len(line):,} columns; at most {LIMITS['columns']} are read"
                )
            if line:
                yield line
    except csv.Error as error:
        raise HeadlightError(
            f"line {lines.line_num:,} cannot be read as CSV ({error}); is a quotation mark left open?"
        ) from error


def _cells(line: list[str], places: list[int], columns: int) -> _Cells | None:
    """Text and label of a line, which may end early; None for one that goes on after the last column."""
    if any(line[columns:]):
        return None
    text, label = (line[place] if place < len(line) else "" for place in places)
    return text, label


def _place(columns: Sequence[str], wanted: str) -> int:
    """The place of a column; upper and lower case differ only where that is needed."""
    names = [column.strip() for column in columns]
    for candidates, name in ((names, wanted), ([name.casefold() for name in names], wanted.casefold())):
        if candidates.count(name) == 1:
            return candidates.index(name)
    if not any(names):
        raise HeadlightError("the file is empty; its first line must name the columns")
    there = ", ".join(repr(name[:30]) for name in names)
    problem = "twice a" if wanted in names else "no"
    raise HeadlightError(f"the table has {problem} column {wanted!r:.60}; its columns are {there:.600}")


def _clean(rows: Iterable[_Cells | None], keep_duplicates: bool) -> tuple[list[_Cells], list[str]]:
    """The rows that can be used, and what was done to the others."""
    found: list[_Cells] = []
    labels: defaultdict[str, set[str]] = defaultdict(set)
    count: Counter[str] = Counter()
    for number, cells in enumerate(rows, 1):
        if number > LIMITS["rows"]:
            raise HeadlightError(f"the table has more than {LIMITS['rows']:,} rows; shorten it")
        text, label = (cell.replace("\0", " ").strip() for cell in cells or ("", ""))
        if not text or not label:
            count["empty" if cells else "ragged"] += 1
            continue
        if len(label) > LIMITS["label"]:
            raise HeadlightError(
                f"a label has {len(label):,} characters, at most {LIMITS['label']} are allowed; "
                "perhaps the labels are in another column"
            )
        count["cut"] += len(text) > LIMITS["characters"]
        text = text[: LIMITS["characters"]]
        count["repeated"] += text in labels
        if keep_duplicates or text not in labels:
            found.append((text, label))
        labels[text].add(label)
    count["doubtful"] = sum(len(known) > 1 for known in labels.values())
    kept = "they were kept" if keep_duplicates else "they were left out"
    told = {
        "empty": "Rows without a text or a label: {:,}; they were left out.",
        "ragged": "Rows with more cells than there are columns: {:,}; they were left out.",
        "cut": f"Texts of more than {LIMITS['characters']:,} characters: {{:,}}; they were cut there.",
        "repeated": f"Rows whose text was there before: {{:,}}; {kept}.",
        "doubtful": "Texts that occur with more than one label: {:,}.",
    }
    return found, [sentence.format(count[kind]) for kind, sentence in told.items() if count[kind]]


def _classes(labels: list[str]) -> tuple[str, ...]:
    rows = Counter(labels)
    if not rows:
        raise HeadlightError("the table has no row with a text and a label")
    if len(rows) == 1:
        raise HeadlightError(f"every row has the label {labels[0]!r:.60}; there must be at least two classes")
    if len(rows) > LIMITS["classes"]:
        raise HeadlightError(
            f"the table has {len(rows):,} different labels; at most {LIMITS['classes']} are allowed; "
            "perhaps the labels are in another column"
        )
    for label, count in rows.items():
        if count < 2:
            raise HeadlightError(
                f"the class {label!r:.60} has a single row; each needs two, one for training and one for testing"
            )
    return tuple(sorted(rows))


def _split(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Training and test rows: a quarter of each class, rounded so that a quarter of all comes out, is for testing."""
    share = {label: _TEST_SHARE * count for label, count in Counter(row.label for row in rows).items()}
    wanted = {label: max(1, math.floor(quota)) for label, quota in share.items()}
    missing = math.ceil(_TEST_SHARE * len(rows)) - sum(wanted.values())
    largest_rest_first = sorted((quota for quota in share.items() if quota[1] >= 1), key=lambda quota: -(quota[1] % 1))
    for label, _ in largest_rest_first[: max(0, missing)]:
        wanted[label] += 1
    train: list[Row] = []
    test: list[Row] = []
    for row in rows:
        wanted[row.label] -= 1
        (test if wanted[row.label] >= 0 else train).append(row)
    return train, test
