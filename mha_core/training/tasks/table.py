"""Labelled texts out of a table that somebody brings: CSV as UTF-8, with a column of texts and one of labels."""

import csv
import io
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from ...errors import HeadlightError
from . import columns
from .base import Labelled, Row

# What a table may have at most.
LIMITS = {"bytes": 5 * 2**20, "rows": 50_000, "columns": 50, "characters": 20_000, "classes": 50, "label": 200}

_TEST_SHARE = 0.25
_BEGINNING, _MAX_LETTERS = 12, 120  # words of a test row to ask about; not every language has spaces between words
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
    """The task of a CSV file of any language: its first line names the columns, between comma, semicolon or tab.

    Args:
        text, label: names of the two columns, upper and lower case being the same. Where a column of the usual name is
            missing it is guessed from what stands in the others, and a note says so.
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
    head = next(_lines(content), [])
    found = columns.find(head, islice(_lines(content), 1, LIMITS["rows"] + 2), text, label, LIMITS["classes"])
    title = "News in classes" if name == "news" else "Your own table"
    lines = islice(_lines(content), 1 if found.headed else 0, None)
    rows = (_cells(line, (found.text, found.label), len(head)) for line in lines)
    task = of_rows(rows, seed=seed, keep_duplicates=keep_duplicates, name=name, title=title)
    return replace(task, notes=(*found.notes, *task.notes))


def of_rows(rows: Iterable[_Cells | None], *, seed: int, keep_duplicates: bool, name: str, title: str) -> Labelled:
    """The task of pairs (text, label), cleaned, counted and split by chance, a quarter of each class for testing.

    Args:
        rows: None stands for a row that does not fit its columns.
        seed, keep_duplicates, name: as in `from_csv`.  title: of the task.

    Raises:
        HeadlightError: too many rows, too many classes, or fewer than two with two rows.
    """
    cleaned, notes = _clean(rows, keep_duplicates)
    cleaned = _without_single_rows(cleaned, notes)
    classes = _classes([label for _, label in cleaned])
    numbered = [Row(text, classes.index(label)) for text, label in cleaned]
    random.Random(seed).shuffle(numbered)
    train, test = _split(numbered)
    if keep_duplicates:
        known = {row.text for row in train}
        both = sum(row.text in known for row in test)
        notes.append(f"Test rows whose text is also in the training rows: {both:,} of {len(test):,}.")
    questions, probes = _asked(train, test, name)
    return Labelled(
        name=name,
        title=title,
        version=1,
        classes=classes,
        train=tuple(train),
        test=tuple(test),
        questions=questions,
        probes=probes,
        notes=tuple(notes),
    )


def _asked(train: list[Row], test: list[Row], name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Questions and probes: the long post's where the training rows have its words, and beginnings of test rows."""
    if name == "news":
        return _QUESTIONS, (_QUESTIONS[2], _QUESTIONS[0])
    beginnings = tuple(" ".join(row.text.split()[:_BEGINNING])[:_MAX_LETTERS] for row in test[:2])
    known = {word for row in train for word in row.text.casefold().split()}
    if known.issuperset(" ".join(_QUESTIONS).split()):
        return (*_QUESTIONS, *beginnings), (_QUESTIONS[2], _QUESTIONS[0])
    return beginnings, beginnings


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


def _cells(line: list[str], places: tuple[int, int], columns: int) -> _Cells | None:
    """Text and label of a line, which may end early; None for one that goes on after the last column."""
    if any(line[columns:]):
        return None
    text, label = (line[place] if place < len(line) else "" for place in places)
    return text, label


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
    labelled = "each label was kept" if keep_duplicates else "the first label was kept"
    told = {
        "empty": "Rows without a text or a label: {:,}; they were left out.",
        "ragged": "Rows with more cells than there are columns: {:,}; they were left out.",
        "cut": f"Texts of more than {LIMITS['characters']:,} characters: {{:,}}; they were cut there.",
        "repeated": f"Rows whose text was there before: {{:,}}; {kept}.",
        "doubtful": f"Texts that occur with more than one label: {{:,}}; {labelled}.",
    }
    return found, [sentence.format(count[kind]) for kind, sentence in told.items() if count[kind]]


def _without_single_rows(cleaned: list[_Cells], notes: list[str]) -> list[_Cells]:
    """The rows of the classes that have two or more, one for training and one for testing."""
    rows = Counter(label for _, label in cleaned)
    single = sorted(label for label, count in rows.items() if count == 1)
    if not single or len(rows) > LIMITS["classes"]:
        return cleaned
    notes.append(f"Classes with a single row: {len(single):,}; they were left out, for a class needs two rows.")
    return [cells for cells in cleaned if rows[cells[1]] > 1]


def _classes(labels: list[str]) -> tuple[str, ...]:
    rows = Counter(labels)
    if not rows:
        raise HeadlightError("the table has no two rows with a text and the same label")
    if len(rows) == 1:
        raise HeadlightError(f"every row has the label {labels[0]!r:.60}; there must be at least two classes")
    if len(rows) > LIMITS["classes"]:
        raise HeadlightError(
            f"the table has {len(rows):,} different labels; at most {LIMITS['classes']} are allowed; "
            "perhaps the labels are in another column"
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
