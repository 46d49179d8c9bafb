"""What a view's event says about the place looked at, written into the bound controls as far as it can be used."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlencode

import streamlit as st

from mha_core import Model
from mha_core.errors import HeadlightError
from pages.kit.draw import events
from pages.kit.draw.view import Event
from pages.kit.picture.fields import DEFAULTS
from pages.kit.picture.place import head_name, parse_at, parse_heads, parse_look
from pages.kit.picture.query import Query

LONGEST_TYPED = 200_000  # characters that a box passes on; `links` cuts them and says so
Sizes = tuple[int, int]  # layers, and heads of each, of the model that the view showed


def sizes_of(model: Model) -> Sizes:
    """The layers and heads that an event of this model's picture may name."""
    return model.sizes.n_layers, model.sizes.n_heads


def take_at(event: Event, sizes: Sizes) -> None:
    """The layer and head in focus, and where the visitor chose them the query and the key."""
    at = events.text(event, "at")
    if at is not None and parse_at(at, *sizes) is not None:
        st.session_state["at"] = at


def take_look(event: Event, sizes: Sizes) -> None:
    """How the maps are drawn."""
    look = events.text(event, "look")
    if look is not None and parse_look(look, *sizes) is not None:
        st.session_state["look"] = look


def take_heads_off(event: Event, sizes: Sizes, key: str = "off") -> None:
    """The heads switched off in the model."""
    written = events.text(event, key)
    off = None if written is None else parse_heads(written, *sizes)
    if off is not None:
        st.session_state[key] = [head_name(layer, head) for layer, head in off]


def take_controls(event: Event, *keys: str, positions: Collection[str] = ()) -> None:
    """Controls that a view holds: `event["controls"]` has what a link would say of them, None for their default.

    Args:
        keys: of the controls that this view may set.
        positions: the encodings that its model can take.
    """
    told = event.get("controls")
    said: Event = told if isinstance(told, dict) else {}
    for key in keys:
        if key not in said:
            continue
        text = events.text(said, key)
        try:
            value = DEFAULTS[key] if said[key] is None else Query(urlencode({key: text or ""}).encode())[key]
        except HeadlightError:
            continue
        if not key.startswith("pos") or value in positions:
            st.session_state[key] = value


def take_text(event: Event, key: str = "s") -> None:
    """The sentence that was typed, as it stands in the box."""
    text = events.text(event, key, LONGEST_TYPED)
    if text is not None:
        st.session_state[key] = text
