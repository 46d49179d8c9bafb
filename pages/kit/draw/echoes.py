"""What the browser still says of a control that code has set: a run that it began before it had heard of the new value.

Streamlit's browser says what all controls hold whenever it begins a run. What it says of one that a callback has just
set is older than the callback, and would undo it. Values that code sets are numbered, and a field that nobody sees has
the number of the last one, so the browser says with everything else how much it has heard: what a control says that
has been heard of is the visitor's, at once or much later.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

HEARD = "heard_of_values"  # key of the field
MOST = 20  # values of one control that are told apart, of a browser that hears of none
_SET = "values_set_by_code"
_PLAIN = (str, int, float, list)  # the values of controls that an event may set; bool is an int


@dataclass
class _Values:
    """What code has set in one visit.

    Attributes:
        last: the number of the last value.
        of: control -> its values by their numbers, in order; first the one before code set any, or the last one heard.
    """

    last: int = 0
    of: dict[str, dict[int, Any]] = field(default_factory=dict)


def hold(key: str, value: Any, older: Any) -> None:
    """Has a control keep the value that code has set, whatever older one the browser still says."""
    values = _values()
    values.last += 1
    own = values.of.setdefault(key, {0: older})
    own[values.last] = value
    if len(own) > MOST:
        del own[next(iter(own))]


def answer() -> None:
    """Sets again what an echo has undone: a run, and the callback of an event, begins with this."""
    values, context = _values(), get_script_run_ctx()
    if context and context.is_history_navigation:  # the address says what holds
        values.of.clear()
    heard = _heard()
    for key, own in list(values.of.items()):
        before = max((number for number in own if number <= heard), default=0)
        still = [value for number, value in own.items() if number >= before]  # what it may say by itself
        said = st.session_state.get(key)
        if len(still) == 1 or said not in still:  # it has heard of the last one, or the visitor has gone on
            del values.of[key]
        elif said != still[-1]:
            st.session_state[key] = still[-1]


def tell() -> None:
    """Tells the browser how many values were set: a run, once all its controls are made, ends with this."""
    number = str(_values().last)
    if st.session_state.get(HEARD) != number:
        st.session_state[HEARD] = number
    st.text_input("Number of the last value set by code", key=HEARD)


def let_all_go() -> None:
    """Another page, whose link says what holds."""
    _values().of.clear()


def held() -> set[str]:
    """The controls whose older value the browser may still say."""
    return set(_values().of)


@contextmanager
def holding() -> Iterator[None]:
    """Holds what is set meanwhile."""
    answer()
    before = {key: value for key, value in st.session_state.to_dict().items() if isinstance(value, _PLAIN)}
    yield
    for key, value in st.session_state.to_dict().items():
        if key in before and value != before[key]:
            hold(str(key), value, before[key])


def _heard() -> int:
    """The number of the last value that the browser had heard of when it said what it now says."""
    said = st.session_state.get(HEARD)
    return int(said) if isinstance(said, str) and said.isdecimal() and len(said) < 10 else 0


def _values() -> _Values:
    values: _Values = st.session_state.setdefault(_SET, _Values())
    return values
