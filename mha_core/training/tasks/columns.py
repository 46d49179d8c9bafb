"""The columns of texts and of labels in a table: found by their names, or guessed from what stands in them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ...errors import HeadlightError

USUAL = {"text": "text", "label": "label"}  # names that nobody asked for: where they are missing, others are guessed
# By what a column of labels is often called; of two that could be it, such a one is taken.
_LABELS = (
    "label", "labels", "class", "classes", "category", "topic", "target", "sentiment", "section", "genre", "klasse",
    "kategorie", "rubrik", "thema", "classe", "catégorie", "categoria", "categoría", "etiqueta", "étiquette",
)  # fmt: skip
_MAX_LABEL = 200
_LINKS = ("http://", "https://", "www.")


@dataclass(frozen=True)
class Found:
    """Where texts and labels stand.

    Attributes:
        text, label: places of the columns, counted from 0.
        headed: the first line names the columns; otherwise it is a row.
        notes: what was guessed, in whole sentences.
    """

    text: int
    label: int
    headed: bool = True
    notes: tuple[str, ...] = ()


def find(head: Sequence[str], rows: Iterable[Sequence[str]], text: str, label: str, most_labels: int) -> Found:
    """The two columns. The rows are only looked at when one of the usual names is missing.

    Args:
        head: the cells of the first line.
        rows: the lines after it.
        text, label: the names that are wanted; upper and lower case are the same here.
        most_labels: different labels that a column of labels may have.

    Raises:
        HeadlightError: a column that was asked for is not there or is there twice; none looks like texts or labels.
    """
    names = [name.strip() for name in head]
    if not any(names):
        raise HeadlightError("the file is empty; its first line must name the columns")
    known = {kind: _place(names, wanted, USUAL[kind]) for kind, wanted in (("text", text), ("label", label))}
    if None not in known.values():
        if known["text"] == known["label"]:
            raise HeadlightError(f"texts and labels cannot both be in column {text!r:.60}; choose two columns")
        return Found(known["text"] or 0, known["label"] or 0)
    columns = _columns(names, rows, most_labels)
    taken = next((place for place in known.values() if place is not None), None)
    of_labels = known["label"] if known["label"] is not None else _of_labels(columns, taken)
    of_texts = known["text"] if known["text"] is not None else _of_texts(columns, of_labels)
    if of_labels is None or of_texts is None:
        kind, what = ("text", "holds texts") if of_labels is not None else ("label", f"holds 2 to {most_labels} labels")
        raise HeadlightError(
            f"the table has no column {USUAL[kind]!r}, and no other one {what}; its columns are {_listed(names)}"
        )
    headed = not (set(known.values()) == {None} and names[of_labels] in columns[of_labels].values)
    return Found(of_texts, of_labels, headed, (_told(names, of_texts, of_labels, headed),))


@dataclass(frozen=True)
class _Column:
    """A column: its name, its filled cells, and the different ones; of too many different ones none is a label."""

    name: str
    cells: list[str]
    values: set[str]

    @property
    def numeric(self) -> bool:
        return all(value.replace(".", "", 1).replace(",", "", 1).lstrip("-").isdigit() for value in self.values)


def _columns(names: Sequence[str], rows: Iterable[Sequence[str]], most_labels: int) -> list[_Column]:
    columns = []
    for name, column in zip(names, zip_longest(*rows, fillvalue=""), strict=False):
        cells = [stripped for cell in column if (stripped := cell.strip())]
        values = set(cells)
        columns.append(_Column(name, cells, values if len(values) <= most_labels else set()))
    return columns


def _of_labels(columns: Sequence[_Column], taken: int | None) -> int | None:
    """The column of labels: values that return; rather one that is called so, or has words; the last of several."""
    fit = [
        (column.name.casefold() in _LABELS, not column.numeric, place)
        for place, column in enumerate(columns)
        if place != taken
        and len(column.values) >= 2
        and len(column.cells) >= 2 * len(column.values)
        and max(map(len, column.values)) <= _MAX_LABEL
    ]
    return max(fit)[-1] if fit else None


def _of_texts(columns: Sequence[_Column], taken: int | None) -> int | None:
    """The column of texts: the one with the most characters that are no links and no numbers."""
    fit = [
        (sum(map(len, column.cells)), place)
        for place, column in enumerate(columns)
        if place != taken
        and 2 * sum(cell.startswith(_LINKS) for cell in column.cells) < len(column.cells)
        and (not column.values or not column.numeric)
    ]
    return max(fit)[-1] if fit else None


def _place(names: Sequence[str], wanted: str, usual: str) -> int | None:
    """The place of a column; None where nobody asked for this name and it is not there."""
    for candidates, name in ((names, wanted), ([name.casefold() for name in names], wanted.casefold())):
        if candidates.count(name) == 1:
            return candidates.index(name)
    if wanted == usual and wanted not in names:
        return None
    problem = "twice a" if wanted in names else "no"
    raise HeadlightError(f"the table has {problem} column {wanted!r:.60}; its columns are {_listed(names)}")


def _told(names: Sequence[str], of_texts: int, of_labels: int, headed: bool) -> str:
    if not headed:
        return (
            "The first line is a row like the others, not the names of the columns: "
            f"texts were found in column {of_texts + 1}, labels in column {of_labels + 1}, counted from 1."
        )
    return (
        f"Texts were found in the column “{names[of_texts]:.60}”, labels in “{names[of_labels]:.60}”; "
        "other columns can be named below the file."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name[:30]) for name in names)[:600]
