"""What a page begins with by itself, in place of a default: its own link says it, other pages do not begin with it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.kit.picture.fields import DEFAULTS

_LENT, _RETURNED = "lent_to_page", "returned_by_page"
_ECHO = 2.0  # seconds after the page's first run in which the browser may still say what its controls said before


@dataclass
class _Returned:
    """What was taken back, {key: what had been lent}, and since when the browser knows; None = it has not been told."""

    values: dict[str, Any] = field(default_factory=dict)
    told: float | None = None


def lend(values: Mapping[str, Any]) -> None:
    """Has the next page begin with the defaults of these keys, if they say these values when this one is left.

    A page calls it in each run in which these values are still its own and not the visitor's.
    """
    st.session_state[_LENT] = dict(values)


def take_back() -> dict[str, Any]:
    """Sets what the page that was left had only lent to its default, and returns that: {key: default}.

    After Back the address says what holds, also where the browser still says otherwise.
    """
    lent: dict[str, Any] = st.session_state.pop(_LENT, {})
    st.session_state.pop(_RETURNED, None)
    context = get_script_run_ctx()
    if context is None:
        return {}
    if context.is_history_navigation:
        st.session_state[_RETURNED] = _Returned({key: lent[key] for key in lent if key not in st.query_params})
        return {}
    keys = [key for key, value in lent.items() if st.session_state.get(key) == value]
    st.session_state[_RETURNED] = _Returned({key: lent[key] for key in keys})
    with context.session_state.query_params() as link:
        for key in keys:
            st.session_state[key] = DEFAULTS[key]
            link.discard_param_no_forward_msg(key)
        link.set_initial_query_params_from_current()  # controls take their first value from there
    return {key: DEFAULTS[key] for key in keys}


def hold() -> None:
    """Keeps what was taken back at its default, in the runs of a page that the browser began before it had heard of it.

    It has heard of it once it says anything else than what had been lent.
    """
    values = _returned().values
    for key, value in list(values.items()):
        if st.session_state.get(key) == value:
            st.session_state[key] = DEFAULTS[key]
        else:
            del values[key]


def returned() -> tuple[str, ...]:
    """The keys that were taken back not long ago: the address may still say them."""
    return tuple(_returned().values)


def told() -> None:
    """A run has come to its end."""
    now, returned = time.monotonic(), _returned()
    if returned.told is None:
        returned.told = now
    elif now - returned.told > _ECHO:
        returned.values.clear()


def chosen(key: str) -> None:
    """The visitor has chosen a value of this key, be it the one that was taken back."""
    _returned().values.pop(key, None)


def _returned() -> _Returned:
    returned: _Returned = st.session_state.setdefault(_RETURNED, _Returned())
    return returned
