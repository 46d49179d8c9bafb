"""The difference of two pictures, in numbers and sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cachetools import LRUCache
from torch import Tensor

from headlight.link.cursor import Cursor, DisplayOptions
from headlight.picture import next_token, selected_map, words
from headlight.picture.pictures import Picture
from headlight.picture.selected_map import Heads
from headlight.picture.words import Figure
from headlight.queue.single_flight import single_flight
from headlight.ui import numbers
from headlight.ui.numbers import small, weight
from mha_core.errors import HeadlightError
from mha_core.measure import measures, reading
from mha_core.measure.measures import Repeated
from mha_core.models import interventions
from mha_core.models.words import Word, join_to_common
from mha_core.token_text import isolate, quote

# The largest difference of float32 sums of the same numbers in another order that is reported as rounding.
ROUNDING = 1e-5
MIN_PREVIOUS_WEIGHT = 0.5  # the least mean weight on the previous token of a previous-token head


@dataclass(frozen=True)
class LargestDifference(Repeated):
    """Repeated words, with the layer and head in which their rows differ most."""

    layer: int
    head: int


@dataclass(frozen=True)
class Pair:
    """Two pictures and the head in focus in both."""

    left: Picture
    right: Picture
    cursor: Cursor  # layer and head
    # the display options; a mean over heads replaces the head
    options: DisplayOptions = field(default_factory=DisplayOptions)
    right_cursor: Cursor | None = None  # layer and head of the right picture if its model differs

    @property
    def cursors(self) -> tuple[Cursor, Cursor]:
        """The cursor of each side."""
        return self.cursor, self.right_cursor or self.cursor

    @property
    def sides(self) -> tuple[Picture, Picture]:
        """The left and the right picture."""
        return self.left, self.right

    @cached_property
    def heads(self) -> list[Heads | None]:
        """The heads whose mean is displayed on each side; None for a single head."""
        sides = zip(self.cursors, (side.run.weights.shape[:2] for side in self.sides), strict=True)
        return [selected_map.heads_to_average(self.options, cursor, *size) for cursor, size in sides]

    @cached_property
    def maps(self) -> tuple[Tensor, Tensor]:
        """The displayed maps (i, j) of both sides: of a head or a mean, by tokens or by common words."""
        views = zip(self.sides, self.cursors, self.heads, strict=True)
        left, right = (selected_map.focus_map(side.run.weights, cursor, heads) for side, cursor, heads in views)
        if self.words:
            left, right = map(_merge_words, (left, right), self.words)
        return left, right

    @property
    def has_two_models(self) -> bool:
        """Return whether the sides have different models."""
        return self.left.settings.model != self.right.settings.model

    @cached_property
    def words(self) -> tuple[list[Word], list[Word]] | None:
        """The words of each side, to compare models that tokenize their texts differently.

        None if tokens are compared, or if the tokens cannot be assigned to words.
        """
        runs = self.left.run, self.right.run
        if runs[0].tokens == runs[1].tokens or not self.has_two_models or any(run.key_tokens for run in runs):
            return None
        try:
            left, right = self.left.words(runs[0].tokens), self.right.words(runs[1].tokens)
        except HeadlightError:
            return None
        if left is None or right is None:
            return None
        if self.left.settings.text == self.right.settings.text:
            left, right = join_to_common(left, right), join_to_common(right, left)
        return (left, right) if all(any(word.text for word in words) for words in (left, right)) else None

    @property
    def fits(self) -> bool:
        """Return whether the maps can be subtracted: equal sizes, and for two models equal tokens or words."""
        left, right = self.maps
        are_alike = not self.has_two_models or self.words or self.left.run.tokens == self.right.run.tokens
        return left.shape == right.shape and bool(are_alike)

    @cached_property
    def row_labels(self) -> tuple[list[str], list[str]]:
        """The labels of the rows of each map."""
        if not self.words:
            return self.left.run.tokens, self.right.run.tokens
        left, right = ([word.text.strip() or "␣" for word in words if word.text] for words in self.words)
        return left, right

    @property
    def tokens(self) -> list[str]:
        """The common labels of the rows, "tired/wide" where they differ; the left ones if the lengths differ."""
        return self._common_labels(*self.row_labels)

    @property
    def columns(self) -> list[str] | None:
        """The common labels of the keys if they differ from the queries."""
        left, right = self.left.run.key_tokens, self.right.run.key_tokens
        return None if left is None or right is None else self._common_labels(left, right)

    @property
    def is_self_attention(self) -> bool:
        """Return whether queries and keys are the same tokens, so that there is a previous one."""
        return self.left.run.key_tokens is None

    def _common_labels(self, left: list[str], right: list[str]) -> list[str]:
        if not self.fits:
            return left
        return [a if a == b else f"{a}/{b}" for a, b in zip(left, right, strict=True)]


def difference(pair: Pair) -> str:
    """Return the caption of the difference of the two maps; "" if none is needed."""
    left, right = pair.row_labels
    if pair.has_two_models:
        return _models_caption(pair)
    if not pair.fits and len(left) == len(right):
        return "The two sides have texts of different lengths, so their maps cannot be subtracted."
    if not pair.fits:
        return (
            f"The left sentence has {len(left)} tokens, the right one {len(right)}. The maps have different sizes and "
            "cannot be subtracted. Use sentences with the same number of tokens."
        )
    different = sum(a != b for a, b in zip(left, right, strict=True))
    if different:
        places = "position" if different == 1 else "positions"
        return f"The sentences differ at {different} {places}; the maps are compared position by position."
    return ""


def _models_caption(pair: Pair) -> str:
    """Return the caption for two models."""
    left, right = pair.row_labels
    sizes = f"{len(left)} on the left, {len(right)} on the right"
    if pair.words and not pair.fits:
        return f"The sentences have different numbers of words, {sizes}: the maps cannot be subtracted."
    if not pair.fits:
        return f"The two models split these texts into different tokens ({sizes}), and their words cannot be matched."
    if not pair.words:
        return "Both models split the text into the same tokens, so the maps are compared token by token."
    shares = [1 - float(side.sum(dim=-1).mean()) for side in pair.maps]
    parts = [
        f"on the {name} {numbers.percent(share)} of a row on average is on the model’s own tokens, which are left out"
        for name, share in zip(("left", "right"), shares, strict=True)
        if share > ROUNDING
    ]
    suffix = f": {' and '.join(parts)}" if parts else ""
    return f"The two models split the text into different tokens, so the maps are compared word by word{suffix}."


def _merge_words(weights: Tensor, words: Sequence[Word]) -> Tensor:
    """Merge a map (i, j) of tokens into words, without special tokens."""
    inner = [index for index, word in enumerate(words) if word.text]
    return reading.merge_words(weights, words, words)[inner[0] : inner[-1] + 1, inner[0] : inner[-1] + 1]


def merge_mask(pair: Pair, allow: Tensor, side: int) -> Tensor:
    """Merge a side's mask (i, j) of tokens into words: a pair is allowed if any of its tokens is."""
    return _merge_words(allow.float(), pair.words[side]) > 0 if pair.words else allow


