"""The heads that do a thing most, out of all heads of a model."""

import torch
from cachetools import LRUCache

from headlight.picture import pictures
from headlight.picture.pictures import Picture
from headlight.queue.single_flight import shared
from mha_core import Run
from mha_core.heads import kinds

MOST = 10  # of a kind
KINDS = ("previous", "itself", "first", "induction")  # what heads of a model that writes are searched for

Found = tuple[int, int, float]  # layer, head, and its mean weight


@shared(LRUCache(64), lambda picture: picture.settings.untouched)
def of(picture: Picture) -> dict[str, list[Found]]:
    """As `most`, of the same sentence in the untouched model. Raises what `pictures.picture` raises."""
    return most(pictures.picture(picture.settings.untouched).run)


def most(run: Run) -> dict[str, list[Found]]:
    """For each of `KINDS` the heads that are it most, the first first.

    A kind of which the text has no cell is left out.
    """
    best: dict[str, list[Found]] = {}
    weights = pictures.among_tokens(run)
    if weights is None:
        return best
    found = kinds.head_scores(weights, run.ids)
    for kind in KINDS:
        scores = found[kind]
        if not scores.isnan().any():
            top = torch.topk(scores.flatten(), min(MOST, scores.numel()))
            pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
            best[kind] = [(*divmod(at, scores.shape[1]), round(score, 4)) for at, score in pairs]
    return best
