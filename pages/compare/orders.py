"""The same words in another order: what a model without positions does not notice."""

import random
from dataclasses import dataclass

from cachetools import LRUCache

from mha_core import Model
from mha_core.errors import HeadlightError
from mha_core.measure import measures
from pages.kit.draw.numbers import small
from pages.kit.picture import models, pictures
from pages.kit.picture.settings import Settings
from pages.kit.picture.sharing import shared, turn
from pages.kit.picture.words import has_positions, is_masked

from .pairs import SAME


@dataclass(frozen=True)
class Reordered:
    """One sentence in two orders.

    Attributes:
        settings, order: of the sentence, and the same words in the new order.
        difference: max |a − b| of the output vectors, the new order undone.
        model: the one that ran.
    """

    settings: Settings
    order: str
    difference: float
    model: Model

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
    return Reordered(settings, order, _difference(settings, order), pictures.picture(settings).model)


@shared(LRUCache(256))
def _difference(settings: Settings, order: str) -> float:
    picture = pictures.picture(settings)
    _, ids = picture.model.tokenize(order)
    if sorted(ids) != sorted(picture.run.ids):
        raise HeadlightError("the new order must have the words of the sentence, each as often as there")
    with turn(len(ids), models.heads(picture.model)):
        other = settings.run(picture.model, order)
    return measures.difference_in_new_order(picture.run, other)


def why(orders: Reordered) -> str:
    """The difference in words, and the reason for it as far as the settings give one."""
    settings, largest = orders.settings, small(orders.difference)
    positions, masked = has_positions(settings, orders.model), is_masked(settings, orders.model)
    if orders.same_order:
        return f"This is the order they had: the vectors differ by {largest}."
    if orders.difference <= SAME:
        said = f"up to rounding (largest difference {largest})"
        if positions or masked:
            return f"The same vectors in the new order, {said}."
        reason = "every token sees the same tokens as before, and nothing marks their places."
        return f"The same vectors in the new order, {said}: {reason}"
    if positions and masked:
        reason = "the position encoding now sees each token in a different place, and the mask lets it look at others."
    elif positions:
        reason = "the position encoding now sees each token in a different place."
    elif masked:
        reason = "there are no positions, but the mask goes by places: each token may now look at others."
    else:
        return f"The vectors differ by up to {largest}, more than the {SAME:g} that rounding is allowed here."
    return f"The vectors change (by up to {largest}): {reason}"
