"""The Python side of the browser's components: the house (look, brand, theme switch) and the map view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from .web import PREFIX, one_line

__all__ = ["MAPS_KEY", "house", "map_view", "take_event"]

MAPS_KEY = "maps"

_house = st.components.v2.component("headlight_house", js=one_line("house.js"), isolate_styles=False)
_maps = st.components.v2.component("headlight_maps", js=one_line("view.js", "maps"))
_focus = st.components.v2.component("headlight_focus", js=one_line("view.js", "focus"))


def house(*, large: bool) -> None:
    """Brand, theme switch, style sheet and type size of every page."""
    _house(key="house", data={"css": f"{PREFIX}/house.css", "large": large})


def map_view(maps: bytes, focus: bytes, on_act: Callable[[], None]) -> None:
    """Draws packed maps (`packing.pack_maps`) in the state of `packing.pack_focus`.

    The second message has an element of its own, so that a click that changes only the state sends only the state.
    `on_act` is called when the visitor did something; `take_event` says what.
    """
    _maps(key=MAPS_KEY, data=maps, on_act_change=on_act)
    with st.container(key="focus_carrier"):
        _focus(key="focus", data=focus)


def take_event() -> dict[str, Any]:
    """The event that the map view sent, checked to be a dictionary; its values are the visitor's and unchecked."""
    event = st.session_state.get(MAPS_KEY, {}).get("act")
    return event if isinstance(event, dict) else {}
