"""Two pictures side by side: what differs between them, in numbers and sentences. No streamlit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cachetools import LRUCache

from mha_core import Run
from mha_core.measure import compare
from mha_core.measure.compare import Repeated
from pages.kit.picture import models, pictures
from pages.kit.picture import words as text
from pages.kit.picture.pictures import Picture, Settings
from pages.kit.picture.place import At

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "SAME",
    "Pair",
    "difference",
    "each_head",
    "figures",
    "fitness",
    "marked",
    "repeated",
    "sentences",
    "small",
    "weight",
]

# Up to here two float32 results of the same numbers in another order are called the same up to rounding.
SAME = 1e-5
_lock = threading.Lock()
_repeated: LRUCache[Settings, Repeated | None] = LRUCache(256)
_each: LRUCache[Settings, list[list[float]]] = LRUCache(64)


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
    """What must be said of the difference of the two maps: why there is none, or what it compares; mostly nothing."""
    left, right = pair.left.run.tokens, pair.right.run.tokens
    if not pair.fits:
        return (
            f"The left sentence has {len(left)} tokens, the right one {len(right)}: cell by cell there is nothing to "
            "subtract. Give both as many tokens to see the difference."
        )
    other = sum(a != b for a, b in zip(left, right, strict=True))
    if other:
        places = "place" if other == 1 else "places"
        return f"The sentences have other words at {other} {places}: they are compared place by place."
    return ""


def fitness(settings: Settings) -> str:
    """What a trained model's numbers are worth under these settings; nothing for the untouched model."""
    own = text.as_trained(settings.position, pictures.model_of(settings))
    as_it_was = replace(settings, position="trained") if own else settings
    return "" if as_it_was == settings.untouched else "The model was not trained for this."


def marked(pair: Pair, at: At) -> tuple[int, int]:
    """The cell to read in all maps: the one chosen, otherwise what the row in focus looks at most on the left."""
    row = at.row or 0
    return row, int(pair.maps[0][row].argmax()) if at.key is None else at.key


def figures(pair: Pair, at: At) -> list[dict[str, str]]:
    """The strip under the maps: value and what it is."""
    left, right = pair.maps
    before = (compare.previous_token_weight(each) for each in (left, right))
    found = [_figure(" → ".join(weight(each, 3) for each in before), "weight on the previous token, mean over queries")]
    if pair.fits:
        change = compare.largest_change(left, right)
        where = f"{pair.tokens[change.row]} → {pair.tokens[change.key]}"
        ends = " → ".join(weight(float(each[change.row, change.key])) for each in (left, right))
        found.append(_figure(_signed(change.value), f"the largest change: {where}, {ends}"))
        found.append(_cell(pair, marked(pair, at), "the marked cell"))
        first = At.of(models.first_at(pair.left.settings.model))
        other = replace(pair, layer=first.layer, head=first.head)
        if (pair.layer, pair.head) != (first.layer, first.head):
            cell = marked(other, replace(at, key=None))
            found.append(_cell(other, cell, f"layer {first.layer} · head {first.head}, the first of Explore"))
    cosine = compare.cosine(pair.left.run.sentence, pair.right.run.sentence)
    found.append(_figure(text.precise(cosine), "cosine of the two sentence vectors"))
    sides = [repeated(side) for side in (pair.left, pair.right)]
    if any(sides):
        words = {_words(side, each) for side, each in zip((pair.left, pair.right), sides, strict=True) if each}
        of = words.pop() if len(words) == 1 else "a word that occurs more than once"
        values = " → ".join("—" if each is None else small(each.difference) for each in sides)
        found.append(_figure(values, f"largest difference between the rows of {of}, over all layers and heads"))
    return found


def sentences(pair: Pair) -> list[str]:
    """Why the rows of equal words are equal, or are not: one sentence a side, one with a causal mask instead."""
    found = []
    for name, picture in (("Left", pair.left), ("Right", pair.right)):
        rows = repeated(picture)
        if rows is None:
            continue
        of = _words(picture, rows)
        found.append(f"{name}: the rows of {of} {_apart(rows.difference)}. {_why(picture.settings, rows)}")
        free = not text.has_positions(picture.settings) and not text.is_masked(picture.settings)
        masked = _under_causal(picture) if free else None
        if masked:
            found.append(
                f"{name} with a causal mask: they {_apart(masked.difference)}, without positions: the later one "
                "may look at more keys, so it shares its weight among others."
            )
    return found


