"""Labelled texts from a user's table: CSV or JSON, with a column of texts and one of labels."""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

from ...errors import HeadlightError
from . import columns, table_file
from .base import Labelled, Row, TrainingData
from .table_file import LIMITS

_TEST_SHARE = 0.25
_BEGINNING, _MAX_LETTERS = 12, 120  # words and characters of a question: not every language has spaces between words
_QUESTIONS = ("how are you", "you how are", "can you can that")

_Cells = tuple[str, str]  # text and label


def from_table(data: TrainingData, seed: int = 0) -> Labelled:
    """Build the task of a table; `seed` is that of the split.

    Raises:
        HeadlightError: this is no such table, it is too large, or it cannot be split into classes.
    """
    lines, notes = table_file.read(data.content, (data.text, data.label))
    head = lines[0] if lines else []
    header = columns.find(head, lines[1:], data.text, data.label, LIMITS["classes"])
    title = "News in classes" if data.kind == "news" else "Your own table"
    rows = [_cells(line, (header.text, header.label), len(head)) for line in lines[header.headed :]]
    task = from_rows(rows, data.kind, title, seed, keep_duplicates=data.keep_duplicates)
    count = f"Rows in the file: {len(rows):,}; used: {len(task.train) + len(task.test):,}."
    return replace(task, notes=(count, *notes, *header.notes, *task.notes))


def from_rows(
    rows: Iterable[_Cells | None], name: str, title: str, seed: int, *, keep_duplicates: bool = False
) -> Labelled:
    """Build the task of pairs (text, label): clean them and hold out a quarter of each class for testing.

    None among the rows stands for one that does not fit its columns.

    Raises:
        HeadlightError: too many rows, too many classes, or fewer than two with two rows.
    """
    cleaned, notes = _clean(rows, keep_duplicates)
    classes = _classes([label for _, label in cleaned], notes)
    numbered = [Row(text, classes.index(label)) for text, label in cleaned if label in classes]
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


def _classes(labels: list[str], notes: list[str]) -> tuple[str, ...]:
    """Return the classes with at least two rows; a note tells of the others."""
    rows = Counter(labels)
    single = [label for label, count in rows.items() if count == 1]
    if single and len(rows) <= LIMITS["classes"]:
        notes.append(f"Classes with a single row: {len(single):,}; they were left out, for a class needs two rows.")
        rows = Counter({label: count for label, count in rows.items() if count > 1})
    if not rows:
        raise HeadlightError("the table has no two rows with a text and the same label")
    if len(rows) == 1:
        raise HeadlightError(f"every row has the label {next(iter(rows))!r:.60}; there must be at least two classes")
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
