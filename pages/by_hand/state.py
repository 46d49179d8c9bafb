"""The state that By hand keeps between reruns: the latest matrices, and typed texts that are no numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from pages.frame import links, widgets

from . import workbook
from .workbook import InvalidCells, Workbook


@dataclass
class State:
    """The state of a session.

    Attributes:
        text: the edited matrices as in the link, which may lag behind quick clicks; None before the first run.
        invalid: as in `Workbook`; the link cannot hold it.
    """

    text: str | None = None
    invalid: Mapping[str, InvalidCells] = field(default_factory=dict)

    @classmethod
    def current(cls) -> State:
        """Return the state of the current session."""
        state: State = st.session_state.setdefault("by_hand", cls())
        return state

    def mount(self) -> None:
        """Mount the control that holds the matrices in the link."""
        if self.text is not None and "m" in st.session_state:
            st.session_state["m"] = self.text
        self.text = widgets.text("m")

    def mount_words(self) -> None:
        """Draw the text boxes of the second example; its matrices follow their words."""
        texts: dict[str, Any] = {}

        def reword() -> None:
            book = self.book(**texts)[0]
            self.write(workbook.with_words(book, *workbook.parse_words(links.value)))

        for column, key in zip(st.columns(2), ("qw", "kw"), strict=True):
            with column:
                widgets.text(key, on_change=reword)
            texts[key] = links.value(key)

    def book(self, **texts: Any) -> tuple[Workbook, bool]:
        """Return the workbook, with other texts if given, and whether the link's matrices were valid."""
        values = {"m": self.text or "", **texts}
        return workbook.from_link(lambda key: values[key] if key in values else links.value(key), self.invalid)

    def write(self, book: Workbook) -> None:
        """Write the matrices to the link."""
        st.session_state["m"] = self.text = workbook.to_link(book)
        self.invalid = book.invalid

    def apply(self, event: Mapping[str, Any]) -> None:
        """Apply an event of the blocks to the workbook."""
        if isinstance(divide := event.get("divide"), bool):
            st.session_state["sqrt"] = divide
            return
        self.write(workbook.apply_event(self.book()[0], event))
