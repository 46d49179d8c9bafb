"""The controls that pages share. Each is bound to the link under its key; the keys are the public link format."""

from __future__ import annotations

import re
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode

import streamlit as st
from streamlit.elements.widgets import text_widgets

from mha_core import device as devices
from mha_core.errors import HeadlightError

from .cached import Settings
from .presets import PRESETS
from .view import DEFAULT_AT, At, parse_at, parse_heads, parse_look

__all__ = [
    "DEFAULTS",
    "LONGEST_LINK",
    "LONGEST_TEXT",
    "check_length",
    "device",
    "head_name",
    "heads_off",
    "hidden_texts",
    "large_type",
    "link",
    "mask",
    "notices",
    "parse_pin",
    "pin_text",
    "position",
    "remember_link",
    "sentence",
    "take_over",
    "temperature",
    "too_long_for_link",
]

LONGEST_TEXT = 2000
LONGEST_LINK = 6000
POSITIONS = {"as trained": "trained", "none": "none", "sinusoidal": "sinusoidal"}
DEFAULTS: dict[str, Any] = {
    "s": PRESETS[0],
    "mask": "none",
    "w": 3,
    "pos": "as trained",
    "t": 1.0,
    "off": [],
    "dev": None,  # the best device present
    "at": DEFAULT_AT,
    "look": "",
    "pin": "",
    "big": False,
}
_BOUND: Final = "query-params"


# How long the sentence box waits for the next key. Streamlit's way to say so, live="100ms", imports pandas for the
# one string (79 MB, 0.4 s); should the name go away, its own 250 ms hold.
text_widgets._DEFAULT_LIVE_DEBOUNCE_MS = 100  # type: ignore[misc]


def remember_link() -> None:
    """Notes what the link asked for, before any control of the first run takes it in. Call it first on every page."""
    if "asked" not in st.session_state:
        st.session_state["asked"] = {key: st.query_params.get_all(key) for key in DEFAULTS if key in st.query_params}


def notices(**usable: bool) -> list[str]:
    """One sentence for each value of the link that could not be used, answered once, and one on what the link lacks.

    Args:
        usable: for the controls of this page that are texts, whether the text could be used.
    """
    asked: dict[str, list[str]] = st.session_state["asked"]
    st.session_state["asked"] = {}
    found = []
    for key, values in asked.items():
        if key not in st.session_state:  # its control is not on the page, as the width without a window
            continue
        got = st.session_state[key]
        if usable.get(key, set(_written(got)) == set(_normal(got, values))):
            continue
        said = ", ".join(values)
        said = said if len(said) <= 40 else said[:39] + "…"
        instead = "the default" if key in usable else ", ".join(_written(got)) or "nothing"
        found.append(f"The link says {key}={said}, which cannot be used here; {instead} is used instead.")
    told = st.session_state.pop("told", [])
    # the view answers by writing their defaults into the link, and that run says the same once more
    st.session_state["unusable"] = [key for key, used in usable.items() if key in asked and not used]
    if st.session_state["unusable"]:
        st.session_state["told"] = list(found)
    found = [*told, *found]
    names = {"pin": "the pinned picture", "s": "the sentence"}
    left_out = [names[key] for key in too_long_for_link() if st.session_state.get(key)]
    if left_out:
        found.append(f"A link to this would pass {LONGEST_LINK:,} bytes, so it leaves out {' and '.join(left_out)}.")
    return found


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


def sentence() -> str:
    """The sentence box, live: the maps follow the typing."""
    return st.text_input(
        "Sentence",
        PRESETS[0],
        key="s",
        bind=_bound_if_short("s"),
        live=True,
        label_visibility="collapsed",
        placeholder="Type a sentence",
    )


def mask() -> str:
    """Mask, in written form; a window brings its width."""
    kind = st.segmented_control(
        "Mask", ["none", "causal", "window"], default="none", required=True, key="mask", bind=_BOUND
    )
    if kind != "window":
        return str(kind or "none")
    width = st.number_input(
        "Window width: keys fewer than this many steps away", 1, 512, DEFAULTS["w"], key="w", bind=_BOUND
    )
    return f"window:{width or DEFAULTS['w']}"


def position() -> str:
    """Positional encoding, as `Model.run` takes it."""
    chosen = st.selectbox("Position encoding", list(POSITIONS), key="pos", bind=_BOUND)
    return POSITIONS[chosen]


def temperature() -> float:
    """Softmax temperature."""
    return st.slider("Softmax temperature", 0.1, 5.0, 1.0, 0.1, key="t", bind=_BOUND)


