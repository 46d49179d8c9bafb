"""A picture in the map view: the state that goes with it, and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from mha_core import Model
from pages.kit.draw import events
from pages.kit.draw.packing import pack_focus
from pages.kit.draw.view import Event, View
from pages.kit.frame.view_events import sizes_of, take_at, take_heads_off, take_look
from pages.kit.picture import mask_codec, models, pictures, words
from pages.kit.picture.models import MINILM
from pages.kit.picture.pictures import Picture, Pinned
from pages.kit.picture.place import At, Look, parse_at, write_heads
from pages.kit.picture.settings import Settings

from .pins import pin_text

VIEW = View("maps", "maps", "explore.js", "maps", carrier=("focus", "focus"))


def show(
    model: Model,
    picture: Picture,
    at: At,
    look: Look,
    pinned: tuple[Pinned, At] | None,
    notices: list[str],
    *,
    unusable: Sequence[str],
    chosen: bool,
) -> None:
    """The map view with everything that it writes.

    Args:
        unusable: keys of the link's texts that could not be used; the view writes their defaults into the link.
        chosen: the visitor, not the page, chose the row in focus.
    """
    run, settings = picture.run, picture.settings
    try:
        ask = st.session_state.pop("compare", False) and settings.model == MINILM
        difference = pictures.difference_to_transformers(settings, ask=ask)
    except ImportError as error:
        difference = None
        notices.append(f"The comparison needs the package {error.name}, which is missing. Set Headlight up again.")
    maps = pictures.packed(picture, at.layer)
    presets = models.presets(settings.model)
    state: dict[str, Any] = {
        **VIEW.turns(),
        "digest": settings.digest,
        "at": str(at) if chosen else f"{at.layer}.{at.head}",
        "layer": at.layer,
        "head": at.head,
        "row": at.row,
        "key": at.key,
        "look": str(look),
        "off": write_heads(settings.heads_off),
        "forbidden": _forbidden(settings, len(run.tokens)),
        "label": words.label(settings, model),
        "origin": model.origin,
        "presets": presets,
        "typed": settings.text,
        "notices": notices,
        "unusable": list(unusable),
        "figures": words.figures(picture, difference),
        "status": words.status(picture, len(maps)),
        "pin": None,
    }
    focus = [run.weights[at.layer, at.head]]
    if pinned is not None:
        other, where = pinned
        state["pin"] = {
            "tokens": other.tokens,
            "at": str(where),
            "label": words.label(other.settings, other.model) + _whose(other.settings, settings),
            "forbidden": _forbidden(other.settings, len(other.tokens)),
        }
        focus.append(other.weights)
    sizes = sizes_of(model)

    def take(event: Event) -> None:
        """Picture, controls and link agree on what the visitor did."""
        for part in (take_at, take_look, take_heads_off):
            part(event, sizes)
        preset = events.whole(event, "preset")
        if preset is not None and 0 <= preset < len(presets):
            st.session_state["s"] = presets[preset]
        if "pin" in event:
            # what the visitor saw: the last picture sent, and the head and row that the view says
            where = events.text(event, "pin") or ""
            st.session_state["pin"] = pin_text(settings, where) if parse_at(where, *sizes) else ""
        st.session_state["compare"] = event.get("compare") is True

    VIEW.show(maps, take, pack_focus(state, *focus))


def _forbidden(settings: Settings, tokens: int) -> list[str]:
    """The cells that may not be looked at, those of the model's own mask among them."""
    model = pictures.model_of(settings)
    return mask_codec.forbidden(settings.mask, settings.painted, tokens, model.sizes.n_heads, model.own_mask)


def _whose(pinned: Settings, shown: Settings) -> str:
    """Names the model of a pinned picture where it is another one."""
    return "" if pinned.model == shown.model else f"; {models.title(pinned.model)}"
