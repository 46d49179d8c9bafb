"""A picture in the map view: the state that goes with it, and what comes back."""

from __future__ import annotations

import secrets
from typing import Any

import streamlit as st

from mha_core import Model
from pages.kit.draw import canvas, events
from pages.kit.draw.packing import pack_focus
from pages.kit.frame import controls
from pages.kit.picture import mask_codec, models, pictures, words
from pages.kit.picture.models import MINILM
from pages.kit.picture.pictures import Picture, Pinned, Settings
from pages.kit.picture.place import At, Look, parse_at, write_heads

from .pins import pin_text

__all__ = ["show"]


def show(
    model: Model,
    picture: Picture,
    at: At,
    look: Look,
    pinned: tuple[Pinned, At] | None,
    notices: list[str],
    *,
    chosen: bool,
) -> None:
    """The map view with everything that it writes. `chosen`: the visitor, not the page, chose the row in focus."""
    run, settings = picture.run, picture.settings
    try:
        ask = st.session_state.pop("compare", False) and settings.model == MINILM
        difference = pictures.difference_to_transformers(settings, ask=ask)
    except ImportError as error:
        difference = None
        notices.append(f"The comparison needs the package {error.name}, which is missing. Set Headlight up again.")
    maps = pictures.packed(picture, at.layer)
    st.session_state["presets"] = models.presets(settings.model)
    state: dict[str, Any] = {
        "digest": settings.digest,
        # a new session counts its turns anew
        "visit": st.session_state.setdefault("visit", secrets.token_hex(4)),
        "heard": st.session_state.get("heard", 0),
        "at": str(at) if chosen else f"{at.layer}.{at.head}",
        "layer": at.layer,
        "head": at.head,
        "row": at.row,
        "key": at.key,
        "look": str(look),
        "off": write_heads(settings.heads_off),
        "forbidden": _forbidden(settings, len(run.tokens)),
        "label": words.label(settings),
        "origin": model.origin,
        "presets": st.session_state["presets"],
        "typed": settings.text,
        "notices": notices,
        "unusable": st.session_state["unusable"],
        "figures": words.figures(picture, model, difference),
        "status": words.status(picture, model, len(maps)),
        "pin": None,
    }
    focus = [run.weights[at.layer, at.head]]
    if pinned is not None:
        other, where = pinned
        state["pin"] = {
            "tokens": other.tokens,
            "at": str(where),
            "label": words.label(other.settings) + _whose(other.settings, settings),
            "forbidden": _forbidden(other.settings, len(other.tokens)),
        }
        focus.append(other.weights)
    st.session_state["shown"] = settings
    canvas.map_view(maps, pack_focus(state, *focus), _on_act)


def _forbidden(settings: Settings, tokens: int) -> list[str]:
    """The cells that may not be looked at, those of the model's own mask among them."""
    model = pictures.model_of(settings)
    return mask_codec.forbidden(settings.mask, settings.painted, tokens, model.sizes.n_heads, model.own_mask)


def _whose(pinned: Settings, shown: Settings) -> str:
    """Names the model of a pinned picture where it is another one."""
    return "" if pinned.model == shown.model else f"; {models.title(pinned.model)}"


def _on_act() -> None:
    """Takes what the visitor did in the map view over into the bound controls: picture, controls and link agree."""
    event, state = canvas.take_event(canvas.MAPS_KEY), st.session_state
    controls.take_over(event)
    preset, presets = events.whole(event, "preset"), state.get("presets", ())
    if preset is not None and 0 <= preset < len(presets):
        state["s"] = presets[preset]
    if "pin" in event and "shown" in state:
        # what the visitor saw: the last picture sent, and the head and row that the view says
        at = events.text(event, "pin") or ""
        state["pin"] = pin_text(state["shown"], at) if parse_at(at, *controls.sizes()) else ""
    state["compare"] = event.get("compare") is True
    state["heard"] = events.whole(event, "turn") or 0
