"""How much each token of a sentence surprised the model, as its chip tells."""

import math

from cachetools import LRUCache

from mha_core.measure import surprise
from pages.kit.picture import models, pictures
from pages.kit.picture.pictures import Picture
from pages.kit.picture.sharing import shared, turn

# now, and in the untouched model; None of the first token, and of all where nothing is changed
Loss = tuple[float | None, float | None]


def of(picture: Picture) -> list[Loss]:
    """The loss of every token in nats; empty of models that do not say what comes next.

    Raises what `pictures.picture` raises.
    """
    if picture.run.logits is None:
        return []
    settings = picture.settings
    now = _losses(picture)
    before = [None] * len(now) if settings == settings.untouched else _losses(pictures.picture(settings.untouched))
    return list(zip(now, before, strict=True))


@shared(LRUCache(64), lambda picture: picture.settings)
def _losses(picture: Picture) -> list[float | None]:
    with turn(len(picture.run.tokens), models.heads(picture.model)):
        found = surprise.surprise(picture.model, picture.run).tolist()
    return [None if math.isnan(loss) else round(loss, 4) for loss in found]
