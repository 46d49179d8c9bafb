"""The view of two pictures side by side: what the script tells it, and what comes back.

Its picture comes over the wire (`message`).
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from mha_core import Model
from pages.kit.draw import events, numbers
from pages.kit.draw.view import Event, View
from pages.kit.frame import controls, view_link
from pages.kit.frame.view_events import sizes_of, take_at, take_controls, take_heads_off, take_look, take_text
from pages.kit.picture import words
from pages.kit.picture.limits import POSITIONS
from pages.kit.picture.place import At, Look, head_name, write_heads
from pages.kit.picture.settings import Settings

from . import tries
from .right_side import SIDE

VIEW = View("pair_view", "pair", "pair.js")
SWITCHES = [f"{key}{side}" for side in ("", "2") for key in SIDE if key != "off"]
HEADS = View("head_bars", "heads", "head_bars.js")


def show(
    model: Model,
    left: Settings,
    right: Settings,
    at: At,
    look: Look,
    *,
    boxes: tuple[str, str],
    notices: list[str],
    unusable: Sequence[str],
) -> None:
    """Both maps and their difference, at what is to be shown.

    Args:
        left, right: with the last sentences that can be used; `boxes`: what stands in the box of each side.
        at: layer, head and, where the visitor chose them, row and key.
        notices: what the controls have to say.
        unusable: keys of the link's texts that could not be used.
    """
    sizes, offered, positions = sizes_of(model), tries.tries(left.model, model), controls.positions_of(model)
    other = right.text if boxes[1] else ""  # the same sentence on both sides

    def take(event: Event) -> None:
        """What to try; what the visitor typed and looks at holds on top of it."""
        for key, value in offered.get(events.text(event, "try") or "", {}).items():
            st.session_state[key] = value
        take_text(event)
        take_text(event, "s2")
        take_controls(event, *SWITCHES, "word", positions=positions)
        for key in ("off", "off2"):
            take_heads_off(event, sizes, key)
        take_at(event, sizes)
        take_look(event, sizes)

    state = {
        **VIEW.turns(),
        **view_link.of({"": left, "2": right}, unusable, at=str(at), s2=other),
        "at": str(at),
        "look": str(look),
        "boxes": boxes,
        "typed": [left.text, other],
        "notices": notices,
        "positions": [[name, words.position_note(POSITIONS[name], model)] for name in positions],
    }
    VIEW.show(state, take)


def show_heads(cosines: list[list[float]], at: At, off: tuple[tuple[int, int], ...]) -> None:
    """Draws what switching off each head alone does; a click opens the head."""
    count = sum(map(len, cosines))
    worst, layer, head = min(
        (cosine, layer, head) for layer, own in enumerate(cosines) for head, cosine in enumerate(own)
    )
    state = {
        **HEADS.turns(),
        "cosines": cosines,
        "shown": [[numbers.cosine(cosine) for cosine in own] for own in cosines],
        "layer": at.layer,
        "head": at.head,
        "off": write_heads(off),
        "title": f"{head_name(layer, head)} is missed most",
        "said": f"Switching off layer {layer} head {head} changes the left sentence vector most "
        f"(cosine {numbers.cosine(worst)}; {count} heads tried).",
    }
    HEADS.show(state, lambda event: take_at(event, (len(cosines), len(cosines[0]))))
