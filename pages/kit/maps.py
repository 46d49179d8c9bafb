"""A picture in the map view: the state that goes with it, and what comes back."""

from __future__ import annotations

import secrets
from typing import Any

import streamlit as st

from mha_core import Model

from . import cached, canvas, controls, painted, text
from .cached import Picture, Pinned
from .packing import pack_focus
from .pins import pin_text
from .presets import PRESETS
from .view import At, Look, write_heads

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
        difference = cached.difference_to_transformers(settings, ask=st.session_state.pop("compare", False))
    except ImportError as error:
        difference = None
        notices.append(f"The comparison needs the package {error.name}, which is missing. Set Headlight up again.")
    maps = cached.packed(picture, at.layer)
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
        "forbidden": painted.forbidden(settings.mask, settings.painted, len(run.tokens), model.sizes.n_heads),
        "label": text.label(settings),
        "origin": model.origin,
        "presets": PRESETS,
        "typed": settings.text,
        "notices": notices,
        "unusable": st.session_state["unusable"],
        "figures": text.figures(picture, model, difference),
        "status": text.status(picture, model, len(maps)),
        "pin": None,
    }
    focus = [run.weights[at.layer, at.head]]
    if pinned is not None:
        other, where = pinned
        state["pin"] = {
            "tokens": other.tokens,
            "at": str(where),
            "label": text.label(other.settings),
            "forbidden": painted.forbidden(
                other.settings.mask, other.settings.painted, len(other.tokens), model.sizes.n_heads
            ),
        }
        focus.append(other.weights)
    st.session_state["shown"] = settings
    canvas.map_view(maps, pack_focus(state, *focus), _on_act)


def _on_act() -> None:
    """Takes what the visitor did in the map view over into the bound controls: picture, controls and link agree."""
    event = canvas.take_event(canvas.MAPS_KEY)
    controls.take_over(event)
    if isinstance(event.get("preset"), int) and 0 <= event["preset"] < len(PRESETS):
        st.session_state["s"] = PRESETS[event["preset"]]
    if "pin" in event:
        # what the visitor saw: the last picture sent, and the head and row that the view says
        seen = pin_text(st.session_state["shown"], str(event["pin"]))
        st.session_state["pin"] = seen if event["pin"] else ""
    st.session_state["compare"] = event.get("compare") is True
    turn = event.get("turn")
    st.session_state["heard"] = turn if isinstance(turn, int) else 0