def heads_off(layers: int, heads: int) -> tuple[tuple[int, int], ...]:
    """Heads switched off in the model, as sorted (layer, head) pairs."""
    st.session_state["sizes"] = (layers, heads)
    names = [head_name(layer, head) for layer in range(layers) for head in range(heads)]
    chosen = st.multiselect("Heads off", names, key="off", bind=_BOUND, placeholder="all on")
    return tuple(sorted((int(layer), int(head)) for layer, head in (name[1:].split(" H") for name in chosen)))


def head_name(layer: int, head: int) -> str:
    """The name of a head in the control and in the link."""
    return f"L{layer} H{head}"


def device() -> str:
    """The device, out of those present; the best one is "auto", which falls back to the CPU when its memory is full."""
    present = devices.available()
    chosen = st.segmented_control("Device", present, default=present[0], required=True, key="dev", bind=_BOUND)
    return "auto" if chosen in (None, present[0]) else str(chosen)


def large_type() -> bool:
    """Large type, for projectors."""
    return st.toggle("Large type", key="big", bind=_BOUND)


def hidden_texts() -> tuple[str, str, str]:
    """`at`, `look` and `pin`: what the map view keeps in the link. The fields are not shown; the view writes them."""
    with st.container(key="link_texts"):
        at = st.text_input("at", DEFAULTS["at"], key="at", bind=_BOUND)
        look = st.text_input("look", DEFAULTS["look"], key="look", bind=_BOUND)
        pin = st.text_input("pin", DEFAULTS["pin"], key="pin", bind=_bound_if_short("pin"))
    return at, look, pin


def link(leave_out: tuple[str, ...] = ()) -> str:
    """The query of the present state's link: every bound value that is not its default."""
    parts = []
    for key, default in DEFAULTS.items():
        value = st.session_state.get(key, default)
        if value != default and key not in leave_out and not (key == "dev" and value == devices.available()[0]):
            parts += [(key, text) for text in _written(value) or [""]]
    return urlencode(parts, quote_via=quote, errors="replace")


def too_long_for_link() -> tuple[str, ...]:
    """What the link must leave out to stay within `LONGEST_LINK` bytes: first the pinned picture, then the sentence."""
    if len(st.session_state.get("s", "")) > LONGEST_LINK:  # no need to write it out to know
        return ("pin", "s")
    for leave_out in ((), ("pin",), ("pin", "s")):
        if len(link(leave_out)) <= LONGEST_LINK:
            break
    return leave_out


def _bound_if_short(key: str) -> Literal["query-params"] | None:
    """Binds a text to the link unless the link would grow too long; a text that is short again goes back into it."""
    long = key in too_long_for_link()
    was_long = st.session_state.get(f"long_{key}", False)
    st.session_state[f"long_{key}"] = long
    if was_long and not long and key in st.session_state:
        st.session_state[key] = st.session_state[key]  # a value that code sets is written into the link
    return None if long else _BOUND


def pin_text(settings: Settings, at: str) -> str:
    """A pinned picture as one text for the link; the sentence comes last because it may hold any character."""
    off = "-".join(f"{layer}.{head}" for layer, head in settings.heads_off)
    return "~".join((at, settings.mask, settings.position, f"{settings.temperature:g}", off, settings.text))


def parse_pin(text: str, device: str, layers: int, heads: int) -> tuple[Settings, At] | None:
    """The inverse of `pin_text`; None when a part cannot be used."""
    parts = text.split("~", 5)
    if len(parts) != 6:
        return None
    at_text, mask_text, position_name, temperature_text, off_text, words = parts
    if not re.fullmatch(r"none|causal|window:[1-9]\d{0,2}", mask_text, re.ASCII):  # the masks that the page offers
        return None
    at, off = parse_at(at_text, layers, heads), parse_heads(off_text, layers, heads)
    try:
        degrees = float(temperature_text)
    except ValueError:
        return None
    if (
        at is None
        or off is None
        or position_name not in POSITIONS.values()
        or not 0.1 <= degrees <= 5
        or len(words) > LONGEST_TEXT
    ):
        return None
    return Settings(words, mask_text, position_name, degrees, off, device), at


def _written(value: Any) -> list[str]:
    """A control's value as the link writes it."""
    if isinstance(value, bool):
        return [str(value).lower()]
    if isinstance(value, (list, tuple)):
        return [str(part) for part in value]
    return [f"{value:g}" if isinstance(value, float) else str(value)]


def _normal(got: Any, asked: list[str]) -> list[str]:
    """What was asked, in the spelling of `_written` where it means the same."""
    if isinstance(got, bool):
        return [text.lower() for text in asked]
    if isinstance(got, (int, float)):
        try:
            return [f"{float(text):g}" for text in asked]
        except ValueError:
            return asked
    return asked
