"""The same words in another order: what a model without positions does not notice. No streamlit."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass

from cachetools import LRUCache

from mha_core.errors import HeadlightError
from mha_core.measure import compare
from pages.kit.picture import pictures
from pages.kit.picture.pictures import Settings
from pages.kit.picture.words import has_positions, is_masked

from .pairs import SAME, small

__all__ = ["Reordered", "reordered", "shuffled", "why"]

_lock = threading.Lock()
_kept: LRUCache[tuple[Settings, str], float] = LRUCache(256)


@dataclass(frozen=True)
class Reordered:
    """One sentence in two orders.

    Attributes:
        settings, order: of the sentence, and the same words in the new order.
        difference: max |a − b| of the output vectors, the new order undone.
    """

    settings: Settings
    order: str
    difference: float

    @property
    def same_order(self) -> bool:
        """True when the new order is the old one."""
        return self.order.split() == self.settings.text.split()


def shuffled(text: str, seed: int) -> str:
    """The words of a text in another order, the same for a seed on every machine; as it was when there is no other."""
    words = text.split()
    mixed = words.copy()
    random.Random(seed).shuffle(mixed)
    if mixed == words:
        mixed = [*words[1:], *words[:1]]
    return " ".join(mixed)


def reordered(settings: Settings, order: str) -> Reordered:
    """Runs both orders.

    Raises:
        HeadlightError: `order` has not the same tokens; and what `Model.run` raises.
    """
    key = (settings, order)
    with _lock:
        difference = _kept.get(key)
    if difference is None:
        own = pictures.picture(settings).run
        model = pictures.model_of(settings)
        _, ids = model.tokenize(order)
        if sorted(ids) != sorted(own.ids):
            raise HeadlightError("the new order must have the words of the sentence, each as often as there")
        with pictures.turn(len(own.ids)):
            other = model.run(
                order,
                mask=pictures.mask_of(settings, model),
                position=settings.position,
                heads_off=settings.heads_off,
                temperature=settings.temperature,
            )
        difference = compare.difference_in_new_order(own, other)
        with _lock:
            _kept[key] = difference
    return Reordered(settings, order, difference)


def why(found: Reordered) -> str:
    """What the difference says, and why it is as it is, as far as the settings give a reason."""
    settings, largest = found.settings, small(found.difference)
    positions, masked = has_positions(settings), is_masked(settings)
    if found.same_order:
        return f"This is the old order: the vectors differ by {largest}."
    if found.difference <= SAME:
        said = "exactly" if found.difference == 0 else f"up to {largest}, which is rounding"
        if positions or masked:
            return f"The same vectors in the new order, {said}."
        reason = "each token sees the same others, and nothing says where they stand."
        return f"The same vectors in the new order, {said}: {reason}"
    if positions and masked:
        reason = "positions say where each token stands, and the mask lets it look at others now."
    elif positions:
        reason = "positions say where each token stands, and that is another place now."
    elif masked:
        reason = "there are no positions, but the mask goes by places: each token may look at others now."
    else:
        return f"The vectors differ by up to {largest}, more than the {SAME:g} that rounding is allowed here."
    return f"Other vectors, by up to {largest}: {reason}"
