"""The channel to the browser's views: their state, and the events of form pages."""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

import streamlit as st

from headlight.ui import events
from headlight.ui.web import component_js

from . import sessions

Event = dict[str, Any]  # its values are unchecked, so read them with `events`


class Ack(TypedDict):
    """The session and the last acknowledged event of a view."""

    visit: str
    acknowledged: int


class View:
    """A view in the browser, mounted once on a page.

    Args:
        key: its name on the page and in the session state, which no control may have.
        component: its name as a component, without the prefix "headlight_".
        file: its module in assets/web.
    """

    def __init__(self, key: str, component: str, file: str) -> None:
        self.key = key
        self._view = st.components.v2.component(f"headlight_{component}", js=component_js(file))

    def mount(self) -> None:
        """Mount a view that owns its state."""
        self._view(key=self.key, data=[{"visit": sessions.session_id()}])

    def show(self, state: Mapping[str, object], on_event: Callable[[Event], None] | None = None) -> None:
        """Mount a view with this state.

        Args:
            state: fields of its message.
            on_event: called before the next run with an event. It is kept until then, so that it must not hold large
                data.
        """

        def on_change() -> None:
            message = st.session_state.get(self.key, {}).get("act")
            event = message if isinstance(message, dict) else {}
            begin_event()
            if on_event is not None:
                on_event(event)
            acknowledged()[self.key] = events.integer(event, "turn") or 0

        # in a list, as Streamlit searches a dictionary for tables, for which it imports pandas (68 MB)
        self._view(key=self.key, data=[{**ack(self.key), **state}], on_act_change=on_change)


def ack(key: str) -> Ack:
    """Return the acknowledgement for a view's next message."""
    return {"visit": sessions.session_id(), "acknowledged": acknowledged().get(key, 0)}


def begin_event() -> None:
    """Give the link what earlier events wrote into it, before the events of a message are handled."""
    from . import links  # imports the core, which pages of words do not need

    links.begin_event()


def acknowledged() -> dict[str, int]:
    """Return the number of the last handled event of each view, by key.

    It is a dictionary, because a newer message may interrupt a callback at any access to `st.session_state`; handling
    an event and acknowledging it must not be separated there.
    """
    turns: dict[str, int] = st.session_state.setdefault("acknowledged", {})
    return turns
