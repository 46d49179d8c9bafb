"""What a page shows, as a rule sees it: the picture of its link, and the other one, which a prime names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import signature
from typing import Any, get_type_hints
from urllib.parse import parse_qsl, urlencode

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import pictures
from headlight.picture.pictures import Picture
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.queue.executor import check_wanted
from mha_core.measure import measures

from . import copying, handed_over, layer, looks, next_word, random_rows, reshapes, silent, times, trained
from .picture import OF_A_WORD, PLAIN

_CALLED = (
    trained.accuracy, trained.answers, trained.right_answers, trained.taught_answers, trained.taught_parameters,
    random_rows.bits, random_rows.random_products, random_rows.first_products,
    looks.finds_goal, looks.finds_at_a_distance, looks.finds_by_luck,
    layer.drawn_from_torch, layer.by_loops, times.time_ratios,
)  # fmt: skip
_OF_A_LINK = (
    reshapes.parameters, reshapes.copied, reshapes.stride, reshapes.raises, reshapes.misplaced,
    silent.row_sums, silent.cosine_in_batch, silent.weight_on_padding, silent.under_same_mask,
    silent.empty_row, silent.masked_weights, silent.sums_after_dropout,
    layer.value_vectors, layer.asymmetry, layer.under_mean_map, layer.without_bias, layer.key_bias, layer.from_torch,
    looks.shared_weight, silent.in_batch,
    handed_over.from_behind, handed_over.value_lengths, handed_over.handed_over, handed_over.cosine_without,
    next_word.choice, next_word.first_choice, next_word.softened,
    copying.foreseen, copying.hits, copying.looks_behind,
)  # fmt: skip
CALLED: dict[str, Callable[..., Value]] = {one.__name__: one for one in _CALLED}
# of the link and of the settings of its picture, or of the other one
OF_A_LINK: dict[str, Callable[..., Value]] = {one.__name__: one for one in _OF_A_LINK}
# The page whose link has two sides, and the pages that have quantities of their own.
TWO_SIDES = "compare"
OWN = {"by_hand"}
NAMES = frozenset({*PLAIN, *OF_A_WORD, *CALLED, *OF_A_LINK, "sim", "scores", "mixed"})
TIMED = frozenset({"time_ratios"})
Own = Callable[[Query], Mapping[str, Value] | None]
own_quantities: dict[str, Own] = {}  # of the pages in `OWN`, which enter theirs


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
        if name in CALLED:
            return _told(name, CALLED[name], arguments)
        if name in OF_A_WORD:
            picture = self.picture(primed=primed)
            return _told(name, OF_A_WORD[name], arguments, picture)
        if name in OF_A_LINK:
            settings = self._sides[primed]
            return _told(name, OF_A_LINK[name], arguments, self.query, settings)
        if arguments:
            raise RuleError(f"{name} takes no arguments")
        if own := self._own(self._as_given if primed else self.query):
            if name not in own:
                raise RuleError(f"there is no {name} in this example")
            return own[name]
        if name == "sim":
            sides = (self.picture(primed=one).run.sentence for one in (False, True))
            return Value.number(measures.cosine(*sides))
        if name not in PLAIN:
            raise RuleError(f"there is no {name} on this page")
        return PLAIN[name](self.picture(primed=primed))

    def picture(self, *, primed: bool) -> Picture:
        """The picture shown, or the other one: of Compare the right side, elsewhere the untouched model.

        Raises what `pictures.picture` raises.
        """
        check_wanted()
        return pictures.picture(self._sides[primed])

    @cached_property
    def _sides(self) -> tuple[Settings, Settings]:
        shown = self._less(self.query.settings())
        if self.page != TWO_SIDES:
            return shown, shown.untouched
        return shown, self._less(self.query.settings("2", shown.text))

    def _less(self, settings: Settings) -> Settings:
        """The settings as the page can use them, less the heads that are switched off besides."""
        usable, _ = pictures.within(settings)
        return replace(usable, heads_off=tuple(sorted({*usable.heads_off, *self.off})))

    @cached_property
    def _as_given(self) -> Query:
        """The link of an example whose numbers nobody has changed."""
        kept = [pair for pair in self.query.pairs if pair[0] != "m"]
        return Query(urlencode(kept).encode("ascii"))

    def _own(self, query: Query) -> Mapping[str, Value] | None:
        """The quantities of a page that has its own; None where it shows a sentence in a model."""
        if self.page not in OWN:
            return None
        return own_quantities[self.page](query)


def scene_of(page: str, query: Query | Mapping[str, Any]) -> PageScene:
    """What a page shows with a query, or with values by key, one or several. Raises a HeadlightError."""
    return PageScene(page, query if isinstance(query, Query) else Query(urlencode(query, doseq=True).encode("ascii")))


def _told(name: str, quantity: Callable[..., Value], arguments: list[str | float], *given: object) -> Value:
    """A quantity of what is given, that is told something. Raises a RuleError where it takes something else."""
    kinds, wrong = get_type_hints(quantity), RuleError(f"{name} is told something that it does not take")
    try:
        bound = signature(quantity).bind(*given, *arguments)
    except TypeError:
        raise wrong from None
    if not all(isinstance(told, kinds[key]) for key, told in list(bound.arguments.items())[len(given) :]):
        raise wrong
    return quantity(*given, *arguments)
