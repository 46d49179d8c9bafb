"""Two pictures side by side: their difference in numbers and sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cachetools import LRUCache
from torch import Tensor

from headlight.link.place import Cursor, DisplayOptions
from headlight.picture import means, next_token, words
from headlight.picture.means import Heads
from headlight.picture.pictures import Picture
from headlight.picture.words import Figure
from headlight.queue.single_flight import single_flight
from headlight.ui import numbers
from headlight.ui.numbers import small, weight
from mha_core.errors import HeadlightError
from mha_core.measure import measures, reading
from mha_core.measure.measures import Repeated
from mha_core.models import changes
from mha_core.models.words import Word, in_common

# Up to here two float32 results of the same numbers in another order are called the same up to rounding.
SAME = 1e-5
FINDS_PREVIOUS = 0.5  # mean weight on the previous token from which a head is said to find it


@dataclass(frozen=True)
class Farthest(Repeated):
    """The same, and the layer and head in which the rows differ most."""

    layer: int
    head: int


@dataclass(frozen=True)
class Pair:
    """Two pictures and the head that is looked at in both.

    Attributes:
        at: layer and head.
        look: how the maps are drawn; a mean over heads is in the place of the head.
        other: layer and head of the right picture, where it is of another model.
    """

    left: Picture
    right: Picture
    at: Cursor
    look: DisplayOptions = field(default_factory=DisplayOptions)
    other: Cursor | None = None

    @property
    def places(self) -> tuple[Cursor, Cursor]:
        """Layer and head of each side."""
        return self.at, self.other or self.at

    @property
    def sides(self) -> tuple[Picture, Picture]:
        return self.left, self.right

    @cached_property
    def heads(self) -> list[Heads | None]:
        """Those whose mean is looked at on each side; None of one head."""
        sizes = (side.run.weights.shape[:2] for side in self.sides)
        return [means.heads_of(self.look, at, *size) for at, size in zip(self.places, sizes, strict=True)]

    @cached_property
    def maps(self) -> tuple[Tensor, Tensor]:
        """Both maps (i, j): of a head, or the mean; of tokens, or of the words that both have."""
        of_sides = zip(self.sides, self.places, self.heads, strict=True)
        left, right = (means.map_of(side.run.weights, at, heads) for side, at, heads in of_sides)
        if self.words:
            left, right = (_of_words(weights, own) for weights, own in zip((left, right), self.words, strict=True))
        return left, right

    @property
    def is_of_two_models(self) -> bool:
        return self.left.settings.model != self.right.settings.model

    @cached_property
    def words(self) -> tuple[list[Word], list[Word]] | None:
        """The words of each side in the place of its tokens, where two models cut their texts into different ones; None
        where tokens are compared, or where nobody can tell what stands where."""
        runs = self.left.run, self.right.run
        if runs[0].tokens == runs[1].tokens or not self.is_of_two_models or any(run.columns for run in runs):
            return None
        try:
            left, right = self.left.words(runs[0].tokens), self.right.words(runs[1].tokens)
        except HeadlightError:
            return None
        if left is None or right is None:
            return None
        if self.left.settings.text == self.right.settings.text:
            left, right = in_common(left, right), in_common(right, left)
        return (left, right) if all(any(word.text for word in own) for own in (left, right)) else None

    @property
    def fits(self) -> bool:
        """True when both maps have one size, of two models the same tokens or words, so that there is a difference."""
        left, right = self.maps
        are_alike = not self.is_of_two_models or self.words or self.left.run.tokens == self.right.run.tokens
        return left.shape == right.shape and bool(are_alike)

    @cached_property
    def of_sides(self) -> tuple[list[str], list[str]]:
        """What stands at the rows of each map."""
        if not self.words:
            return self.left.run.tokens, self.right.run.tokens
        left, right = ([word.text.strip() or "␣" for word in own if word.text] for own in self.words)
        return left, right

    @property
    def tokens(self) -> list[str]:
        """The rows of both, "tired/wide" where they differ; those of the left when the lengths differ."""
        return self._of_both(*self.of_sides)

    @property
    def columns(self) -> list[str] | None:
        """What they look at likewise, where that is others than themselves."""
        left, right = self.left.run.columns, self.right.run.columns
        return None if left is None or right is None else self._of_both(left, right)

    @property
    def is_of_one_text(self) -> bool:
        """True where a map has the tokens of one text at both sides, so that there is a previous one."""
        return self.left.run.columns is None

    def _of_both(self, left: list[str], right: list[str]) -> list[str]:
        if not self.fits:
            return left
        return [a if a == b else f"{a}/{b}" for a, b in zip(left, right, strict=True)]


def difference(pair: Pair) -> str:
    """The caption of the difference of the two maps; empty when none is needed."""
    left, right = pair.of_sides
    if pair.is_of_two_models:
        return _of_two_models(pair)
    if not pair.fits and len(left) == len(right):
        return "The two sides have texts of different lengths, so their maps cannot be subtracted."
    if not pair.fits:
        return (
            f"The left sentence has {len(left)} tokens, the right one {len(right)}. The maps have different sizes and "
            "cannot be subtracted. Use sentences with the same number of tokens."
        )
    other = sum(a != b for a, b in zip(left, right, strict=True))
    if other:
        places = "position" if other == 1 else "positions"
        return f"The sentences differ at {other} {places}; the maps are compared position by position."
    return ""


def _of_two_models(pair: Pair) -> str:
    """The same of two models: what is compared with what."""
    left, right = pair.of_sides
    sizes = f"{len(left)} on the left, {len(right)} on the right"
    if pair.words and not pair.fits:
        return f"The sentences have different numbers of words, {sizes}: the maps cannot be subtracted."
    if not pair.fits:
        return f"The two models split these texts into different tokens ({sizes}), and their words cannot be matched."
    if not pair.words:
        return "Both models split the text into the same tokens, so the maps are compared token by token."
    lost = [1 - float(side.sum(dim=-1).mean()) for side in pair.maps]
    own = [
        f"on the {name} {numbers.percent(share)} of a row on average is on the model’s own tokens, which are left out"
        for name, share in zip(("left", "right"), lost, strict=True)
        if share > SAME
    ]
    why = f": {' and '.join(own)}" if own else ""
    return f"The two models split the text into different tokens, so the maps are compared word by word{why}."


def _of_words(weights: Tensor, own: Sequence[Word]) -> Tensor:
    """A map (i, j) of tokens -> of the words of the text, without the model's own tokens."""
    inner = [at for at, word in enumerate(own) if word.text]
    return reading.merged(weights, own, own)[inner[0] : inner[-1] + 1, inner[0] : inner[-1] + 1]


