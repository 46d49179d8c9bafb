"""Every head switched off alone: what the sentence vector makes of it."""

from typing import TypedDict

from headlight.link.limits import HEADS_WITHOUT_ASKING, WITHOUT_ASKING
from headlight.link.place import head_name
from headlight.picture import pictures
from headlight.picture.pictures import Picture
from headlight.picture.settings import Settings
from headlight.registry import models
from headlight.ui import numbers, sheet
from headlight.ui.sheet import Block

LAW = "colour: how much the sentence vector changes without the head (√ of 1 − cosine); the strongest is"


class HeadCosines(TypedDict):
    cosines: list[list[float]]  # of each head, layer by layer
    blocks: list[Block]


def is_quick(picture: Picture) -> bool:
    """True where nobody has to ask for it: it takes a moment, or is known already."""
    if "steps" not in picture.model.can:
        return False
    is_small = len(picture.run.tokens) <= WITHOUT_ASKING and models.heads(picture.model) <= HEADS_WITHOUT_ASKING
    return is_small or pictures.known_cosines(picture.settings) is not None


def cosines(settings: Settings) -> HeadCosines:
    """The cosines of all heads, layer by layer, and which of them matters most; ends when nobody waits for it."""
    found = pictures.cosines_without(settings).tolist()
    worst, layer, head = min((one, layer, head) for layer, own in enumerate(found) for head, one in enumerate(own))
    count = sum(map(len, found))
    return {
        "cosines": found,
        "shown": [[numbers.cosine(cosine) for cosine in own] for own in found],
        "title": f"{head_name(layer, head)} matters most",
        "said": f"Switching off layer {layer} head {head} changes the left sentence vector most "
        f"(cosine {numbers.cosine(worst)}; {count} heads tried).",
    }
