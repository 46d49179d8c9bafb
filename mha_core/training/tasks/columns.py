"""Detection of the text and label columns of a table, by their names or their contents."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ...errors import HeadlightError

# Usual names of label columns, which are preferred when several columns could be it.
_LABELS = (
    "label", "labels", "class", "classes", "category", "topic", "target", "sentiment", "section", "genre", "klasse",
    "kategorie", "rubrik", "thema", "classe", "catégorie", "categoria", "categoría", "etiqueta", "étiquette",
)  # fmt: skip
_MAX_LABEL = 200
_LINKS = ("http://", "https://", "www.")


@dataclass(frozen=True)
class TableColumns:
    """Positions of the text and label columns.

    Attributes:
        text: the column of the texts, counted from 0.
        label: the column of the labels, counted from 0.
        headed: the first line is a header; otherwise it is a row.
        notes: the guesses, in whole sentences.
    """

    text: int
    label: int
    headed: bool = True
    notes: tuple[str, ...] = ()


def find(head: Sequence[str], rows: Iterable[Sequence[str]], text: str, label: str, max_labels: int) -> TableColumns:
    """Find the two columns; the rows are only read if the first line has not both names.

    Args:
        head: the cells of the first line.
        rows: the lines after it.
        text: the requested name, case-insensitive, or number, counted from 1.
        label: the requested name or number, likewise.
        max_labels: the maximum number of different labels in a label column.

    Raises:
        HeadlightError: a requested column is missing or ambiguous; none looks like texts or labels.
    """
    names = [name.strip() for name in head]
    if not any(names):
        raise HeadlightError("the file is empty; its first line must name the columns")
    text_column, label_column = _position(names, text, "text"), _position(names, label, "label")
    has_names = not {text.casefold(), label.casefold()}.isdisjoint(name.casefold() for name in names)
    if None not in (text_column, label_column):
        if text_column == label_column:
            raise HeadlightError(f"texts and labels cannot both be in column {text!r:.60}; choose two columns")
        if has_names:
            return TableColumns(text_column or 0, label_column or 0)
    columns = _columns(names, rows, max_labels)
    headed = has_names or not any(column.name in column.values for column in columns if column.has_labels)
    if label_column is None:
        label_column = _label_column(columns, text_column, headed)
    if text_column is None:
        text_column = _text_column(columns, label_column)
    if label_column is None or text_column is None:
        kind, contents = ("text", "texts") if label_column is not None else ("label", f"2 to {max_labels} labels")
        raise HeadlightError(
            f"the table has no column {kind!r}, and no other one holds {contents}; "
            f"its columns, between commas, tabs, semicolons or |, are {_quoted(names)}"
        )
    return TableColumns(text_column, label_column, headed, (_guess_note(names, text_column, label_column, headed),))


@dataclass(frozen=True)
class _Column:
    """Column with its name, its filled cells and their distinct values (empty if there are too many for labels)."""

    name: str
    cells: list[str]
    values: set[str]

    @property
    def is_numeric(self) -> bool:
        return all(value.replace(".", "", 1).replace(",", "", 1).lstrip("-").isdigit() for value in self.values)

    @property
    def has_labels(self) -> bool:
        """Two or more short values that are repeated."""
        return 2 <= len(self.values) <= len(self.cells) / 2 and max(map(len, self.values)) <= _MAX_LABEL


def _columns(names: Sequence[str], rows: Iterable[Sequence[str]], max_labels: int) -> list[_Column]:
    columns = []
    for name, column in zip(names, zip_longest(*rows, fillvalue=""), strict=False):
        cells = [stripped for cell in column if (stripped := cell.strip())]
        values = set(cells)
        columns.append(_Column(name, cells, values if len(values) <= max_labels else set()))
    return columns


def _label_column(columns: Sequence[_Column], excluded: int | None, headed: bool) -> int | None:
    """Return the column of labels: with a usual name (without names: of the fewest values), words, far to the right."""
    fit = [
        (column.name.casefold() in _LABELS if headed else -len(column.values), not column.is_numeric, place)
        for place, column in enumerate(columns)
        if place != excluded and column.has_labels
    ]
    return max(fit)[-1] if fit else None


def _text_column(columns: Sequence[_Column], excluded: int | None) -> int | None:
    """Return the column of texts: the one with the most characters in cells that are no links and no numbers."""
    fit = [
        (sum(map(len, column.cells)), place)
        for place, column in enumerate(columns)
        if place != excluded
        and 2 * sum(cell.startswith(_LINKS) for cell in column.cells) < len(column.cells)
        and (not column.values or not column.is_numeric)
    ]
    return max(fit)[-1] if fit else None


def _position(names: Sequence[str], requested: str, default: str) -> int | None:
    """Return the position of a column by name or number; None for a missing default name, which is guessed."""
    for candidates, name in ((names, requested), ([name.casefold() for name in names], requested.casefold())):
        if candidates.count(name) == 1:
            return candidates.index(name)
    if requested.isdecimal() and requested not in names and 1 <= int(requested) <= len(names):
        return int(requested) - 1
    if requested == default and requested not in names:
        return None
    problem = "twice a" if requested in names else "no"
    raise HeadlightError(f"the table has {problem} column {requested!r:.60}; its columns are {_quoted(names)}")


def _guess_note(names: Sequence[str], text_column: int, label_column: int, headed: bool) -> str:
    if not headed:
        return (
            "The first line is a row like the others, not the names of the columns: "
            f"texts were found in column {text_column + 1}, labels in column {label_column + 1}, counted from 1; "
            "other columns can be named by their numbers below the file."
        )
    return (
        f"Texts were found in the column “{names[text_column]:.60}”, labels in “{names[label_column]:.60}”; "
        "other columns can be named below the file."
    )


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(repr(name[:30]) for name in names)[:600]
