"""The heads that do a thing most, out of all heads of a model."""

import torch
from cachetools import LRUCache

from mha_core import Run
from mha_core.measure import head_kinds
from pages.kit.picture import pictures
from pages.kit.picture.pictures import Picture
from pages.kit.picture.sharing import shared

MOST = 10  # of a kind

Found = tuple[int, int, float]  # layer, head, and its mean weight


@shared(LRUCache(64), lambda picture: picture.settings.untouched)
def of(picture: Picture) -> dict[str, list[Found]]:
    """As `most`, of the same sentence in the untouched model. Raises what `pictures.picture` raises."""
    return most(pictures.picture(picture.settings.untouched).run)


def most(run: Run) -> dict[str, list[Found]]:
    """For each kind of `head_kinds` the heads that are it most, the first first.

    A kind of which the text has no cell is left out.
    """
    best: dict[str, list[Found]] = {}
    weights = pictures.among_tokens(run)
    if weights is None:
        return best
    for kind, scores in head_kinds.head_scores(weights, run.ids).items():
        if not scores.isnan().any():
            top = torch.topk(scores.flatten(), min(MOST, scores.numel()))
            pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
            best[kind] = [(*divmod(at, scores.shape[1]), round(score, 4)) for at, score in pairs]
    return best
