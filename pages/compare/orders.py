"""The shuffle test: the words of the left sentence in another order, under the settings of both sides.

Where the sides have the same settings, the second ones are with positions where the first are without, or without.
"""

import random
from dataclasses import replace

from headlight.picture import pictures, words
from headlight.picture.settings import Settings
from headlight.ui import sheet
from headlight.ui.numbers import small
from headlight.ui.sheet import Block
from mha_core import Model
from mha_core.errors import HeadlightError

from . import contrasts
from .pairs import SAME


def shuffled(text: str, seed: int) -> str:
    """The words of a text in another order, the same for a seed on every machine; as it was when there is no other."""
    given = text.split()
    mixed = given.copy()
    random.Random(seed).shuffle(mixed)
    if mixed == given:
        mixed = [*given[1:], *given[:1]]
    return " ".join(mixed)


def tried(left: Settings, right: Settings, order: str) -> list[Block]:
    """How much the output vectors of both sides change with the order.

    Args:
        right: of the right side, with the sentence of the left one.

    Raises:
        HeadlightError: the order has not the words of the sentence.
    """
    model = pictures.model_of(left)
    if not contrasts.contrasts(left, right, model):
        right = other_positions(left, model)
    titles = contrasts.titles(contrasts.contrasts(left, right, model))
    panels = [
        sheet.panel(
            f"{title}: {small(difference(settings, order))}",
            [sheet.text(why(settings, order))],
            words.label(settings, model),
        )
        for title, settings in zip(titles, (left, right), strict=True)
    ]
    return [sheet.text(order), sheet.row(panels, even=True)]


def other_positions(settings: Settings, model: Model) -> Settings:
    """The same without positions, or as the model was trained where they are without."""
    return replace(settings, position="none" if words.has_positions(settings, model) else "trained")


def difference(settings: Settings, order: str) -> float:
    """As `pictures.reordered_difference`. Raises a HeadlightError where the order has not the words of the sentence."""
    found = pictures.reordered_difference(settings, order)
    if found is None:
        raise HeadlightError("the new order must contain the same words, each as often as in the sentence")
    return found


def why(settings: Settings, order: str) -> str:
    """The difference in words, and the reason for it as far as the settings give one. Raises as `difference`."""
    found, model = difference(settings, order), pictures.picture(settings).model
    positions, masked, largest = words.has_positions(settings, model), words.is_masked(settings, model), small(found)
    if order.split() == settings.text.split():
        return f"This is the original order, and the vectors differ by {largest}."
    if found <= SAME:
        said = f"up to rounding (largest difference {largest})"
        if positions or masked:
            return f"The same vectors in the new order, {said}."
        reason = "every token sees the same tokens as before, and nothing marks their positions."
        return f"The same vectors in the new order, {said}: {reason}"
    if positions and masked:
        reason = "each token now has a different positional encoding, and the mask allows it other keys."
    elif positions:
        reason = "each token now has a different positional encoding."
    elif masked:
        reason = (
            "there are no positions, but the mask depends on the position, so each token may now look at other keys."
        )
    else:
        return f"The vectors differ by up to {largest}, more than the {SAME:g} allowed for rounding."
    return f"The vectors change (by up to {largest}): {reason}"