def allowed(pair: Pair, allow: Tensor, side: int) -> Tensor:
    """A mask (i, j) of a side as its map stands: a word may look where one of its tokens may."""
    return _of_words(allow.float(), pair.words[side]) > 0 if pair.words else allow


def fitness(picture: Picture) -> str:
    """A warning where the model runs as it was not trained; empty for the untouched model."""
    settings = picture.settings
    if changes.as_trained(settings.position, picture.model):
        settings = replace(settings, position="trained")
    return "" if settings == settings.baseline else f"{words.NOT_TRAINED}."


def marked(pair: Pair, at: Cursor) -> tuple[int, int]:
    """The cell to read in all maps: the one chosen, otherwise what the row in focus looks at most on the left."""
    row = at.row or 0
    return row, int(pair.maps[0][row].argmax()) if at.key is None else at.key


def answers(pair: Pair, titles: tuple[str, str]) -> list[Figure]:
    """The figures that stand first: what the change does to this head, and to the whole sentence."""
    in_words = " → ".join(titles if pair.is_of_two_models else [f"{title[:1].lower()}{title[1:]}" for title in titles])
    if not pair.fits and not pair.is_of_one_text:
        return []
    what = "this mean over heads" if pair.look.mean else "this head"
    finds = pair.is_of_one_text and max(map(measures.previous_token_weight, pair.maps)) >= FINDS_PREVIOUS
    if finds or not pair.fits:
        label = f"mean weight of {what} on the previous token: {in_words}"
        found = Figure(value=_on_previous(pair), label=label)
    else:
        where, ends, _ = _largest(pair)
        found = Figure(value=ends, label=f"{where} changes most in {what}: {in_words}")
    if pair.is_of_two_models or next_token.chances_of(pair.left) is not None:
        return [found]  # what the model says next stands beside it, as bars
    cosine = measures.cosine(pair.left.run.sentence, pair.right.run.sentence)
    alike = "similarity of the whole sentence, left and right (cosine, 1 = identical)"
    return [found, Figure(value=numbers.precise(cosine), label=alike)]


