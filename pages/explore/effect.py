"""What a change did to the maps, and where: beside the same sentence in the model as it was trained."""

from typing import TypedDict

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.picture import pictures
from headlight.picture.pictures import Picture
from headlight.queue.single_flight import shared

from .kinds import words_of


class ChangeEffect(TypedDict):
    """The largest change of a weight between two words in each layer, where it is largest, and that weight."""

    layers: list[float]
    at: tuple[int, int, int, int] | None
    moved: tuple[float, float]  # before and now


@shared(LRUCache(64), lambda picture: picture.settings)
def effect(picture: Picture) -> ChangeEffect | None:
    """What a picture's changes did; None while nothing is changed.

    The model's own tokens do not count where there are two words: most heads put what they have no use for there.

    Raises what `pictures.picture` raises.
    """
    settings = picture.settings
    if settings == settings.untouched:
        return None
    before, tokens = pictures.picture(settings.untouched).run.weights, picture.run.tokens
    words, after = words_of(len(tokens), picture.run.ends), picture.run.weights
    counted = torch.ones(after.shape[2:], dtype=before.dtype)
    if words.sum() > 1 and picture.run.columns is None:
        counted = (words[:, None] & words).to(before.dtype)
    largest = [float(_change(after[layer], before[layer], counted).max()) for layer in range(len(after))]
    layer = max(range(len(largest)), key=largest.__getitem__)
    if largest[layer] == 0:
        return {"layers": largest, "at": None, "moved": (0.0, 0.0)}
    # of this layer once more: to keep the changes of all takes as long as to compute them
    head, rest = divmod(int(_change(after[layer], before[layer], counted).argmax()), counted.numel())
    row, key = divmod(rest, counted.shape[1])
    moved = float(before[layer, head, row, key]), float(after[layer, head, row, key])
    return {"layers": largest, "at": (layer, head, row, key), "moved": moved}


def _change(after: Tensor, before: Tensor, counted: Tensor) -> Tensor:
    """How much each weight (h, i, j) of a layer changed; 0 where `counted` (i, j) is 0."""
    return (after - before).abs_().mul_(counted)
