"""Controls that form pages share, each bound to its key in the link."""

from dataclasses import replace

import streamlit as st

from headlight.link import rules
from headlight.link.cursor import heads_by_name
from headlight.link.fields import DEFAULTS, MASKS
from headlight.link.limits import POSITIONS
from headlight.picture.link_query import NOT_A_RULE, WRITTEN_FORMS
from headlight.picture.query import RULE_KEYS
from headlight.picture.settings import Settings
from headlight.picture.words import encodings, position_note
from headlight.registry import MINILM, get_source

from . import links, widgets
from .form import Form


def sentence(name: str = MINILM, start: str = "") -> str:
    """Show the sentence field of a model, updated while typing; `start` is the default text."""
    start, placeholder = start or get_source(name).presets[0], "Type a sentence"
    return widgets.text("s", start, live=True, label_visibility="collapsed", placeholder=placeholder)


def switches(page: Form) -> Settings:
    """Show the controls of mask, position, temperature and heads, and return the settings without their sentence."""
    rule, encoding, degrees, off = mask(page), position(page), widgets.slider("t"), heads_off(page)
    cells = page.query.read("p") if st.session_state.get("mask") == "painted" else ""
    unheard, device = page.query.read("unheard"), page.query.device
    return Settings("", rule, encoding, degrees, off, device, cells, page.name, unheard)


def mask(page: Form, *, has_painting: bool = True) -> str:
    """Show the controls of the mask and return it as an expression.

    With `has_painting` the page uses painted cells; otherwise a caption says that they are ignored.
    """
    kind = widgets.segments("mask")
    # all fields stay mounted, so that the link keeps their values
    rule_fields = {}
    for rule_kind, key in RULE_KEYS.items():
        with widgets.hidden_but_mounted(key, kind == rule_kind):
            rule_fields[rule_kind] = key, widgets.text(key, help=WRITTEN_FORMS)
    if kind == "painted" and not has_painting:
        st.caption("Painted cells are ignored on this page; only the mask’s rule applies.")
    if kind in rule_fields:
        return _valid_or_last(page, *rule_fields[kind])
    numbers = [widgets.integer(key, label=label) for key, label in MASKS[kind].items()]
    return ":".join([kind, *map(str, numbers)])


def _valid_or_last(page: Form, key: str, text: str) -> str:
    """Return the rule in its normal form; the last valid one, with a notice, if it is invalid."""
    last = f"last_{key}"
    if not rules.is_usable(text):
        rule = str(st.session_state.get(last, DEFAULTS[key]))
        page.notices.append(f"{NOT_A_RULE} Still using “{rule}”.")
        return rule
    st.session_state[last] = rules.normalize(text)
    return rules.normalize(text)


def position(page: Form) -> str:
    """Show the control of the positional encoding and return it as `Model.run` takes it."""
    name = widgets.choice("pos", [name for name, _ in encodings(page.model)])
    if name != DEFAULTS["pos"]:
        st.caption(position_note(POSITIONS[name], page.model))
    return POSITIONS[name]


def heads_off(page: Form) -> tuple[tuple[int, int], ...]:
    """Show the control of the ablated heads and return them as sorted (layer, head) pairs."""
    names = widgets.multiselect("off", list(heads_by_name(*page.query.sizes)), placeholder="all on")
    return tuple(sorted((int(layer), int(head)) for layer, head in (name[1:].split(" H") for name in names)))


def layer(page: Form) -> None:
    """Show the control of the layer in focus, which is part of the link's cursor."""
    cursor, default = page.cursor, page.query.default("at")

    def on_change() -> None:
        links.set_param("at", str(replace(cursor, layer=int(st.session_state["layer_of_at"] or cursor.layer))), default)

    st.session_state["layer_of_at"] = str(cursor.layer)
    numbers = [str(number) for number in range(page.query.sizes[0])]
    st.segmented_control("Layer", numbers, required=True, key="layer_of_at", on_change=on_change)
