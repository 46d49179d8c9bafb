"""What a change did to the maps, and where: beside the same sentence in the model as it was trained."""

from __future__ import annotations

from typing import Any

import torch
from cachetools import LRUCache

from pages.kit.draw import numbers
from pages.kit.picture import pictures
from pages.kit.picture.pictures import Picture
from pages.kit.picture.sharing import shared

from .kinds import is_special


@shared(LRUCache(64), lambda picture: picture.settings)
def effect(picture: Picture) -> dict[str, Any] | None:
    """The largest change of a weight between two words in each layer, and one sentence; None while nothing is changed.

    Special tokens do not count where there are two words: most heads put what they have no use for there.

    Raises what `pictures.picture` raises.
    """
    settings = picture.settings
    if settings == settings.untouched:
        return None
    before, tokens = pictures.picture(settings.untouched).run.weights, picture.run.tokens
    words = torch.tensor([not is_special(token) for token in tokens], device=before.device)
    counted = words[:, None] & words if words.sum() > 1 else torch.ones_like(words[:, None] & words)
    changes = [(own - other).abs() * counted for own, other in zip(picture.run.weights, before, strict=True)]
    largest = [float(change.max()) for change in changes]
    layer = max(range(len(largest)), key=largest.__getitem__)
    if largest[layer] == 0:
        return {"layers": largest, "at": None, "said": "No weight changed at all."}
    head, rest = divmod(int(changes[layer].argmax()), changes[layer][0].numel())
    row, key = divmod(rest, len(tokens))
    was, now = (numbers.weight(float(maps[layer, head, row, key])) for maps in (before, picture.run.weights))
    cell = f"“{tokens[row]}” → “{tokens[key]}” {was} → {now}"
    said = f"Layer {layer} changed most, in head {head}: {cell}."
    return {"layers": largest, "at": [layer, head, row, key], "said": said}
