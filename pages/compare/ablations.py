"""Ablation of every single head, measured by the cosine of the sentence vectors."""

from typing import TypedDict

from headlight.link.cursor import head_name
from headlight.link.limits import AUTO_ABLATION_HEADS, AUTO_ABLATION_TOKENS
from headlight.picture import pictures
from headlight.picture.pictures import Picture
from headlight.picture.settings import Settings
from headlight.queue.single_flight import peek, run_heavy
from headlight.registry import models
from headlight.ui import numbers, sheet
from headlight.ui.sheet import Block

LEGEND = (
    "a stronger colour means a larger change of the sentence vector without the head (√ of 1 − cosine); the largest is"
)


class HeadCosines(TypedDict):
    """The cosine for each ablated head, with the blocks that display them."""

    cosines: list[list[float]]  # (layers, h)
    blocks: list[Block]


def is_quick(picture: Picture) -> bool:
    """Check whether the ablations are cached or fast enough to run without a click."""
    if "steps" not in picture.model.can:
        return False
    is_small = (
        len(picture.run.tokens) <= AUTO_ABLATION_TOKENS and models.count_heads(picture.model) <= AUTO_ABLATION_HEADS
    )
    return is_small or peek(pictures.ablation_cosines, picture.settings) is not None


def cosines(settings: Settings) -> HeadCosines:
    """Return the cosines of all ablations, and a matrix to choose a head from.

    The computation stops when no client waits for it.
    """
    rows = run_heavy(pictures.ablation_cosines, settings).tolist()
    minimum, layer, head = min((value, layer, head) for layer, row in enumerate(rows) for head, value in enumerate(row))
    spread = max(1 - minimum, 1e-9)
    sentence = (
        f"Ablating layer {layer} head {head} changes the left sentence vector most "
        f"(cosine {numbers.precise(minimum)}; {sum(map(len, rows))} heads tried)."
    )
    cells = sheet.matrix(
        "cosine without each head",
        rows,
        rows=[f"L{index}" for index in range(len(rows))],
        cols=[f"H{index}" for index in range(max(map(len, rows)))],
        axes="",
        write=numbers.number,
        colour="weights",
        shares=[[(1 - cosine) / spread for cosine in row] for row in rows],
        compact=True,
        note=f"{LEGEND} {spread:.4f}. Layers (L) and heads (H) are counted from 0.",
    )
    title = f"{head_name(layer, head)} has the largest effect"
    about = "each head of the left side was ablated in turn; click one to open it"
    panel = sheet.panel(title, [sheet.text(sentence), cells | {"kind": "choice", "edit": "head"}], about)
    return {"cosines": rows, "blocks": [panel]}
