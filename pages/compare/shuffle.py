"""The shuffle test: the words of the left sentence in another order, under the settings of both sides.

Where the sides have the same settings, the second ones are with positions where the first are without, or without.
"""

from dataclasses import replace
from typing import TypedDict

from mha_core import Model
from pages.kit.draw.numbers import small
from pages.kit.picture import pictures, words
from pages.kit.picture.settings import Settings

from . import contrasts, orders


class ShuffledSide(TypedDict):
    title: str
    label: str
    why: str


class Shuffled(TypedDict):
    order: str
    sides: list[ShuffledSide]


def tried(left: Settings, right: Settings, order: str) -> Shuffled:
    """How much the output vectors of both sides change with the order.

    Args:
        right: of the right side, with the sentence of the left one.

    Raises:
        HeadlightError: the order has not the words of the sentence.
    """
    model = pictures.model_of(left)
    if not contrasts.contrasts(left, right, model):
        right = other_positions(left, model)
    sides = [orders.reordered(side, order) for side in (left, right)]
    titles = contrasts.titles(contrasts.contrasts(left, right, model))
    return {"order": order, "sides": [_side(title, side) for title, side in zip(titles, sides, strict=True)]}


def _side(title: str, side: orders.Reordered) -> ShuffledSide:
    label = words.label(side.settings, side.model)
    return {"title": f"{title}: {small(side.difference)}", "label": label, "why": orders.why(side)}


def other_positions(settings: Settings, model: Model) -> Settings:
    """The same without positions, or as the model was trained where they are without."""
    return replace(settings, position="none" if words.has_positions(settings, model) else "trained")