def story(picture: Picture, layer: int, head: int) -> str:
    """What the rows of equal words are to each other in this head, and why; empty without equal words."""
    rows, own = repeated(picture), in_head(picture, layer, head)
    if rows is None or own is None:
        return ""
    which, place = f"The rows of {_repeats(picture, own)}", f"layer {layer} head {head}"
    if rows.difference <= SAME:
        largest = small(rows.difference)  # 0 on one processor, and rounding on another: one sentence for both
        said = f"{which} are the same in every layer and head, up to rounding (largest difference {largest})."
    elif own.difference <= SAME:
        other = f"layer {rows.layer} head {rows.head}"
        said = f"{which} are the same in {place}, but not in every head. In {other} they {_apart(rows.difference)}."
    else:
        said = f"{which} {_apart(own.difference)} in {place}."
    return f"{said} {_why(picture, own)}".rstrip()


@single_flight(LRUCache(256), lambda picture: picture.settings)
def repeated(picture: Picture) -> Farthest | None:
    """The largest difference between the rows of equal tokens in any head of a picture; None without equal tokens."""
    weights = picture.run.weights
    found = measures.repeated_words(weights, picture.run.ids)
    if found is None:
        return None
    rows = weights[..., list(found.places), :]
    apart = (rows.amax(dim=-2) - rows.amin(dim=-2)).amax(dim=-1)
    return Farthest(found.places, found.difference, *divmod(int(apart.argmax()), apart.shape[1]))


def in_head(picture: Picture, layer: int, head: int) -> Repeated | None:
    """The same in one head."""
    return measures.repeated_words(picture.run.weights[layer, head], picture.run.ids)


def _arrow(values: Sequence[float]) -> str:
    """The weights of both sides: "0.64 → 0.04"."""
    return " → ".join(weight(value) for value in values)


def _on_previous(pair: Pair) -> str:
    """The mean weights on the previous token: "0.9998 → 0.1094"."""
    return " → ".join(numbers.number(measures.previous_token_weight(side)) for side in pair.maps)


def _largest(pair: Pair) -> tuple[str, str, float]:
    """The cell of this head that changes most, its weights on both sides, and the change."""
    left, right = pair.maps
    change = measures.largest_change(left, right)
    ends = _arrow([float(side[change.row, change.key]) for side in (left, right)])
    return f"{pair.tokens[change.row]} → {(pair.columns or pair.tokens)[change.key]}", ends, change.value


def _repeats(picture: Picture, rows: Repeated) -> str:
    """The repeated word and its places: "“the” (at 1 and 7)"."""
    places = [str(place) for place in rows.places]
    listed = f"{', '.join(places[:-1])} and {places[-1]}" if len(places) <= 4 else f"{len(places)} places"
    return f"“{picture.run.tokens[rows.places[0]]}” (at {listed})"


def _apart(value: float) -> str:
    return f"differ by up to {small(value)}"


def _why(picture: Picture, rows: Repeated) -> str:
    """The reason for the difference of the rows, as far as the settings give one."""
    positions = words.has_positions(picture.settings, picture.model)
    masked = words.is_masked(picture.settings, picture.model)
    if rows.difference <= SAME:
        return "" if positions or masked else "This model has no information about the position of a token."
    causes = ["positional encodings distinguish them"] * positions + ["the mask allows them different keys"] * masked
    return f"{' and '.join(causes)}.".capitalize() if causes else ""
