"""Transforms of the map in focus: tokens merged into words, and rows renormalised without hidden keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from torch import Tensor

from headlight.link.cursor import DisplayOptions
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


class TransformedMap(TypedDict):
    """The rows and columns of a transformed map."""

    rows: list[str] | None  # words; None for tokens
    columns: list[str] | None
    rowOf: list[int]  # the row of each token
    columnOf: list[int]
    sentence: str  # the rule, or the reason why it does not apply
    hiddenShares: list[float]  # the share of each row on hidden keys; empty if rows are not renormalised


@dataclass(frozen=True)
class MapTransform:
    """A transform of the map in focus."""

    run: Run
    rows: list[Word] | None  # the words to merge; None to keep the tokens
    columns: list[Word] | None
    # the numbers of hidden keys at the start and at the end, without which rows are renormalised
    hidden: tuple[int, int]
    problem: str  # the reason why the tokens cannot be merged; "" if they can

    @property
    def is_identity(self) -> bool:
        """Return whether the map is displayed unchanged."""
        return not (self.rows or self.columns or any(self.hidden) or self.problem)

    def apply(self, weights: Tensor) -> Tensor:
        """Transform a map (i, j)."""
        merged = reading.merge_words(weights, self.rows, self.columns)
        return reading.renormalise(merged, self._keys(merged))[0] if any(self.hidden) else merged

    def apply_to_mask(self, allow: Tensor) -> Tensor:
        """Transform a mask (i, j): a pair of words is allowed if any pair of their tokens is."""
        return reading.merge_words(allow.float(), self.rows, self.columns) > 0

    def payload(self, weights: Tensor) -> TransformedMap:
        """Return the labels and indices of the transformed rows and columns, and the weight on hidden keys."""
        run, hidden_shares = self.run, list[float]()
        if any(self.hidden):
            merged = reading.merge_words(weights, self.rows, self.columns)
            hidden_shares = reading.renormalise(merged, self._keys(merged))[1].tolist()
        tokens = run.key_tokens or run.tokens
        return {
            "rows": self._labels(self.rows, run.tokens),
            "columns": self._labels(self.columns, tokens) if run.key_tokens else None,
            "rowOf": _row_indices(self.rows, len(run.tokens)),
            "columnOf": _row_indices(self.columns, len(tokens)),
            "sentence": self.problem or (RULE if self.rows or self.columns else ""),
            "hiddenShares": hidden_shares,
        }

    def _keys(self, merged: Tensor) -> list[int]:
        first, last = self.hidden
        n = merged.shape[-1]
        return [*range(first), *range(n - last, n)]

    @staticmethod
    def _labels(words: Sequence[Word] | None, tokens: Sequence[str]) -> list[str] | None:
        """Return the text of each word, or its token if the text is blank."""
        return None if words is None else [word.text.strip() or tokens[word.first] for word in words]


def map_transform(picture: Picture, options: DisplayOptions) -> MapTransform:
    """Return the transform that the link asks for, perhaps the identity."""
    run = picture.run
    hidden = hidden_ends(run, options) if "renorm" in options.switches else (0, 0)
    if "words" not in options.switches:
        return MapTransform(run, None, None, hidden, "")
    try:
        rows = picture.words(run.tokens)
        columns = rows if run.key_tokens is None else picture.words(run.key_tokens)
        if rows is None and columns is None:
            raise Unsupported("these tokens are not those of the sentence")
    except HeadlightError as error:
        problem = f"Tokens cannot be merged into words: {words.error_sentence(error)}"
        return MapTransform(run, None, None, hidden, problem)
    if hidden[0] + hidden[1] >= len(rows or run.tokens):
        hidden = 0, 0  # as in the view: at least one column stays
    return MapTransform(run, rows, columns, hidden, "")


def hidden_ends(run: Run, options: DisplayOptions) -> tuple[int, int]:
    """Return the numbers of hidden tokens at both ends; (0, 0) if all would be hidden, as in packets.js."""
    if run.key_tokens is not None:
        return 0, 0
    first, last = run.ends if "nospecials" in options.switches else (0, 0)
    first = max(first, int("nofirst" in options.switches))
    return (first, last) if first + last < len(run.tokens) else (0, 0)


def _row_indices(words: Sequence[Word] | None, tokens: int) -> list[int]:
    if words is None:
        return list(range(tokens))
    return [index for index, word in enumerate(words) for _ in range(word.size)]
