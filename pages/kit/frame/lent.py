"""What a page begins with by itself, in place of a default: its own link says it, other pages do not begin with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.kit.draw import echoes
from pages.kit.picture.fields import DEFAULTS

_LENT, _RETURNED = "lent_to_page", "returned_by_page"


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
    context = get_script_run_ctx()
    is_back = context is not None and context.is_history_navigation
    if is_back:
        keys = [key for key in lent if key not in st.query_params]
    else:
        keys = [key for key, value in lent.items() if st.session_state.get(key) == value]
    st.session_state[_RETURNED] = keys
    echoes.let_all_go()
    for key in keys:
        echoes.hold(key, DEFAULTS[key], lent[key])
    if context is None or is_back:
        return {}
    with context.session_state.query_params() as link:
        for key in keys:
            st.session_state[key] = DEFAULTS[key]
            link.discard_param_no_forward_msg(key)
        link.set_initial_query_params_from_current()  # controls take their first value from there
    return {key: DEFAULTS[key] for key in keys}


def returned() -> tuple[str, ...]:
    """The keys that were taken back not long ago: the address may still say them."""
    held = echoes.held()
    return tuple(key for key in st.session_state.get(_RETURNED, ()) if key in held)
