"""The shuffle test: the words of the left sentence in another order, under the settings of both sides.

Where the sides have the same settings, the second ones are with positions where the first are without, or without.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from mha_core import Model
from mha_core.errors import HeadlightError
from pages.kit.draw import canvas, events, sheet
from pages.kit.draw.numbers import small
from pages.kit.frame import widgets
from pages.kit.picture import pictures, words
from pages.kit.picture.fields import DEFAULTS
from pages.kit.picture.limits import MOST_SHUFFLES, check_length
from pages.kit.picture.settings import Settings

from . import contrasts, orders


def show(left: Settings, right: Settings, seed: int) -> None:
    """The field for an order, and how much the output vectors of both sides change with it.

    Args:
        right: of the right side, with the sentence of the left one.
        seed: of the order while none is typed.
    """
    model = pictures.model_of(left)
    if not contrasts.contrasts(left, right, model):
        right = other_positions(left, model)
    order = widgets.text("order", placeholder="a random order")
    try:
        check_length(order)
        sides = [orders.reordered(side, order or orders.shuffled(left.text, seed)) for side in (left, right)]
    except HeadlightError as error:
        blocks = [sheet.notices([words.sentence(error)])]
    else:
        titles = contrasts.titles(contrasts.contrasts(left, right, model))
        panels = [
            sheet.panel(
                f"{title}: {small(side.difference)}",
                [sheet.text(orders.why(side))],
                words.label(side.settings, side.model),
            )
            for title, side in zip(titles, sides, strict=True)
        ]
        blocks = [sheet.text(sides[0].order), sheet.row(panels, even=True)]
    again = sheet.buttons("Order", [("shuffle again", {"shuffle": seed % MOST_SHUFFLES + 1}, None)])
    note = "largest difference of the output vectors between the two orders, after putting the words back in place"
    canvas.sheet("shuffle_sheet", [sheet.panel("Shuffle test", [again, *blocks], note)], _shuffle_again)


def other_positions(settings: Settings, model: Model) -> Settings:
    """The same without positions, or as the model was trained where they are without."""
    return replace(settings, position="none" if words.has_positions(settings, model) else "trained")


def _shuffle_again(event: dict[str, Any]) -> None:
    """Another random order was asked for."""
    seed = events.whole(event, "shuffle")
    if seed is not None and 1 <= seed <= MOST_SHUFFLES:
        st.session_state["shuffle"], st.session_state["order"] = seed, DEFAULTS["order"]
