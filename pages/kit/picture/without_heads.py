"""Every head switched off alone: heavy work, computed once for all who ask for it, on a page or in a lesson's rule."""

from collections.abc import Callable

from cachetools import LRUCache
from torch import Tensor

from mha_core.measure import measures

from . import pictures
from .settings import Settings
from .sharing import alone, known, shared

OnProgress = Callable[[float], object]


def kept(settings: Settings) -> Tensor | None:
    """The same as `cosines`, if it is known from an earlier time; nothing is computed."""
    return known(_cosines, settings, lambda done: None)


def cosines(settings: Settings, on_progress: OnProgress, *, patient: bool = False) -> Tensor:
    """The cosine of the sentence vector to itself without each head alone, (layers, h).

    Args:
        on_progress: hears how much is done, 0 to 1, and again and again while somebody else's turn lasts; an error that
            it raises ends the work.
        patient: as in `alone`.

    Raises what `Model.run` and `alone` raise.
    """
    found = kept(settings)
    if found is None:
        # one at a time, so that nobody waits in the cache, where `on_progress` cannot end the wait
        with alone(lambda: on_progress(0.0), patient=patient):
            found = _cosines(settings, on_progress)
    return found


@shared(LRUCache(64), lambda settings, on_progress: settings)
def _cosines(settings: Settings, on_progress: OnProgress) -> Tensor:
    model = pictures.model_of(settings)
    return measures.ablate_each_head(model, settings.text, **settings.switches(model), on_progress=on_progress)
