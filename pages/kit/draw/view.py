"""The channel to the views that the browser draws: messages to them, events from them, turns counted on both sides."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from . import events
from .web import one_line

Event = dict[str, Any]  # what a visitor did; its values are unchecked, so `events` reads them
Message = bytes | dict[str, Any]


class View:
    """A view of the browser, mounted once on a page.

    Args:
        key: its name on the page and in the session; no control may have it.
        component: its name as a component, after "headlight_".
        file, export: the module in assets/web that draws it, and what of the module.
        carrier: name as a component, and export of the same module, of a second element: it has no picture and hands
            its messages to the view, so that of a large and a small message only the changed one is sent.
    """

    def __init__(
        self, key: str, component: str, file: str, export: str = "default", carrier: tuple[str, str] | None = None
    ) -> None:
        self.key = key
        self._view = st.components.v2.component(f"headlight_{component}", js=one_line(file, export))
        self._name, own = carrier or ("", "")
        self._carrier = st.components.v2.component(f"headlight_{self._name}", js=one_line(file, own)) if own else None

    def turns(self) -> dict[str, Any]:
        """The fields of its state that say which events the server has heard."""
        return turns(self.key)

    def show(self, message: Message, takes: Callable[[Event], None], *carried: bytes) -> None:
        """Draws the view and its carriers; the message that holds the `turns` goes last, after what it belongs to.

        Args:
            message: bytes, or the state itself when the rest is carried.
            takes: called before the next run with what the visitor did. It lives until then: let it hold nothing large.
            carried: the carriers' messages.
        """

        def hear() -> None:
            told = st.session_state.get(self.key, {}).get("act")
            event = told if isinstance(told, dict) else {}
            takes(event)
            heard()[self.key] = events.whole(event, "turn") or 0

        if isinstance(message, dict):
            self._carry(carried)
        self._view(key=self.key, data=message, on_act_change=hear)
        if not isinstance(message, dict):
            self._carry(carried)

    def _carry(self, messages: Sequence[bytes]) -> None:
        if self._carrier is not None:
            with st.container(key=f"{self._name}_carrier"):
                for number, packed in enumerate(messages):
                    self._carrier(key=f"{self._name}{number}", data=packed)


def turns(key: str) -> dict[str, Any]:
    """The session, which counts its turns anew, and the last turn of that view which the server has heard."""
    visit = st.session_state.setdefault("visit", secrets.token_hex(4))
    return {"visit": visit, "heard": heard().get(key, 0)}


def heard() -> dict[str, int]:
    """The last turn of each view, by key, that the server has heard.

    A dictionary, because a newer message may end a callback wherever it asks `st.session_state` for something: what an
    event does and that it was heard must not come apart there.
    """
    turns: dict[str, int] = st.session_state.setdefault("heard", {})
    return turns
