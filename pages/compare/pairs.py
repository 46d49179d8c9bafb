"""Two pictures side by side: their difference in numbers and sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cachetools import LRUCache
from torch import Tensor

from mha_core import Run
from mha_core.measure import compare
from mha_core.measure.compare import Repeated
from pages.kit.draw import numbers
from pages.kit.draw.numbers import small, weight
from pages.kit.picture import models, pictures, words
from pages.kit.picture.pictures import Picture
from pages.kit.picture.place import At
from pages.kit.picture.settings import Settings
from pages.kit.picture.sharing import alone, known, shared, turn

# Up to here two float32 results of the same numbers in another order are called the same up to rounding.
SAME = 1e-5


@dataclass(frozen=True)
class Pair:
    """Two pictures and the head that is looked at in both."""

    left: Picture
    right: Picture
    layer: int
    head: int

    @property
    def maps(self) -> tuple[Tensor, Tensor]:
        """Both maps (i, j), on the CPU."""
        left, right = (side.run.weights[self.layer, self.head].cpu() for side in (self.left, self.right))
        return left, right

    @property
    def fits(self) -> bool:
        """True when both sentences have the same number of tokens, so that there is a difference of the maps."""
        return len(self.left.run.tokens) == len(self.right.run.tokens)

    @property
    def tokens(self) -> list[str]:
        """The tokens of both, "tired/wide" where they differ; those of the left when the lengths differ."""
        left, right = self.left.run.tokens, self.right.run.tokens
        if not self.fits:
            return left
        return [a if a == b else f"{a}/{b}" for a, b in zip(left, right, strict=True)]


def difference(pair: Pair) -> str:
    """The caption of the difference of the two maps; empty when none is needed."""
    left, right = pair.left.run.tokens, pair.right.run.tokens
    if not pair.fits:
        return (
            f"The left sentence has {len(left)} tokens, the right one {len(right)}: the maps have different "
            "sizes, so they cannot be subtracted. Use sentences with equally many tokens."
        )
    other = sum(a != b for a, b in zip(left, right, strict=True))
    if other:
        places = "position" if other == 1 else "positions"
        return f"The sentences differ at {other} {places}; the maps are compared position by position."
    return ""


def fitness(picture: Picture) -> str:
    """A warning where the model runs as it was not trained; empty for the untouched model."""
    settings = picture.settings
    if words.as_trained(settings.position, picture.model):
        settings = replace(settings, position="trained")
    return "" if settings == settings.untouched else f"{words.NOT_TRAINED}."


def marked(pair: Pair, at: At) -> tuple[int, int]:
    """The cell to read in all maps: the one chosen, otherwise what the row in focus looks at most on the left."""
    row = at.row or 0
    return row, int(pair.maps[0][row].argmax()) if at.key is None else at.key


def figures(pair: Pair, at: At) -> list[dict[str, str]]:
    """The strip under the maps: value and what it is."""
    left, right = pair.maps
    before = " → ".join(weight(compare.previous_token_weight(side), 3) for side in (left, right))
    strip = [_figure(before, "weight on the previous token, mean over queries")]
    if pair.fits:
        change = compare.largest_change(left, right)
        where = f"{pair.tokens[change.row]} → {pair.tokens[change.key]}"
        ends = " → ".join(weight(float(side[change.row, change.key])) for side in (left, right))
        strip.append(_figure(numbers.signed(change.value), f"the largest change: {where}, {ends}"))
        strip.append(_cell(pair, marked(pair, at), "the marked cell"))
        first = At.of(models.first_at(pair.left.settings.model))
        other = replace(pair, layer=first.layer, head=first.head)
        if (pair.layer, pair.head) != (first.layer, first.head):
            cell = marked(other, replace(at, key=None))
            strip.append(_cell(other, cell, f"layer {first.layer} · head {first.head}, the first of Explore"))
    cosine = compare.cosine(pair.left.run.sentence, pair.right.run.sentence)
    strip.append(_figure(numbers.precise(cosine), "cosine of the two sentence vectors"))
    sides = [(picture, repeated(picture)) for picture in (pair.left, pair.right)]
    repeats = {_repeats(picture, rows) for picture, rows in sides if rows}
    if repeats:
        word = repeats.pop() if len(repeats) == 1 else "a word that occurs more than once"
        values = " → ".join("—" if rows is None else small(rows.difference) for _, rows in sides)
        strip.append(_figure(values, f"largest difference between the rows of {word}, over all layers and heads"))
    return strip


def sentences(pair: Pair) -> list[str]:
    """The reasons why the rows of equal words are equal or not: a sentence a side, one with a causal mask instead."""
    lines = []
    for name, picture in (("Left", pair.left), ("Right", pair.right)):
        rows = repeated(picture)
        if rows is None:
            continue
        word = _repeats(picture, rows)
        lines.append(f"{name}: the rows of {word} {_apart(rows.difference)}. {_why(picture, rows)}")
        settings, model = picture.settings, picture.model
        masked = None
        if not words.has_positions(settings, model) and not words.is_masked(settings, model):
            masked = _under_causal(picture)
        if masked:
            lines.append(
                f"{name} with a causal mask: they {_apart(masked.difference)}, without positions: the later one "
                "may look at more keys, so it shares its weight among others."
            )
    return lines


def repeated(picture: Picture) -> Repeated | None:
    """The largest difference between the rows of equal tokens in a picture; None without equal tokens."""
    return _repeated_words(picture.settings, lambda: picture.run)


def each_head(
    settings: Settings, *, ask: bool, told: Callable[[float], object] = lambda done: None
) -> list[list[float]] | None:
    """The cosine of the sentence vector to itself without one head, a list a layer.

    Only computed with `ask`; otherwise what is known from an earlier time, or None. Raises what `Model.run` raises.

    `told` hears how much is done, 0 to 1, and again and again while somebody else's turn lasts.
    """
    cosines = known(_without_each_head, settings, told)
    if cosines is None and ask:
        # one at a time, so that nobody waits in the cache, where `told` cannot end the wait
        with alone(lambda: told(0.0)):
            cosines = _without_each_head(settings, told)
    return cosines


@shared(LRUCache(64), lambda settings, told: settings)
def _without_each_head(settings: Settings, told: Callable[[float], object]) -> list[list[float]]:
    model = pictures.model_of(settings)
    cosines = compare.without_each_head(model, settings.text, **settings.switches(model), told=told)
    return [[float(cosine) for cosine in layer] for layer in cosines.tolist()]


def _figure(value: str, label: str) -> dict[str, str]:
    return {"value": value, "label": label}


def _cell(pair: Pair, cell: tuple[int, int], what: str) -> dict[str, str]:
    row, key = cell
    values = " → ".join(weight(float(each[row, key])) for each in pair.maps)
    return _figure(values, f"{pair.tokens[row]} → {pair.tokens[key]}, {what}")


def _repeats(picture: Picture, rows: Repeated) -> str:
    """The repeated word and its places: "“the” (at 1 and 7)"."""
    places = [str(place) for place in rows.places]
    listed = f"{', '.join(places[:-1])} and {places[-1]}" if len(places) <= 4 else f"{len(places)} places"
    return f"“{picture.run.tokens[rows.places[0]]}” (at {listed})"


def _apart(value: float) -> str:
    if value == 0:
        return "are equal in every layer and head"
    largest = small(value)
    if value <= SAME:
        return f"are the same up to rounding, {largest}"
    return f"differ by more than {largest[1:]}" if largest.startswith(">") else f"differ by up to {largest}"


def _why(picture: Picture, rows: Repeated) -> str:
    """The reason for the difference of the rows, as far as the settings give one."""
    positions = words.has_positions(picture.settings, picture.model)
    masked = words.is_masked(picture.settings, picture.model)
    if rows.difference <= SAME:
        return "" if positions or masked else "Nothing in this model says where a token stands."
    causes = ["positions say where each one stands"] * positions + ["the mask lets each look at other keys"] * masked
    return f"{' and '.join(causes)}.".capitalize() if causes else ""


def _under_causal(picture: Picture) -> Repeated | None:
    """`repeated` of the same settings with a causal mask instead of their own."""
    settings = replace(picture.settings.unpainted, mask="causal")

    def run() -> Run:
        with turn(len(picture.run.ids)):
            return settings.run(picture.model)

    return _repeated_words(settings, run)


@shared(LRUCache(256), lambda settings, run: settings)
def _repeated_words(settings: Settings, run: Callable[[], Run]) -> Repeated | None:
    """The repeated words of a run. The number is kept, the run is not."""
    done = run()
    return compare.repeated_words(done.weights, done.ids)
