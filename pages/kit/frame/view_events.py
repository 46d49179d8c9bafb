"""What a view's event says about the place looked at, written into the bound controls as far as it can be used."""

from __future__ import annotations

import streamlit as st

from mha_core import Model
from pages.kit.draw import events
from pages.kit.draw.view import Event
from pages.kit.picture.place import parse_at, parse_heads, parse_look

from .controls import head_name

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


def take_heads_off(event: Event, sizes: Sizes) -> None:
    """The heads switched off in the model."""
    written = events.text(event, "off")
    off = None if written is None else parse_heads(written, *sizes)
    if off is not None:
        st.session_state["off"] = [head_name(layer, head) for layer, head in off]
