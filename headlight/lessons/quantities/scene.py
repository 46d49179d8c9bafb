"""The scene of a page for rules: the picture of its link, and the other picture, which a prime names."""

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

from . import (
    boxes,
    bugs,
    head_targets,
    kv_cache,
    layer,
    lens,
    mistakes,
    next_word,
    random_rows,
    reshapes,
    swaps,
    times,
    trained,
    value_shares,
)
from . import picture as picture_quantities

_MODULES = (
    trained, random_rows, head_targets, layer, times, reshapes, mistakes, value_shares, next_word, bugs,
    swaps, kv_cache, lens, boxes,
)  # fmt: skip
_PICTURE_QUANTITIES: dict[str, Callable[..., Value]] = {
    "W": lambda picture: Value.from_tensor(picture.run.weights, "l h i j", picture.run.tokens),
    "H": lambda picture: Value.from_tensor(picture.run.hidden, "l i c", picture.run.tokens),
    "S": lambda picture: Value.from_tensor(picture.run.sentence, "c"),
    "n": lambda picture: Value.number(float(len(picture.run.tokens))),
    "L": picture_quantities.loss,
    "model_rounding": picture_quantities.model_rounding,
    "need": picture_quantities.need,
    "sim": picture_quantities.similarity,
}
# all public functions of the modules that return a Value; parameters named picture, other, query or settings get these,
# the rest are arguments of the rule
QUANTITIES: dict[str, Callable[..., Any]] = {"p": picture_quantities.next_word, **_PICTURE_QUANTITIES} | {
    name: function
    for module in _MODULES
    for name, function in getmembers(module, callable)
    if name[0] != "_" and function.__module__ == module.__name__ and get_type_hints(function).get("return") is Value
}
TWO_SIDES = "compare"  # the page with two sides
EXAMPLE = "by_hand"  # the page with an example of its own
_EXAMPLE_NAMES = frozenset({*_PICTURE_QUANTITIES, "scores", "mixed"})
NAMES = _EXAMPLE_NAMES | QUANTITIES.keys()
example_quantities: dict[str, Callable[[Query], Mapping[str, Value] | None]] = {}  # registered by the page `EXAMPLE`


@dataclass(frozen=True)
class PageScene:
    """A page in the state of a link.

    Attributes:
        page: the page.
        query: query of the link.
        off: additionally ablated heads, on both sides.
    """

    page: str
    query: Query
    off: tuple[tuple[int, int], ...] = field(default=())

    def has(self, name: str) -> bool:
        """Return whether a quantity of any page has this name."""
        return name in NAMES

    def tokens(self) -> tuple[str, ...]:
        """Return the tokens of the picture, or of the page's own example."""
        example = self._example(self.query)
        return example["W"].axes[-2].tokens if example else tuple(self.picture(primed=False).run.tokens)

    def overlay(self, link: str) -> PageScene:
        """Return the scene with the values of a link's keys replaced."""
        new = parse_qsl(link, keep_blank_values=True)
        others = [pair for pair in self.query.pairs if pair[0] not in {key for key, _ in new}]
        return replace(self, query=Query(urlencode([*others, *new]).encode("ascii")))

    def ablate(self, layer: int, head: int | None) -> PageScene:
        """Return the scene with a head, or all heads of a layer, ablated on both sides."""
        layers, heads = self.query.sizes
        if not 0 <= layer < layers or (head is not None and not 0 <= head < heads):
            raise RuleError(f"this model has no head {head} in a layer {layer}")
        off = {(layer, index) for index in (range(heads) if head is None else [head])}
        return replace(self, off=tuple(sorted({*self.off, *off})))

    def quantity(self, name: str, arguments: list[str | float], *, primed: bool) -> Value:
        """Evaluate a quantity by its name.

        Raises:
            RuleError: the page has no such quantity, or the arguments are wrong.
            HeadlightError: a picture cannot be computed.
        """
        if name in _EXAMPLE_NAMES and (example := self._example(self._unedited_query if primed else self.query)):
            if name not in example or arguments:
                raise RuleError(f"there is no {name} in this example")
            return example[name]
        if name not in QUANTITIES:
            raise RuleError(f"there is no {name} on this page")
        sources: dict[str, Callable[[], object]] = {
            "picture": lambda: self.picture(primed=primed),
            "other": lambda: self.picture(primed=not primed),
            "query": lambda: self.query,
            "settings": lambda: self._sides[primed],
        }
        function = QUANTITIES[name]
        parameters = signature(function).parameters
        free = [parameter for parameter in parameters.values() if parameter.name not in sources]
        needed = [parameter for parameter in free if parameter.default is parameter.empty]
        hints, wrong = get_type_hints(function), RuleError(f"{name} does not take these arguments")
        if not len(needed) <= len(arguments) <= len(free):
            raise wrong
        values = list[object]()
        for parameter, argument in zip(free, arguments, strict=False):
            hint, choices = hints[parameter.name], get_args(hints[parameter.name])
            if choices and argument not in choices:
                raise RuleError(f"{name} takes {', '.join(map(str, choices))}, not “{argument!s:.40}”")
            converted = int(argument) if hint is int and isinstance(argument, float) and argument % 1 == 0 else argument
            if not choices and not isinstance(converted, hint):
                raise wrong
            values.append(converted)
        value: Value = function(*[sources[key]() for key in parameters if key in sources], *values)
        return value

    def picture(self, *, primed: bool) -> Picture:
        """Return the picture, or the primed one: the right side of Compare, elsewhere the baseline.

        Raises what `pictures.picture` raises.
        """
        yield_and_check_cancelled()
        return pictures.picture(self._sides[primed])

    @cached_property
    def _sides(self) -> tuple[Settings, Settings]:
        settings = self._ablated(self.query.settings())
        if self.page != TWO_SIDES:
            return settings, settings.baseline
        return settings, self._ablated(self.query.settings("2", settings.text))

    def _ablated(self, settings: Settings) -> Settings:
        """Return usable settings with the additional heads ablated."""
        usable, _ = pictures.fit_settings(settings)
        return replace(usable, heads_off=tuple(sorted({*usable.heads_off, *self.off})))

    @cached_property
    def _unedited_query(self) -> Query:
        """The link of the example without edited numbers."""
        pairs = [pair for pair in self.query.pairs if pair[0] != "m"]
        return Query(urlencode(pairs).encode("ascii"))

    def _example(self, query: Query) -> Mapping[str, Value] | None:
        """Return the quantities of the page's own example; None for a page with a model."""
        return example_quantities[EXAMPLE](query) if self.page == EXAMPLE else None


def page_scene(page: str, query: Query | Mapping[str, Any]) -> PageScene:
    """Return the scene of a page for a query, or for values by key."""
    return PageScene(page, query if isinstance(query, Query) else Query(urlencode(query, doseq=True).encode("ascii")))
