"""Controls that form pages share, each bound to its key in the link."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypedDict
from urllib.parse import urlencode

import streamlit as st

from headlight.link import rules
from headlight.link.cursor import ablated_parts, parts_by_name
from headlight.link.fields import DEFAULTS, FIELDS, MASKS
from headlight.link.limits import POSITIONS
from headlight.picture.link_query import NOT_A_RULE, to_param
from headlight.picture.query import RULE_KEYS, parse
from headlight.picture.settings import Settings
from headlight.picture.words import encodings
from headlight.registry import MINILM, get_source
from headlight.ui import events
from mha_core.errors import HeadlightError

from . import links, widgets
from .form import Form
from .view import Event, View

VIEW = View("model_controls", "model_controls", "picture/model_controls.js")
KEYS = ("s", "mask", "w", "first", "gap", "rule", "on", "pos", "t", "off")
MAX_SENT = 200_000  # characters of a text from the browser; the page cuts it to its bound, and says so


class ModelControls(TypedDict):
    """The sentence and the controls of the model in the message to the browser."""

    names: list[str]  # keys of the controls
    params: dict[str, str | list[str]]  # key -> its value
    defaults: dict[str, str | list[str]]
    positions: list[tuple[str, str]]  # encodings that the model supports, each with its effect
    ownMask: str  # expression of the mask that is built into the model
    fixed: Mapping[str, str]  # keys of controls without effect in this model -> why
    layers: int
    heads: int
    layer: int | None  # in focus, None where the page does not show it
    head: int | None


def model_controls(page: Form, *names: str, has_layer: bool = False, has_head: bool = False) -> Settings:
    """Show the sentence and some controls of the model, in the view of Maps, and return their settings.

    The controls that the link binds are hidden and take the values of the view.

    Args:
        page: the page.
        names: none, "mask", or all of "mask", "pos", "t" and "off".
        has_layer: whether the layer in focus can be chosen.
        has_head: whether layer and head can.
    """
    query, offered = page.query, encodings(page.model)
    options = {"pos": [name for name, _ in offered], "off": list(parts_by_name(*query.sizes))}
    changes: dict[str, Any] = {}
    with page.hidden:
        text = widgets.text("s", get_source(page.name).presets[0])
        if "mask" in names:
            changes["mask"] = mask(page)
        if "off" in names:
            changes |= {
                "position": POSITIONS[widgets.choice("pos", options["pos"])],
                "temperature": widgets.slider("t"),
                **ablated_parts(widgets.multiselect("off", options["off"]), *query.sizes),
                "painted": query.read("p") if st.session_state["mask"] == "painted" else "",
                "values_off": query.read("unheard"),
            }
    state = ModelControls(
        names=list(names),
        params={key: to_param(links.value(key)) for key in KEYS if key in st.session_state},
        defaults={key: to_param(query.default(key)) for key in KEYS},
        positions=offered,
        ownMask=page.model.own_mask,
        fixed=query.fixed,
        layers=query.sizes[0],
        heads=query.sizes[1],
        layer=page.cursor.layer if has_layer or has_head else None,
        head=page.cursor.head if has_head else None,
    )
    VIEW.show(state, partial(_on_event, page.name, options))
    return Settings(text, device=query.device, model=page.name, **changes)


def _on_event(model: str, options: Mapping[str, list[str]], event: Event) -> None:
    """Give the values of the view to the hidden controls, and its layer and head to the link."""
    params, places = event.get("params"), {name: events.integer(event, name) for name in ("layer", "head")}
    sent = params if isinstance(params, dict) else {}
    texts = {key: value for key in KEYS if isinstance(value := sent.get(key), (str, list))}
    values: dict[str, Any] = {key: events.text(texts, key, MAX_SENT) for key in texts if FIELDS[key].kind == "text"}
    with suppress(HeadlightError):
        others = {key: value for key, value in texts.items() if key not in values}
        parsed = parse(urlencode(others, doseq=True, errors="replace").encode()).values
        values |= {key: parsed.get(key, DEFAULTS[key]) for key in others}
    for key, value in values.items():
        names = {value} if isinstance(value, str) else {*value} if isinstance(value, list) else set()
        if value not in (None, links.value(key)) and (key not in options or names <= {*options[key]}):
            st.session_state[key] = value
    query = links.query(takes_model=model != MINILM)  # the link of now: another event may have changed it
    changed = replace(query.cursor, **{name: place for name, place in places.items() if place is not None})
    if changed != query.cursor:
        links.set_param("at", str(changed), query.default("at"))


def mask(page: Form) -> str:
    """Mount the controls of the mask and return it as an expression."""
    kind = widgets.segments("mask")
    # all fields stay mounted, so that the link keeps their values
    texts = {rule_kind: (key, widgets.text(key)) for rule_kind, key in RULE_KEYS.items()}
    if kind in texts:
        return _valid_or_last(page, *texts[kind])
    return ":".join([kind, *(str(widgets.integer(key, label=label)) for key, label in MASKS[kind].items())])


def _valid_or_last(page: Form, key: str, text: str) -> str:
    """Return the rule in its normal form; the last valid one, with a notice, if it is invalid."""
    last = f"last_{key}"
    if not rules.is_usable(text):
        rule = str(st.session_state.get(last, DEFAULTS[key]))
        page.notices.append(f"{NOT_A_RULE} Still using “{rule}”.")
        return rule
    st.session_state[last] = rules.normalize(text)
    return rules.normalize(text)
