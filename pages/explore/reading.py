"""How the map in focus is read: its tokens as words, or without the keys that are not shown, its rows summing to 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from torch import Tensor

from headlight.link.place import DisplayOptions
from headlight.picture import words
from headlight.picture.pictures import Picture
from mha_core import Run
from mha_core.errors import HeadlightError, Unsupported
from mha_core.measure import reading
from mha_core.models.words import Word

RULE = (
    "A word is a run of letters and digits, with the apostrophes between them; every other sign is a word of its own. "
    "The columns of a word’s tokens are added up, their rows averaged."
)


class ReadMap(TypedDict):
    """What stands in the large map, where that is not every token."""

    rows: list[str] | None  # its words; None where they are the tokens
    columns: list[str] | None
    rowOf: list[int]  # of each token its row
    columnOf: list[int]
    said: str  # how it is read, or why it cannot be
    sunk: list[float]  # of each row the share that went to what is not shown; empty where rows are not renormalised


@dataclass(frozen=True)
class Reading:
    """How the map in focus is read.

    Attributes:
        rows, columns: its words, None where the tokens stay.
        hidden: how many rows and columns in front and behind are not shown, where the rest is renormalised.
        said: why it cannot be read so; "" where it can.
    """

    run: Run
    rows: list[Word] | None
    columns: list[Word] | None
    hidden: tuple[int, int]
    said: str

    def of(self, weights: Tensor) -> Tensor:
        """A map (i, j) of the picture as it is read."""
        found = reading.merged(weights, self.rows, self.columns)
        return reading.renormalised(found, self._keys(found))[0] if any(self.hidden) else found

    def allowed(self, allow: Tensor) -> Tensor:
        """The same of a mask (i, j): a word may look at another where one of its tokens may at one of the other's."""
        return reading.merged(allow.float(), self.rows, self.columns) > 0

    def in_words(self, weights: Tensor) -> ReadMap:
        """What is said of it; `weights`: the map of the picture, before it is read."""
        run, sunk = self.run, list[float]()
        if any(self.hidden):
            found = reading.merged(weights, self.rows, self.columns)
            sunk = reading.renormalised(found, self._keys(found))[1].tolist()
        tokens = run.columns or run.tokens
        return {
            "rows": self._labels(self.rows, run.tokens),
            "columns": self._labels(self.columns, tokens) if run.columns else None,
            "rowOf": _places(self.rows, len(run.tokens)),
            "columnOf": _places(self.columns, len(tokens)),
            "said": self.said or (RULE if self.rows or self.columns else ""),
            "sunk": sunk,
        }

    def _keys(self, found: Tensor) -> list[int]:
        first, last = self.hidden
        n = found.shape[-1]
        return [*range(first), *range(n - last, n)]

    @staticmethod
    def _labels(found: Sequence[Word] | None, tokens: Sequence[str]) -> list[str] | None:
        """The characters of each word; of one without any its token."""
        return None if found is None else [word.text.strip() or tokens[word.first] for word in found]


def reading_of(picture: Picture, look: DisplayOptions) -> Reading | None:
    """How a link wants the map in focus to be read; None where it wants every token as it is."""
    hidden = hidden_ends(picture.run, look) if "renorm" in look.switches else (0, 0)
    if "words" not in look.switches:
        return Reading(picture.run, None, None, hidden, "") if any(hidden) else None
    run = picture.run
    try:
        rows = picture.words(run.tokens)
        columns = rows if run.columns is None else picture.words(run.columns)
        if rows is None and columns is None:
            raise Unsupported("these tokens are not those of the sentence")
    except HeadlightError as error:
        return Reading(run, None, None, hidden, f"Tokens cannot be merged into words: {words.sentence(error)}")
    if hidden[0] + hidden[1] >= len(rows or run.tokens):
        hidden = 0, 0  # as the view has it: of nothing there is no map
    return Reading(run, rows, columns, hidden, "")


def hidden_ends(run: Run, look: DisplayOptions) -> tuple[int, int]:
    """How many tokens in front and behind are not shown, as packets.js says it; none where that would be all."""
    if run.columns is not None:
        return 0, 0
    first, last = run.ends if "nospecials" in look.switches else (0, 0)
    first = max(first, int("nofirst" in look.switches))
    return (first, last) if first + last < len(run.tokens) else (0, 0)


def _places(found: Sequence[Word] | None, tokens: int) -> list[int]:
    if found is None:
        return list(range(tokens))
    return [at for at, word in enumerate(found) for _ in range(word.size)]