def repeated(picture: Picture) -> Repeated | None:
    """How far the rows of equal tokens lie apart in a picture."""
    return _kept(picture.settings, lambda: picture.run)


def each_head(
    settings: Settings, *, ask: bool, told: Callable[[float], object] = lambda done: None
) -> list[list[float]] | None:
    """The cosine of the sentence vector to itself without one head, a list a layer.

    Only computed with `ask`; otherwise what is known from an earlier time, or None. Raises what `Model.run` raises.

    `told` hears how much is done, 0 to 1, and again and again while somebody else's turn lasts.
    """
    known = _known_heads(settings)
    if known is not None or not ask:
        return known
    with pictures.alone(lambda: told(0.0)):
        known = _known_heads(settings)  # others may have waited for the same
        if known is None:
            model = pictures.model_of(settings)
            cosines = compare.without_each_head(
                model,
                settings.text,
                mask=pictures.mask_of(settings, model),
                position=settings.position,
                heads_off=settings.heads_off,
                temperature=settings.temperature,
                told=told,
            )
            known = cosines.tolist()
            with _lock:
                _each[settings] = known
    return known


def _known_heads(settings: Settings) -> list[list[float]] | None:
    with _lock:
        return _each.get(settings)


def weight(value: float, digits: int = 2) -> str:
    """A weight to read, with more digits where few would say 0 or 1 of something that is neither."""
    fixed = f"{value:.{digits}f}"
    if value in (0, 1) or float(fixed) not in (0, 1):
        return fixed
    if value < 0.00005:
        return "<0.0001"
    return ">0.9999" if 0.99995 <= value < 1 else f"{value:.4f}"


def small(value: float) -> str:
    """A difference to read: 0 only for what is 0, a power of ten for what is near it."""
    if value == 0:
        return "0"
    return f"{value:.1e}".replace("e-0", "e-") if value < 0.001 else weight(value, 3)


def _signed(value: float) -> str:
    return ("−" if value < 0 else "+" if value else "") + small(abs(value)).lstrip(">")


def _figure(value: str, label: str) -> dict[str, str]:
    return {"value": value, "label": label}


def _cell(pair: Pair, cell: tuple[int, int], what: str) -> dict[str, str]:
    row, key = cell
    values = " → ".join(weight(float(each[row, key])) for each in pair.maps)
    return _figure(values, f"{pair.tokens[row]} → {pair.tokens[key]}, {what}")


def _words(picture: Picture, rows: Repeated) -> str:
    """ "“the” (at 1 and 7)"."""
    places = [str(place) for place in rows.places]
    shown = f"{', '.join(places[:-1])} and {places[-1]}" if len(places) <= 4 else f"{len(places)} places"
    return f"“{picture.run.tokens[rows.places[0]]}” (at {shown})"


def _apart(value: float) -> str:
    if value == 0:
        return "are equal in every layer and head"
    largest = small(value)
    if value <= SAME:
        return f"are the same up to rounding, {largest}"
    return f"differ by more than {largest[1:]}" if largest.startswith(">") else f"differ by up to {largest}"


def _why(settings: Settings, rows: Repeated) -> str:
    """The reason for what `rows` found, as far as the settings give one."""
    positions, masked = text.has_positions(settings), text.is_masked(settings)
    if rows.difference <= SAME:
        return "" if positions or masked else "Nothing in this model says where a token stands."
    causes = [*(["positions say where each one stands"] if positions else [])]
    causes += ["the mask lets each look at other keys"] if masked else []
    return f"{' and '.join(causes)}.".capitalize() if causes else ""


def _under_causal(picture: Picture) -> Repeated | None:
    """`repeated` of the same settings with a causal mask instead of their own."""
    settings = replace(picture.settings.unpainted, mask="causal")

    def run() -> Run:
        with pictures.turn(len(picture.run.ids)):
            return pictures.model_of(settings).run(
                settings.text,
                mask=settings.mask,
                position=settings.position,
                heads_off=settings.heads_off,
                temperature=settings.temperature,
            )

    return _kept(settings, run)


def _kept(settings: Settings, run: Callable[[], Run]) -> Repeated | None:
    """What `compare.repeated_words` finds in a run. The number is kept, the run is not."""
    with _lock:
        if settings in _repeated:
            return _repeated[settings]
    made = run()
    found = compare.repeated_words(made.weights, made.ids)
    with _lock:
        _repeated[settings] = found
    return found
