"""The controls that pages share, each bound to the link under its key."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.elements.widgets import text_widgets

from mha_core import IMPLEMENTATIONS
from mha_core import device as devices
from mha_core.errors import HeadlightError

from .limits import LONGEST_TEXT, POSITIONS, TEMPERATURES, WIDEST_WINDOW
from .links import BOUND, DEFAULTS, bound_if_short
from .presets import PRESETS
from .view import At, parse_at, parse_heads, parse_look

__all__ = [
    "check_length",
    "device",
    "head_name",
    "heads_off",
    "hidden_texts",
    "implementation",
    "large_type",
    "layer",
    "mask",
    "position",
    "sentence",
    "take_over",
    "temperature",
]

# How long the sentence box waits for the next key. Streamlit's way to say so, live="100ms", imports pandas for the
# one string (79 MB, 0.4 s); should the name go away, its own 250 ms hold.
text_widgets._DEFAULT_LIVE_DEBOUNCE_MS = 100  # type: ignore[misc]


# A page that compares two settings has the controls of each twice: `side` is added to their keys.


def sentence() -> str:
    """The sentence box, live: the maps follow the typing."""
    return st.text_input(
        "Sentence",
        PRESETS[0],
        key="s",
        bind=bound_if_short("s"),
        live=True,
        label_visibility="collapsed",
        placeholder="Type a sentence",
    )


def mask(side: str = "") -> str:
    """Mask, in written form; a window brings its width."""
    key, width_key = f"mask{side}", f"w{side}"
    kind = st.segmented_control(
        "Mask", ["none", "causal", "window"], default="none", required=True, key=key, bind=BOUND
    )
    if kind != "window":
        return str(kind or "none")
    label, default = "Window width: keys fewer than this many steps away", DEFAULTS[width_key]
    width = st.number_input(label, 1, WIDEST_WINDOW, default, key=width_key, bind=BOUND)
    return f"window:{width or default}"


def position(side: str = "") -> str:
    """Positional encoding, as `Model.run` takes it."""
    names = list(POSITIONS)
    chosen = st.selectbox("Position encoding", names, names.index(DEFAULTS[f"pos{side}"]), key=f"pos{side}", bind=BOUND)
    return POSITIONS[chosen]


def temperature(why_not: str = "", side: str = "") -> float:
    """Softmax temperature; greyed with a reason where it would have no effect."""
    chosen = st.slider(
        "Softmax temperature",
        *TEMPERATURES,
        1.0,
        0.1,
        key=f"t{side}",
        bind=BOUND,
        disabled=bool(why_not),
        help=why_not or None,
    )
    if why_not:
        st.caption(why_not)
    return chosen


def implementation(label: str, key: str, *, none: bool = False) -> str:
    """A choice of implementation, "none" among them where there need not be one."""
    names = [*(["none"] if none else []), *IMPLEMENTATIONS]
    return st.selectbox(label, names, names.index(DEFAULTS[key]), key=key, bind=BOUND)


def layer(at: At, layers: int) -> None:
    """The layer in focus. It is the first number of `at`, so that every page looks at the same one."""

    def choose() -> None:
        st.session_state["at"] = str(replace(at, layer=int(st.session_state["layer_of_at"] or at.layer)))

    st.session_state["layer_of_at"] = str(at.layer)
    numbers = [str(number) for number in range(layers)]
    st.segmented_control("Layer", numbers, required=True, key="layer_of_at", on_change=choose)


def heads_off(layers: int, heads: int, why_not: str = "", side: str = "") -> tuple[tuple[int, int], ...]:
    """Heads switched off in the model, as sorted (layer, head) pairs."""
    st.session_state["sizes"] = (layers, heads)
    names = [head_name(layer, head) for layer in range(layers) for head in range(heads)]
    chosen = st.multiselect(
        "Heads off", names, key=f"off{side}", bind=BOUND, placeholder="all on", help=why_not or None
    )
    if why_not:
        st.caption(why_not)
    return tuple(sorted((int(layer), int(head)) for layer, head in (name[1:].split(" H") for name in chosen)))


def head_name(layer: int, head: int) -> str:
    """The name of a head in the control and in the link."""
    return f"L{layer} H{head}"


def device() -> str:
    """The device, out of those present; the best one is "auto", which falls back to the CPU when its memory is full."""
    present = devices.available()
    chosen = st.segmented_control("Device", present, default=present[0], required=True, key="dev", bind=BOUND)
    return "auto" if chosen in (None, present[0]) else str(chosen)


def large_type() -> bool:
    """Large type, for projectors."""
    return st.toggle("Large type", key="big", bind=BOUND)


def hidden_texts() -> tuple[str, str, str]:
    """`at`, `look` and `pin`: what the map view keeps in the link. The fields are not shown; the view writes them."""
    with st.container(key="link_texts"):
        at = st.text_input("at", DEFAULTS["at"], key="at", bind=BOUND)
        look = st.text_input("look", DEFAULTS["look"], key="look", bind=BOUND)
        pin = st.text_input("pin", DEFAULTS["pin"], key="pin", bind=bound_if_short("pin"))
    return at, look, pin


def check_length(text: str) -> None:
    """Raises a HeadlightError when the sentence has more characters than the server takes."""
    if len(text) > LONGEST_TEXT:
        raise HeadlightError(f"a sentence may have {LONGEST_TEXT:,} characters, this one has {len(text):,}; shorten it")


def take_over(event: dict[str, Any]) -> None:
    """Writes `at`, `look` and the heads off of a map view's event into their controls, as far as they can be used."""
    layers, heads = st.session_state["sizes"]
    at, look = str(event.get("at", "")), str(event.get("look", ""))
    if parse_at(at, layers, heads) is not None:
        st.session_state["at"] = at
    if parse_look(look, layers, heads) is not None:
        st.session_state["look"] = look
    off = parse_heads(str(event.get("off", "")), layers, heads)
    if off is not None:
        st.session_state["off"] = [head_name(layer, head) for layer, head in off]
