"""The controls that pages share, each bound to the link under its key."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from mha_core import Model
from mha_core import device as devices
from mha_core.positions import Learned, is_altered
from pages.kit.picture import mask_codec, models, rules
from pages.kit.picture.fields import DEFAULTS, MASKS
from pages.kit.picture.limits import LONGEST_RULE, POSITIONS
from pages.kit.picture.place import head_name, parse_places
from pages.kit.picture.query import WRITTEN
from pages.kit.picture.settings import Settings
from pages.kit.picture.words import position_note

from . import widgets
from .picture_page import PicturePage

WRITTEN_FORMS = (
    "Write none, causal, window:3, prefix:2, sinks:1, dilated:3:2, documents:5 (a new document begins at token 5) "
    "or unseen:4 (nobody but token 4 itself may look at it)."
)
NOT_A_RULE = f"Not a valid rule (at most {LONGEST_RULE} characters, numbers below 1,000)."

# A page that compares two settings has the controls of each twice: `side` is added to their keys.


def sentence_of_view(name: str = models.MINILM) -> str:
    """The sentence where the box belongs to a view: a field that only the link needs."""
    return widgets.text("s", models.presets(name)[0])


def sentence(name: str = models.MINILM) -> str:
    """The sentence box of a model, live: the page follows the typing."""
    start, placeholder = models.presets(name)[0], "Type a sentence"
    return widgets.text("s", start, live=True, label_visibility="collapsed", placeholder=placeholder)


def switches(page: PicturePage, side: str = "", *, no_temperature: str = "", no_heads_off: str = "") -> Settings:
    """Mask, position, temperature and heads: the settings but for their sentence and device.

    Args:
        no_temperature, no_heads_off: why this control has no effect on what is shown.
    """
    rule, cells = mask(page, side), painted(page, side)
    encoding, degrees = position(page, side), temperature(side, no_temperature)
    off, unheard = heads_off(page, side, no_heads_off), values_off(page, side)
    return Settings("", rule, encoding, degrees, off, painted=cells, model=page.name, values_off=unheard)


def mask(page: PicturePage, side: str = "", *, paints: bool = True) -> str:
    """Mask, in written form; each kind brings the numbers or the rule that it needs. `painted` says what is painted.

    `paints`: the page uses painted cells; otherwise it is said that they are left out.
    """
    kind = widgets.segments(f"mask{side}")
    # all of these stay mounted, so that the link keeps them
    written = {}
    for shown_with, key in WRITTEN.items():
        with widgets.seen(f"{key}{side}", kind == shown_with):
            written[shown_with] = key, widgets.text(f"{key}{side}", help=WRITTEN_FORMS)
    with widgets.seen(f"p{side}", shown=False):
        widgets.text(f"p{side}")
    if kind == "painted" and not paints:
        st.caption("Painted cells are ignored on this page; only the rule applies.")
    if kind in written:
        return _usable_or_last(page, *written[kind], side)
    numbers = [widgets.whole(f"{key}{side}", label=label) for key, label in MASKS[kind].items()]
    return ":".join([kind, *map(str, numbers)])


def _usable_or_last(page: PicturePage, key: str, text: str, side: str) -> str:
    """The rule that was typed; while it cannot be read, the last one that could, and a sentence for the page."""
    last = f"last_{key}{side}"
    if not rules.usable(text):
        used = str(st.session_state.get(last, DEFAULTS[key]))
        _say(page, f"{NOT_A_RULE} Still using “{used}”. {WRITTEN_FORMS}", side)
        return used
    st.session_state[last] = rules.plain(text)
    return rules.plain(text)


def painted(page: PicturePage, side: str = "") -> str:
    """The painted cells that are switched on by `mask`, in their one spelling; "" for none."""
    text = str(st.session_state.get(f"p{side}", ""))
    if st.session_state.get(f"mask{side}") != "painted" or not text:
        return ""
    cells = mask_codec.usable(text, page.model.sizes.n_heads)
    if cells is None:
        _say(page, "The painted mask in this link is not valid; nothing is painted.", side)
    return cells or ""


def _say(page: PicturePage, sentence: str, side: str) -> None:
    """Of two masks the page says whose it is."""
    page.said.append(f"The mask of the right side: {sentence}" if side else sentence)


def position(page: PicturePage, side: str = "") -> str:
    """Positional encoding, as `Model.run` takes it."""
    chosen = widgets.choice(f"pos{side}", positions_of(page.model))
    if chosen != DEFAULTS["pos"]:
        st.caption(position_note(POSITIONS[chosen], page.model))
    return POSITIONS[chosen]


def positions_of(model: Model) -> list[str]:
    """The names of the encodings that a model can take: a learned table can be altered only where there is one."""
    table = isinstance(model.encoder.position, Learned)
    return [name for name, core in POSITIONS.items() if table or not is_altered(core)]


def temperature(side: str = "", why_not: str = "") -> float:
    """Softmax temperature; greyed with a reason where it would have no effect."""
    degrees = widgets.slider(f"t{side}", disabled=bool(why_not), help=why_not or None)
    if why_not:
        st.caption(why_not)
    return degrees


def sampling() -> None:
    """How the next token is chosen, and the word that is asked about: fields that only the link needs."""
    widgets.number("temp")
    widgets.whole("dice")
    widgets.text("word")


def heads_off(page: PicturePage, side: str = "", why_not: str = "") -> tuple[tuple[int, int], ...]:
    """Heads switched off in the model, as sorted (layer, head) pairs."""
    layers, heads = page.sizes
    names = [head_name(layer, head) for layer in range(layers) for head in range(heads)]
    chosen = widgets.several(f"off{side}", names, placeholder="all on", help=why_not or None)
    if why_not:
        st.caption(why_not)
    return tuple(sorted((int(layer), int(head)) for layer, head in (name[1:].split(" H") for name in chosen)))


def values_off(page: PicturePage, side: str = "") -> tuple[int, ...]:
    """Tokens whose value no other token takes in, sorted: a field that only the link needs."""
    with widgets.seen(f"unheard{side}", shown=False):
        places = parse_places(widgets.text(f"unheard{side}"))
    if places is None:
        page.said.append("The link’s tokens without a value (“unheard”) are not valid, as 0-4 is; every value counts.")
    return places or ()


def layer(page: PicturePage) -> None:
    """The layer in focus. It is the first number of `at`, so that every page looks at the same one."""
    at = page.at

    def choose() -> None:
        st.session_state["at"] = str(replace(at, layer=int(st.session_state["layer_of_at"] or at.layer)))

    st.session_state["layer_of_at"] = str(at.layer)
    numbers = [str(number) for number in range(page.sizes[0])]
    st.segmented_control("Layer", numbers, required=True, key="layer_of_at", on_change=choose)


def several_devices() -> bool:
    """Tells whether there is a choice."""
    return len(devices.available()) > 1


def device() -> str:
    """The device, out of those present; the best one is "auto", which falls back to the CPU when its memory is full."""
    present = devices.available()
    chosen = widgets.segments("dev", present, present[0])
    return "auto" if chosen == present[0] else chosen
