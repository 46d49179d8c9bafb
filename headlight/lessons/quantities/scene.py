"""What a page shows, as a rule sees it: the picture of its link, and the other one, which a prime names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import getmembers, signature
from typing import Any, get_args, get_type_hints
from urllib.parse import parse_qsl, urlencode

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import pictures
from headlight.picture.pictures import Picture
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.queue.executor import yield_and_check_cancelled

from . import handed_over, layer, looks, next_word, random_rows, reshapes, silent, times, trained
from . import picture as pictured

_MODULES = (trained, random_rows, looks, layer, times, reshapes, silent, handed_over, next_word)
_OF_A_PICTURE: dict[str, Callable[..., Value]] = {
    "W": lambda picture: Value.of(picture.run.weights, "l h i j", picture.run.tokens),
    "H": lambda picture: Value.of(picture.run.hidden, "l i c", picture.run.tokens),
    "S": lambda picture: Value.of(picture.run.sentence, "c"),
    "n": lambda picture: Value.number(float(len(picture.run.tokens))),
    "L": pictured.loss,
    "model_rounding": pictured.model_rounding,
    "need": pictured.need,
    "sim": pictured.similarity,
}
# every public function of the modules that returns a Value; it asks by name for the picture, the other one, the link's
# query or the settings, and is told the rest
QUANTITIES: dict[str, Callable[..., Any]] = {"p": pictured.next_word, **_OF_A_PICTURE} | {
    name: function
    for module in _MODULES
    for name, function in getmembers(module, callable)
    if name[0] != "_" and function.__module__ == module.__name__ and get_type_hints(function).get("return") is Value
}
TWO_SIDES = "compare"  # the page whose link has two sides
EXAMPLE = "by_hand"  # the page with numbers of its own
_OF_EXAMPLE = frozenset({*_OF_A_PICTURE, "scores", "mixed"})
NAMES = _OF_EXAMPLE | QUANTITIES.keys()
own_quantities: dict[str, Callable[[Query], Mapping[str, Value] | None]] = {}  # of `EXAMPLE`, which enters its own


@dataclass(frozen=True)
class PageScene:
    """A page with a link.

    Attributes:
        query: of its link. off: heads that are switched off besides, on both sides.
    """

    page: str
    query: Query
    off: tuple[tuple[int, int], ...] = field(default=())

    def has(self, name: str) -> bool:
        """Tells whether this is the name of a quantity of some page."""
        return name in NAMES

    def tokens(self) -> tuple[str, ...]:
        """The tokens of the picture shown, or of the page's own example."""
        own = self._own(self.query)
        return own["W"].axes[-2].tokens if own else tuple(self.picture(primed=False).run.tokens)

    def changed(self, link: str) -> PageScene:
        """The same with the values that a link gives; every other key keeps its own. Raises a HeadlightError."""
        new = parse_qsl(link, keep_blank_values=True)
        kept = [pair for pair in self.query.pairs if pair[0] not in {key for key, _ in new}]
        return replace(self, query=Query(urlencode([*kept, *new]).encode("ascii")))

    def without(self, layer: int, head: int | None) -> PageScene:
        """The same with a head switched off on both sides, or every head of a layer."""
        layers, heads = self.query.sizes
        if not 0 <= layer < layers or (head is not None and not 0 <= head < heads):
            raise RuleError(f"this model has no head {head} in a layer {layer}")
        off = {(layer, one) for one in (range(heads) if head is None else [head])}
        return replace(self, off=tuple(sorted({*self.off, *off})))

    def quantity(self, name: str, arguments: list[str | float], *, primed: bool) -> Value:
        """A quantity by its name.

        Raises:
            RuleError: this page has none of that name, or other arguments. HeadlightError: the picture cannot be made.
        """
        if name in _OF_EXAMPLE and (own := self._own(self._as_given if primed else self.query)):
            if name not in own or arguments:
                raise RuleError(f"there is no {name} in this example")
            return own[name]
        if name not in QUANTITIES:
            raise RuleError(f"there is no {name} on this page")
        given: dict[str, Callable[[], object]] = {
            "picture": lambda: self.picture(primed=primed),
            "other": lambda: self.picture(primed=not primed),
            "query": lambda: self.query,
            "settings": lambda: self._sides[primed],
        }
        function = QUANTITIES[name]
        parameters = list(signature(function).parameters.values())
        taken = [one for one in parameters if one.name not in given]
        needed = [one for one in taken if one.default is one.empty]
        hints, wrong = get_type_hints(function), RuleError(f"{name} is told something that it does not take")
        if not len(needed) <= len(arguments) <= len(taken):
            raise wrong
        told = list[object]()
        for one, argument in zip(taken, arguments, strict=False):
            hint, known = hints[one.name], get_args(hints[one.name])
            if known and argument not in known:
                raise RuleError(f"{name} takes {', '.join(map(str, known))}, not “{argument!s:.40}”")
            whole = int(argument) if hint is int and isinstance(argument, float) and argument % 1 == 0 else argument
            if not known and not isinstance(whole, hint):
                raise wrong
            told.append(whole)
        value: Value = function(*[given[one.name]() for one in parameters if one.name in given], *told)
        return value

    def picture(self, *, primed: bool) -> Picture:
        """The picture shown, or the other one: of Compare the right side, elsewhere the untouched model.

        Raises what `pictures.picture` raises.
        """
        yield_and_check_cancelled()
        return pictures.picture(self._sides[primed])

    @cached_property
    def _sides(self) -> tuple[Settings, Settings]:
        shown = self._less(self.query.settings())
        if self.page != TWO_SIDES:
            return shown, shown.baseline
        return shown, self._less(self.query.settings("2", shown.text))

    def _less(self, settings: Settings) -> Settings:
        """The settings as the page can use them, less the heads that are switched off besides."""
        usable, _ = pictures.fitted(settings)
        return replace(usable, heads_off=tuple(sorted({*usable.heads_off, *self.off})))

    @cached_property
    def _as_given(self) -> Query:
        """The link of an example whose numbers nobody has changed."""
        kept = [pair for pair in self.query.pairs if pair[0] != "m"]
        return Query(urlencode(kept).encode("ascii"))

    def _own(self, query: Query) -> Mapping[str, Value] | None:
        """The quantities of a page that has its own; None where it shows a sentence in a model."""
        return own_quantities[EXAMPLE](query) if self.page == EXAMPLE else None


def scene_of(page: str, query: Query | Mapping[str, Any]) -> PageScene:
    """What a page shows with a query, or with values by key, one or several. Raises a HeadlightError."""
    return PageScene(page, query if isinstance(query, Query) else Query(urlencode(query, doseq=True).encode("ascii")))