def fitness(picture: Picture) -> str:
    """Return a warning if the model runs in a way that it was not trained for; "" for the unmodified model."""
    settings = picture.settings
    if interventions.is_as_trained(settings.position, picture.model):
        settings = replace(settings, position="trained")
    return "" if settings == settings.baseline else f"{words.NOT_TRAINED}."


def marked_cell(pair: Pair, cursor: Cursor) -> tuple[int, int]:
    """Return the cell to mark in all maps: the cursor's, or the largest of its row on the left."""
    row = cursor.row or 0
    return row, int(pair.maps[0][row].argmax()) if cursor.key is None else cursor.key


def answers(pair: Pair, titles: tuple[str, str]) -> list[Figure]:
    """Return the main figures: the effect of the change on this head and on the whole sentence."""
    names = " → ".join(titles if pair.has_two_models else [f"{title[:1].lower()}{title[1:]}" for title in titles])
    if not pair.fits and not pair.is_self_attention:
        return []
    subject = "this mean over heads" if pair.options.mean else "this head"
    is_previous = pair.is_self_attention and max(map(measures.previous_token_weight, pair.maps)) >= MIN_PREVIOUS_WEIGHT
    if is_previous or not pair.fits:
        label = f"mean weight of {subject} on the previous token: {names}"
        shares = (weight(measures.previous_token_weight(side)) for side in pair.maps)
        figure = Figure(value=" → ".join(shares), label=label)
    else:
        cursor = pair.cursors[0]
        has_pair = cursor.key is not None and cursor.fits(pair.tokens, pair.columns or pair.tokens)
        change = measures.largest_change(*pair.maps)
        row, key = (cursor.row or 0, cursor.key or 0) if has_pair else (change.row, change.key)
        cell, weights = _ends(pair, row, key)
        lead = f"{cell} in {subject}" if has_pair else f"largest change in {subject}, {cell}"
        figure = Figure(value=weights, label=f"{lead}: {names}")
    if pair.has_two_models or next_token.next_probabilities(pair.left) is not None:
        return [figure]  # a chart of the next tokens replaces the cosine
    cosine = measures.cosine(pair.left.run.sentence, pair.right.run.sentence)
    similarity = "similarity of the whole sentence, left and right (cosine, 1 = identical)"
    return [figure, Figure(value=numbers.precise(cosine), label=similarity)]


