"""The shuffle test: the left sentence with its words in another order, under the settings of both sides.

If both sides have the same settings, the second ones differ from them in the positional encoding.
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
from mha_core.token_text import isolate

from . import contrasts
from .pairs import ROUNDING


def shuffle_words(text: str, seed: int) -> str:
    """Return the words of a text in another order, if there is one.

    Equal seeds give equal orders on every machine.
    """
    original = text.split()
    mixed = original.copy()
    random.Random(seed).shuffle(mixed)
    if mixed == original:
        mixed = [*original[1:], *original[:1]]
    return " ".join(mixed)


def shuffle_panels(left: Settings, right: Settings, order: str) -> list[Block]:
    """Return the change of the output vectors under each side's settings.

    `right` holds the settings of the right side with the sentence of the left one.

    Raises:
        HeadlightError: the order is not one of the sentence's words.
    """
    model = pictures.model_for(left)
    if not contrasts.contrasts(left, right, model):
        right = other_positions(left, model)
    titles = contrasts.titles(contrasts.contrasts(left, right, model))
    panels = [
        sheet.panel(
            f"{title}: {small(difference(settings, order))}",
            [sheet.text(explain(settings, order))],
            words.label(settings, model),
        )
        for title, settings in zip(titles, (left, right), strict=True)
    ]
    return [sheet.text(isolate(order)), sheet.row(panels, even=True)]


def other_positions(settings: Settings, model: Model) -> Settings:
    """Return the settings without positions, or with the trained ones if they have none."""
    return replace(settings, position="none" if words.has_positions(settings, model) else "trained")


def difference(settings: Settings, order: str) -> float:
    """Return `pictures.reordered_difference`.

    Raises:
        HeadlightError: the order is not one of the sentence's words.
    """
    change = pictures.reordered_difference(settings, order)
    if change is None:
        raise HeadlightError("the new order must contain the same words, each as often as in the sentence")
    return change


def explain(settings: Settings, order: str) -> str:
    """Describe the difference, and its cause as far as the settings imply one. Raises as `difference`."""
    change, model = difference(settings, order), pictures.picture(settings).model
    positions, masked, amount = words.has_positions(settings, model), words.is_masked(settings, model), small(change)
    if order.split() == settings.text.split():
        return f"This is the original order, and the vectors differ by {amount}."
    if change <= ROUNDING:
        note = f"up to rounding (largest difference {amount})"
        if positions or masked:
            return f"The same vectors in the new order, {note}."
        reason = "every token sees the same tokens as before, and nothing marks their positions."
        return f"The same vectors in the new order, {note}: {reason}"
    if positions and masked:
        reason = "each token now has a different positional encoding, and the mask allows it other keys."
    elif positions:
        reason = "each token now has a different positional encoding."
    elif masked:
        reason = (
            "there are no positions, but the mask depends on the position, so each token may now look at other keys."
        )
    else:
        return f"The vectors differ by up to {amount}, more than the {ROUNDING:g} allowed for rounding."
    return f"The vectors change (by up to {amount}): {reason}"
