"""The map view: what the script tells it, and what comes back. Its picture comes over the wire (`message`)."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from mha_core import Model
from pages.kit.draw import events
from pages.kit.draw.view import Event, View
from pages.kit.frame import controls, model_picker, view_link
from pages.kit.frame.view_events import (
    sizes_of,
    take_at,
    take_controls,
    take_heads_off,
    take_look,
    take_text,
)
from pages.kit.picture import pictures, words
from pages.kit.picture.limits import LONGEST_PIN, POSITIONS
from pages.kit.picture.models import MINILM
from pages.kit.picture.place import At, Look, write_heads
from pages.kit.picture.settings import Settings
from pages.kit.server.missing import missing_package

from . import pins

VIEW = View("maps", "maps", "explore.js")
CHANGES = (
    "mask",
    "w",
    "first",
    "gap",
    "rule",
    "on",
    "p",
    "pos",
    "t",
    "unheard",
)  # keys of the controls that the view holds
SAMPLING = ("temp", "dice", "word")


def show(
    model: Model,
    settings: Settings,
    at: At,
    look: Look,
    pin: str,
    *,
    box: str,
    notices: list[str],
    unusable: Sequence[str],
) -> None:
    """The map view at what is to be shown.

    Args:
        settings: with the last sentence that can be used; `box`: what stands in the box.
        at: layer, head and, where the visitor chose them, row and key.
        pin: the pinned picture, as in the link.
        notices: what the controls have to say.
        unusable: keys of the link's texts that could not be used; the view writes their defaults into the link.
    """
    sizes, positions = sizes_of(model), controls.positions_of(model)

    def take(event: Event) -> None:
        """Controls and link agree on what the visitor did."""
        take_text(event)
        for part in (take_at, take_look, take_heads_off):
            part(event, sizes)
        take_controls(event, *CHANGES, *SAMPLING, positions=positions)
        pinned = events.text(event, "pin", LONGEST_PIN)
        if pinned is not None:
            usable = pins.usable(pinned, settings.device, model_picker.sizes_of)
            st.session_state["pin"] = pinned if usable else ""
        st.session_state["compare"] = event.get("compare") is True

    compared = words.compared(difference(settings, notices)) if settings.model == MINILM else ""
    state = {
        **VIEW.turns(),
        **view_link.of({"": settings}, unusable, at=str(at), pin=pin),
        "at": str(at),
        "look": str(look),
        "off": write_heads(settings.heads_off),
        "pinned": pin,
        "box": box,
        "typed": settings.text,
        "notices": notices,
        "unusable": list(unusable),
        "compared": compared,
        "positions": [[name, words.position_note(POSITIONS[name], model)] for name in positions],
    }
    VIEW.show(state, take)


def difference(settings: Settings, notices: list[str]) -> float | None:
    """The difference to transformers, computed where the visitor has asked for it."""
    try:
        return pictures.difference_to_transformers(settings, ask=st.session_state.pop("compare", False))
    except ImportError as error:
        package = missing_package(error)
        if package is None:
            raise
        notices.append(f"The comparison needs the package {package}, which is missing. Set Headlight up again.")
        return None
