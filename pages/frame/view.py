"""The channel to the views that the browser draws: messages to them, and from those of form pages events."""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

import streamlit as st

from headlight.ui import events
from headlight.ui.web import component_js

from . import visits

Event = dict[str, Any]  # what a visitor did; its values are unchecked, so `events` reads them


class Ack(TypedDict):
    """The session that counts the turns, and the last turn of a view that its server has heard."""

    visit: str
    heard: int


class View:
    """A view of the browser, mounted once on a page.

    Args:
        key: its name on the page and in the session; no control may have it.
        component: its name as a component, after "headlight_".
        file: the module in assets/web that draws it.
    """

    def __init__(self, key: str, component: str, file: str) -> None:
        self.key = key
        self._view = st.components.v2.component(f"headlight_{component}", js=component_js(file))

    def mount(self) -> None:
        """Draws a view that owns what is shown."""
        self._view(key=self.key, data=[{"visit": visits.session_id()}])

    def show(self, state: Mapping[str, object], takes: Callable[[Event], None] | None = None) -> None:
        """Draws a view that the script tells what is shown.

        Args:
            takes: called before the next run with what the visitor did. It lives until then: let it hold nothing large.
        """

        def hear() -> None:
            told = st.session_state.get(self.key, {}).get("act")
            event = told if isinstance(told, dict) else {}
            if takes is not None:
                takes(event)
            acknowledged()[self.key] = events.whole(event, "turn") or 0

        # in a list: in a dictionary Streamlit looks for tables, for which it imports pandas (68 MB)
        self._view(key=self.key, data=[{**turns(self.key), **state}], on_act_change=hear)


def turns(key: str) -> Ack:
    return {"visit": visits.session_id(), "heard": acknowledged().get(key, 0)}


def acknowledged() -> dict[str, int]:
    """The last turn of each view, by key, that the server has heard.

    A dictionary, because a newer message may end a callback wherever it asks `st.session_state` for something: what an
    event does and that it was heard must not come apart there.
    """
    turns: dict[str, int] = st.session_state.setdefault("heard", {})
    return turns
