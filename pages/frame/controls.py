"""The controls that form pages share, each bound to the link under its key."""

from dataclasses import replace

import streamlit as st

from headlight.link import rules
from headlight.link.fields import DEFAULTS, MASKS
from headlight.link.limits import POSITIONS
from headlight.link.place import named_heads
from headlight.picture.link_query import NOT_A_RULE, WRITTEN_FORMS
from headlight.picture.query import WRITTEN
from headlight.picture.settings import Settings
from headlight.picture.words import encodings, position_note
from headlight.registry import MINILM, source_of

from . import links, widgets
from .form import Form


def sentence(name: str = MINILM, start: str = "") -> str:
    """The sentence box of a model, live: the page follows the typing. `start`: what stands there at first."""
    start, placeholder = start or source_of(name).presets[0], "Type a sentence"
    return widgets.text("s", start, live=True, label_visibility="collapsed", placeholder=placeholder)


def switches(page: Form) -> Settings:
    """Mask, position, temperature and heads: the settings but for their sentence."""
    rule, encoding, degrees, off = mask(page), position(page), widgets.slider("t"), heads_off(page)
    cells = page.query.read("p") if st.session_state.get("mask") == "painted" else ""
    unheard, device = page.query.read("unheard"), page.query.device
    return Settings("", rule, encoding, degrees, off, device, cells, page.name, unheard)


def mask(page: Form, *, paints: bool = True) -> str:
    """Mask, in written form; each kind brings the numbers or the rule that it needs.

    `paints`: the page uses painted cells; otherwise it is said that they are left out.
    """
    kind = widgets.segments("mask")
    # all of these stay mounted, so that the link keeps them
    written = {}
    for shown_with, key in WRITTEN.items():
        with widgets.hidden_but_mounted(key, kind == shown_with):
            written[shown_with] = key, widgets.text(key, help=WRITTEN_FORMS)
    if kind == "painted" and not paints:
        st.caption("Painted cells are ignored on this page; only the mask’s rule applies.")
    if kind in written:
        return _usable_or_last(page, *written[kind])
    numbers = [widgets.whole(key, label=label) for key, label in MASKS[kind].items()]
    return ":".join([kind, *map(str, numbers)])


def _usable_or_last(page: Form, key: str, text: str) -> str:
    """The rule that was typed; while it cannot be read, the last one that could, and a sentence for the page."""
    last = f"last_{key}"
    if not rules.usable(text):
        used = str(st.session_state.get(last, DEFAULTS[key]))
        page.said.append(f"{NOT_A_RULE} Still using “{used}”.")
        return used
    st.session_state[last] = rules.plain(text)
    return rules.plain(text)


def position(page: Form) -> str:
    """Positional encoding, as `Model.run` takes it."""
    chosen = widgets.choice("pos", [name for name, _ in encodings(page.model)])
    if chosen != DEFAULTS["pos"]:
        st.caption(position_note(POSITIONS[chosen], page.model))
    return POSITIONS[chosen]


def heads_off(page: Form) -> tuple[tuple[int, int], ...]:
    """Heads switched off in the model, as sorted (layer, head) pairs."""
    chosen = widgets.several("off", list(named_heads(*page.query.sizes)), placeholder="all on")
    return tuple(sorted((int(layer), int(head)) for layer, head in (name[1:].split(" H") for name in chosen)))


def layer(page: Form) -> None:
    """The layer in focus. It is the first number of `at`, so that every page looks at the same one."""
    at, first = page.at, page.query.default("at")

    def choose() -> None:
        links.put("at", str(replace(at, layer=int(st.session_state["layer_of_at"] or at.layer))), first)

    st.session_state["layer_of_at"] = str(at.layer)
    numbers = [str(number) for number in range(page.query.sizes[0])]
    st.segmented_control("Layer", numbers, required=True, key="layer_of_at", on_change=choose)
