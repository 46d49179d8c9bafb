"""The same words in another order: how far the output vectors then differ."""

from cachetools import LRUCache

from headlight.queue.places import turn
from headlight.queue.single_flight import shared
from headlight.registry import models
from mha_core.measure import measures

from . import pictures
from .settings import Settings


@shared(LRUCache(256))
def difference(settings: Settings, order: str) -> float | None:
    """max |a − b| of the output vectors, the new order undone; None when `order` has other tokens.

    Raises what `Model.run` raises.
    """
    picture = pictures.picture(settings)
    ids = picture.model.tokenize(order)[1]
    if sorted(ids) != sorted(picture.run.ids):
        return None
    with turn(len(ids), models.heads(picture.model)):
        other = settings.run(picture.model, order)
    return measures.difference_in_new_order(picture.run, other)
