"""What the browser still says of a control that code has set: a run that it began before it had heard of the new value.

Streamlit's browser says what all controls hold whenever it begins a run. What it says of one that a callback has just
set is older than the callback, and would undo it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

SECONDS = 2.0  # after the run that tells the browser, in which it may still say what it said before
_HELD = "held_against_echoes"
_PLAIN = (str, int, float, list)  # the values of controls that an event may set; bool is an int


@dataclass
class _Held:
    """A value that code has set.

    Attributes:
        older: what the control may have said before.
        is_new: no run has used it yet.
        told: when the first run with it came to its end; None before.
    """

    value: Any
    older: list[Any]
    is_new: bool
    told: float | None = None


def hold(key: str, value: Any, older: Any, *, is_new: bool = False) -> None:
    """Has a control keep the value that code has set, whatever older one the browser still says.

    Args:
        is_new: it is set before the run begins, in a callback.
    """
    before = _all().get(key)
    said = [older, *(before.older if before else ())]
    _all()[key] = _Held(value, [one for one in said if one != value], is_new)


def answer(*, is_new: bool = False) -> None:
    """Sets again what an echo has undone: a run, and the callback of an event, begins with this.

    Args:
        is_new: as in `hold`.
    """
    held, context = _all(), get_script_run_ctx()
    if context and context.is_history_navigation:  # the address says what holds
        held.clear()
    for key, one in list(held.items()):
        said = st.session_state.get(key)
        late = one.told is not None and time.monotonic() - one.told > SECONDS
        if not late and said in one.older:
            st.session_state[key], one.is_new = one.value, is_new
        elif not (one.is_new and said == one.value):  # the browser has heard of it, or the visitor has gone on
            del held[key]
        else:
            one.is_new = False


def told() -> None:
    """A run has come to its end."""
    for one in _all().values():
        one.told = one.told or time.monotonic()


def let_all_go() -> None:
    """Another page, whose link says what holds."""
    _all().clear()


def held() -> set[str]:
    """The controls whose older value the browser may still say."""
    return set(_all())


@contextmanager
def holding() -> Iterator[None]:
    """Holds what is set meanwhile."""
    answer(is_new=True)
    before = {key: value for key, value in st.session_state.to_dict().items() if isinstance(value, _PLAIN)}
    yield
    for key, value in st.session_state.to_dict().items():
        if key in before and value != before[key]:
            hold(str(key), value, before[key], is_new=True)


def _all() -> dict[str, _Held]:
    held: dict[str, _Held] = st.session_state.setdefault(_HELD, {})
    return held
