"""Labelled texts from a user's table: CSV in UTF-8, with a column of texts and one of labels."""

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

# Maximum sizes of a table.
LIMITS = {"bytes": 5 * 2**20, "rows": 50_000, "columns": 50, "characters": 20_000, "classes": 50, "label": 200}

_TEST_SHARE = 0.25
_BEGINNING, _MAX_LETTERS = 12, 120  # words and characters of a question: not every language has spaces between words
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
    """Build the task of a CSV file with a header line, separated by comma, semicolon or tab.

    Args:
        data: the content of the file.
        text: the name of the text column, case-insensitive. If a column of the default name is missing, it is guessed
            from the contents, and a note says so.
        label: the name of the label column, likewise.
        seed: of the split.
        keep_duplicates: keep rows with repeated texts; how many are on both sides of the split is noted.
        name: of the task.

    Raises:
        HeadlightError: this is no such table, it is too large, or it cannot be split into classes.
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
    header = columns.find(head, islice(_lines(content), 1, LIMITS["rows"] + 2), text, label, LIMITS["classes"])
    title = "News in classes" if name == "news" else "Your own table"
    lines = islice(_lines(content), 1 if header.headed else 0, None)
    rows = (_cells(line, (header.text, header.label), len(head)) for line in lines)
    task = from_rows(rows, seed=seed, keep_duplicates=keep_duplicates, name=name, title=title)
    return replace(task, notes=(*header.notes, *task.notes))


def from_rows(rows: Iterable[_Cells | None], *, seed: int, keep_duplicates: bool, name: str, title: str) -> Labelled:
    """Build the task of pairs (text, label): clean them and hold out a quarter of each class for testing.

    Args:
        rows: None stands for a row that does not fit its columns.
        seed: as in `from_csv`.
        keep_duplicates: as in `from_csv`.
        name: as in `from_csv`.
        title: of the task.

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
        train_texts = {row.text for row in train}
        shared = sum(row.text in train_texts for row in test)
        notes.append(f"Test rows whose text is also in the training rows: {shared:,} of {len(test):,}.")
    questions, probes = _questions_and_probes(train, test, name)
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


def _questions_and_probes(train: list[Row], test: list[Row], name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return questions and probes: the long post's if the training rows have its words, and beginnings of test rows."""
    if name == "news":
        return _QUESTIONS, (_QUESTIONS[2], _QUESTIONS[0])
    beginnings = tuple(" ".join(row.text.split()[:_BEGINNING])[:_MAX_LETTERS] for row in test[:2])
    vocabulary = {word for row in train for word in row.text.casefold().split()}
    if vocabulary.issuperset(" ".join(_QUESTIONS).split()):
        return (*_QUESTIONS, *beginnings), (_QUESTIONS[2], _QUESTIONS[0])
    return beginnings, beginnings


def _lines(content: str) -> Iterator[list[str]]:
    """Yield the non-empty lines of a table, including the first one."""
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
    """Return text and label of a line, "" for missing cells; None if it has too many cells."""
    if any(line[columns:]):
        return None
    text, label = (line[place] if place < len(line) else "" for place in places)
    return text, label


def _clean(rows: Iterable[_Cells | None], keep_duplicates: bool) -> tuple[list[_Cells], list[str]]:
    """Return the usable rows, and notes on the others."""
    cleaned: list[_Cells] = []
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
            cleaned.append((text, label))
        labels[text].add(label)
    count["doubtful"] = sum(len(text_labels) > 1 for text_labels in labels.values())
    duplicates = "they were kept" if keep_duplicates else "they were left out"
    ambiguous = "each label was kept" if keep_duplicates else "the first label was kept"
    templates = {
        "empty": "Rows without a text or a label: {:,}; they were left out.",
        "ragged": "Rows with more cells than there are columns: {:,}; they were left out.",
        "cut": f"Texts of more than {LIMITS['characters']:,} characters: {{:,}}; they were cut there.",
        "repeated": f"Rows whose text was there before: {{:,}}; {duplicates}.",
        "doubtful": f"Texts that occur with more than one label: {{:,}}; {ambiguous}.",
    }
    return cleaned, [sentence.format(count[kind]) for kind, sentence in templates.items() if count[kind]]


def _without_single_rows(cleaned: list[_Cells], notes: list[str]) -> list[_Cells]:
    """Return the rows of the classes with at least two, one for training and one for testing."""
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
    """Split rows into training and test rows, a quarter of each class.

    The quotas are rounded so that a quarter of all rows is for testing.
    """
    share = {label: _TEST_SHARE * count for label, count in Counter(row.label for row in rows).items()}
    quotas = {label: max(1, math.floor(quota)) for label, quota in share.items()}
    missing = math.ceil(_TEST_SHARE * len(rows)) - sum(quotas.values())
    by_remainder = sorted((quota for quota in share.items() if quota[1] >= 1), key=lambda quota: -(quota[1] % 1))
    for label, _ in by_remainder[: max(0, missing)]:
        quotas[label] += 1
    train: list[Row] = []
    test: list[Row] = []
    for row in rows:
        quotas[row.label] -= 1
        (test if quotas[row.label] >= 0 else train).append(row)
    return train, test
