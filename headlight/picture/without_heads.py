"""Every head switched off alone: heavy work, computed once for all who ask for it, on a page or in a lesson's rule."""

from cachetools import LRUCache
from torch import Tensor

from headlight.queue.executor import check_wanted
from headlight.queue.single_flight import heavy, known, shared
from mha_core.measure import measures

from . import pictures
from .settings import Settings


def kept(settings: Settings) -> Tensor | None:
    """The same as `cosines`, if it is known from an earlier time; nothing is computed."""
    return known(_cosines, settings)


def cosines(settings: Settings) -> Tensor:
    """The cosine of the sentence vector to itself without each head alone, (layers, h).

    Raises what `Model.run` and `places.alone` raise.
    """
    return heavy(_cosines, settings)


@shared(LRUCache(64))
def _cosines(settings: Settings) -> Tensor:
    model = pictures.model_of(settings)
    return measures.ablate_each_head(model, settings.text, **settings.switches(model), on_progress=check_wanted)
