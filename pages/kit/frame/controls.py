"""The controls that pages share, each bound to the link under its key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.elements.widgets import text_widgets

from mha_core import IMPLEMENTATIONS, Model
from mha_core import device as devices
from mha_core.errors import HeadlightError
from mha_core.positions import Learned, is_altered
from pages.kit.draw import events
from pages.kit.picture import mask_codec as painting
from pages.kit.picture import models, rules
from pages.kit.picture.limits import LONGEST, LONGEST_RULE, LONGEST_TEXT, POSITIONS, TEMPERATURES, WIDEST_WINDOW
from pages.kit.picture.place import At, parse_at, parse_heads, parse_look
from pages.kit.picture.words import position_note

from .links import BOUND, DEFAULTS, bound_if_short

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
    "painted",
    "position",
    "say",
    "sentence",
    "sizes",
    "take_at",
    "take_look",
    "take_over",
    "temperature",
    "whole",
]

# How long the sentence box waits for the next key. Streamlit's way to say so, live="100ms", imports pandas for the
# one string (79 MB, 0.4 s); should the name go away, its own 250 ms hold.
text_widgets._DEFAULT_LIVE_DEBOUNCE_MS = 100  # type: ignore[misc]


# The kinds of masks, each with the numbers that it takes: key in the link -> label.
MASKS: dict[str, dict[str, str]] = {
    "none": {},
    "causal": {},
    "window": {"w": "Window width: keys fewer than this many steps away"},
    "prefix": {"first": "First keys that are free for all"},
    "sinks": {"first": "First keys, the only ones allowed"},
    "dilated": {"w": "Neighbours to each side, itself included", "gap": "Steps from one to the next"},
    "combination": {},
    "painted": {},
}
WRITTEN_FORMS = (
    "Write none, causal, window:3, prefix:2, sinks:1, dilated:3:2 or documents:5 (a new document begins at token 5)."
)

# A page that compares two settings has the controls of each twice: `side` is added to their keys.


def _of(side: str) -> str:
    """What a label adds on the second side, so that no two controls have one name."""
    return ", right" if side else ""


def sentence(name: str = models.MINILM) -> str:
    """The sentence box of a model, live: the maps follow the typing."""
    return st.text_input(
        "Sentence",
        models.presets(name)[0],
        key="s",
        bind=bound_if_short("s"),
        live=True,
        label_visibility="collapsed",
        placeholder="Type a sentence",
    )


def mask(side: str = "", *, paints: bool = True) -> str:
    """Mask, in written form; each kind brings the numbers or the rule that it needs. `painted` says what is painted.

    `paints`: the page uses painted cells; otherwise it is said that they are left out.
    """
    kind = str(
        st.segmented_control(
            f"Mask{_of(side)}", list(MASKS), default="none", required=True, key=f"mask{side}", bind=BOUND
        )
        or "none"
    )
    # all of these stay mounted, so that the link keeps them
    rule = _rule("Rules joined by & (and), | (or), ! (not)", "rule", side, seen=kind == "combination")
    beneath = _rule("Painted on the rule", "on", side, seen=kind == "painted")
    with st.container(key=f"unseen_p{side}"):
        st.text_input("p", DEFAULTS["p"], key=f"p{side}", bind=BOUND)
    if kind == "painted" and not paints:
        st.caption("Painted cells belong to one sentence and are left out on this page: only the rule is used.")
    if kind in ("combination", "painted"):
        return _usable_or_last(*(rule, "rule") if kind == "combination" else (beneath, "on"), side)
    labels = MASKS[kind]
    return ":".join([kind, *(str(_number(label, f"{key}{side}")) for key, label in labels.items())])


def _number(label: str, key: str) -> int:
    """One of the numbers of a rule."""
    return int(st.number_input(label, 1, WIDEST_WINDOW, DEFAULTS[key], key=key, bind=BOUND) or DEFAULTS[key])


def _rule(label: str, key: str, side: str, *, seen: bool) -> str:
    """A field for a rule in written form."""
    with st.container(key=f"{'seen' if seen else 'unseen'}_{key}{side}"):
        return str(st.text_input(label, DEFAULTS[key], key=f"{key}{side}", bind=BOUND, help=WRITTEN_FORMS))


def _usable_or_last(text: str, key: str, side: str) -> str:
    """The rule that was typed; while it cannot be read, the last one that could, and a sentence for the page."""
    last = f"last_{key}{side}"
    if not rules.usable(text):
        used = st.session_state.get(last, DEFAULTS[key])
        said = f"This is no rule of at most {LONGEST_RULE} characters and numbers below 1,000; “{used}” is still used."
        say(f"{said} {WRITTEN_FORMS}", side)
        return str(used)
    st.session_state[last] = rules.plain(text)
    return rules.plain(text)


def painted(model: Model, side: str = "") -> str:
    """The painted cells that are switched on by `mask`, in their one spelling; "" for none."""
    text = str(st.session_state.get(f"p{side}", ""))
    if st.session_state.get(f"mask{side}") != "painted" or not text:
        return ""
    found = painting.usable(text, model.sizes.n_heads)
    if found is None:
        say("What this link has painted cannot be read, so nothing is painted.", side)
    return found or ""


def say(sentence: str, side: str = "") -> None:
    """Leaves a sentence for `asked.or_last`; of two masks the page says whose it is."""
    whose = " The mask of the right side:" if side else ""
    st.session_state.setdefault("said_of_masks", []).append(f"{whose} {sentence}".strip())


def position(model: Model, side: str = "") -> str:
    """Positional encoding, as `Model.run` takes it; a learned table can be altered only where there is one."""
    table = isinstance(model.encoder.position, Learned)
    names = [name for name, core in POSITIONS.items() if table or not is_altered(core)]
    label, default = f"Position encoding{_of(side)}", names.index(DEFAULTS[f"pos{side}"])
    chosen = st.selectbox(label, names, default, key=f"pos{side}", bind=BOUND)
    if chosen != DEFAULTS["pos"]:
        st.caption(position_note(POSITIONS[chosen], model))
    return POSITIONS[chosen]


def temperature(why_not: str = "", side: str = "") -> float:
    """Softmax temperature; greyed with a reason where it would have no effect."""
    chosen = st.slider(
        f"Softmax temperature{_of(side)}",
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


def whole(label: str, key: str, least: int, most: int) -> int:
    """A whole number from the link; its default when the field is empty."""
    value = st.number_input(label, least, most, DEFAULTS[key], key=key, bind=BOUND)
    return int(DEFAULTS[key] if value is None else value)


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
    label = f"Heads off{_of(side)}"
    chosen = st.multiselect(label, names, key=f"off{side}", bind=BOUND, placeholder="all on", help=why_not or None)
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


def hidden_texts(first_at: str = DEFAULTS["at"]) -> tuple[str, str, str]:
    """`at`, `look` and `pin`: what the map view keeps in the link. The fields are not shown; the view writes them."""
    with st.container(key="link_texts"):
        at = st.text_input("at", first_at, key="at", bind=BOUND)
        look = st.text_input("look", DEFAULTS["look"], key="look", bind=BOUND)
        pin = st.text_input("pin", DEFAULTS["pin"], key="pin", bind=bound_if_short("pin"))
    return at, look, pin


def check_length(text: str) -> None:
    """Raises a HeadlightError when the sentence has more characters than the server takes."""
    if len(text) > LONGEST_TEXT:
        has = f"{len(text):,}" if len(text) < LONGEST["s"] else f"{LONGEST['s']:,} or more"
        raise HeadlightError(f"a sentence may have {LONGEST_TEXT:,} characters, this one has {has}; shorten it")


def sizes() -> tuple[int, int]:
    """Layers and heads of the model in sight, which events name; none before there is one."""
    found: tuple[int, int] = st.session_state.get("sizes", (0, 0))
    return found


def take_at(event: Mapping[str, Any]) -> None:
    """Writes `at` of a view's event into its control, as far as it can be used."""
    at = events.text(event, "at")
    if at is not None and parse_at(at, *sizes()) is not None:
        st.session_state["at"] = at


def take_look(event: Mapping[str, Any]) -> None:
    """Writes `look` of a view's event into its control, as far as it can be used."""
    look = events.text(event, "look")
    if look is not None and parse_look(look, *sizes()) is not None:
        st.session_state["look"] = look


def take_over(event: Mapping[str, Any]) -> None:
    """Writes `at`, `look` and the heads off of a map view's event into their controls, as far as they can be used."""
    take_at(event)
    take_look(event)
    written = events.text(event, "off")
    off = None if written is None else parse_heads(written, *sizes())
    if off is not None:
        st.session_state["off"] = [head_name(layer, head) for layer, head in off]
