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

LAW = (
    "a stronger colour means a larger change of the sentence vector without the head (√ of 1 − cosine); the largest is"
)


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
    """The cosines of all heads as cells to choose from, and which of them matters most; ends when nobody waits."""
    found = pictures.cosines_without(settings).tolist()
    least, layer, head = min((one, layer, head) for layer, own in enumerate(found) for head, one in enumerate(own))
    most = max(1 - least, 1e-9)
    said = (
        f"Ablating layer {layer} head {head} changes the left sentence vector most "
        f"(cosine {numbers.cosine(least)}; {sum(map(len, found))} heads tried)."
    )
    cells = sheet.matrix(
        "cosine without each head",
        found,
        rows=[f"L{at}" for at in range(len(found))],
        cols=[f"H{at}" for at in range(max(map(len, found)))],
        axes="",
        write=numbers.cosine,
        colour="weights",
        shares=[[(1 - cosine) / most for cosine in own] for own in found],
        compact=True,
        note=f"{LAW} {most:.4f}. Layers (L) and heads (H) are counted from 0.",
    )
    title = f"{head_name(layer, head)} has the largest effect"
    about = "each head of the left side was ablated in turn; click one to open it"
    panel = sheet.panel(title, [sheet.text(said), cells | {"kind": "choice", "edit": "head"}], about)
    return {"cosines": found, "blocks": [panel]}