def story(picture: Picture, layer: int, head: int) -> str:
    """Compare the rows of equal words in this head, and give the reason; "" without equal words."""
    rows, focus = repeated_rows(picture), rows_in_head(picture, layer, head)
    if rows is None or focus is None:
        return ""
    places = [str(place) for place in focus.places]
    listed = f"{', '.join(places[:-1])} and {places[-1]}" if len(places) <= 4 else f"{len(places)} places"
    subject = f"The rows of {quote(picture.run.tokens[focus.places[0]])} (at {listed})"  # “the” (at 1 and 7)
    place = f"layer {layer} head {head}"
    if rows.difference <= ROUNDING:
        amount = small(rows.difference)  # rounding may be 0 on some processors; the sentence is the same
        sentence = f"{subject} are the same in every layer and head, up to rounding (largest difference {amount})."
    elif focus.difference <= ROUNDING:
        other = f"in layer {rows.layer} head {rows.head} they differ by up to {small(rows.difference)}"
        sentence = f"{subject} are the same in {place}, but not in every head: {other}."
    else:
        sentence = f"{subject} differ by up to {small(focus.difference)} in {place}."
    return f"{sentence} {_cause(picture, focus)}".rstrip()


@single_flight(LRUCache(256), lambda picture: picture.settings)
def repeated_rows(picture: Picture) -> LargestDifference | None:
    """Return the largest difference between rows of equal tokens over all heads; None without equal tokens."""
    weights = picture.run.weights
    words = measures.repeated_words(weights, picture.run.ids)
    if words is None:
        return None
    rows = weights[..., list(words.places), :]
    spread = (rows.amax(dim=-2) - rows.amin(dim=-2)).amax(dim=-1)
    return LargestDifference(words.places, words.difference, *divmod(int(spread.argmax()), spread.shape[1]))


def rows_in_head(picture: Picture, layer: int, head: int) -> Repeated | None:
    """Return the largest difference between rows of equal tokens in one head."""
    return measures.repeated_words(picture.run.weights[layer, head], picture.run.ids)


def _ends(pair: Pair, row: int, key: int) -> tuple[str, str]:
    """Return the name of a cell, and its weights on both sides."""
    ends = " → ".join(weight(float(side[row, key])) for side in pair.maps)
    return f"{isolate(pair.tokens[row])} → {isolate((pair.columns or pair.tokens)[key])}", ends


def _cause(picture: Picture, rows: Repeated) -> str:
    """Explain the difference of the rows, as far as the settings imply a reason."""
    positions = words.has_positions(picture.settings, picture.model)
    is_masked = words.is_masked(picture.settings, picture.model)
    if rows.difference <= ROUNDING:
        return "" if positions or is_masked else "This model has no information about the position of a token."
    causes = ["positional encodings distinguish them"] * positions + ["the mask allows them different keys"] * is_masked
    return f"{' and '.join(causes)}.".capitalize() if causes else ""
