"""What the right side begins with when the visitor comes from another page: the left with one thing changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from mha_core import Model
from pages.kit.frame import links
from pages.kit.picture.fields import DEFAULTS

from .tries import in_link

SIDE = ("mask", "w", "first", "gap", "rule", "on", "p", "pos", "t", "off", "unheard")  # keys of the controls of a side
LONGEST_TWICE = 1000  # characters of a painting that a link can hold for both sides
_RECORD = "right_side"
Values = dict[str, Any]  # key of a control of a side, as of the left one -> what it says


@dataclass(frozen=True)
class Record:
    """What the controls of both sides said when the page was last made, and what the right ones began with."""

    left: Values
    right: Values
    begun: Values


def begin(model: Model) -> None:
    """Sets the controls of the right side, before they are made and after those of the left.

    Only for a visitor who comes from another page, where the left was changed since, and who has not chosen anything
    of the right side: neither here, nor by a link, whose keys keep their meaning.
    """
    if not links.comes_from_another():
        return
    defaults = _of("2", DEFAULTS)
    record: Record = st.session_state.get(_RECORD) or Record({}, defaults, defaults)
    asked = {key: st.query_params.get_all(key) for key in _keys("2") if key in st.query_params}
    left = _of("", st.session_state)
    chosen = record.right != record.begun or asked not in ({}, _in_address(record.right))
    if chosen or left == record.left:
        return
    right = one_change(left, model)
    _begin_with(right)
    st.session_state[_RECORD] = Record(left, right, right)


def keep() -> None:
    """Notes what the controls say, once they are made."""
    record: Record | None = st.session_state.get(_RECORD)
    begun = record.begun if record else _of("2", DEFAULTS)
    st.session_state[_RECORD] = Record(_of("", st.session_state), _of("2", st.session_state), begun)


def one_change(left: Values, model: Model) -> Values:
    """The same values but for one: positions, or where the model has none, or the link cannot hold it all, the mask."""
    right = left if left["mask"] == "painted" else left | {"p": ""}
    no_positions = model.sizes.position == "none" and left["pos"] in ("as trained", "none")
    if not no_positions and len(right["p"]) <= LONGEST_TWICE:
        return right | {"pos": "none" if left["pos"] == "as trained" else "as trained"}
    other = "window" if model.own_mask == "causal" else "causal"
    return right | {"mask": other if left["mask"] == "none" else "none", "p": "", "on": DEFAULTS["on"]}


def _begin_with(values: Values) -> None:
    """Sets the controls of the right side as if the address had said so, and the address."""
    written = _in_address(values)
    context = get_script_run_ctx()
    if context is None:
        return
    # not st.query_params[key] = …: a control would still take its first value from what the browser sent
    with context.session_state.query_params() as link:
        for key in _keys("2"):
            if key in written:
                link.set_corrected_value(key, written[key], "string_array_value")
            else:
                link.remove_param(key)
        link.set_initial_query_params_from_current()
    for key, value in values.items():
        st.session_state[f"{key}2"] = value


def _keys(side: str) -> list[str]:
    return [f"{key}{side}" for key in SIDE]


def _of(side: str, values: Any) -> Values:
    """What the controls of a side say, by the names of the left ones; the numbers of other masks are not there."""
    return {key: values.get(f"{key}{side}", DEFAULTS[f"{key}{side}"]) for key in SIDE}


def _in_address(values: Values) -> dict[str, list[str]]:
    """What a link says of the right side, without defaults."""
    changed = {f"{key}2": value for key, value in values.items() if value != DEFAULTS[f"{key}2"]}
    return {key: _listed(text) for key, text in in_link(changed).items()}


def _listed(text: str | Iterable[str]) -> list[str]:
    return [text] if isinstance(text, str) else list(text)
