"""What By hand keeps from one run to the next: the matrices as last answered, and the texts that are no numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from pages.frame import links, widgets

from . import workbook
from .workbook import Workbook, Wrong


@dataclass
class State:
    """The state of a visit.

    Attributes:
        text: the edited matrices as the link writes them, None while nobody has answered for them. What the browser
            sends with a quick click may be older.
        wrong: as in `Workbook`; it cannot stand in a link.
    """

    text: str | None = None
    wrong: Mapping[str, Wrong] = field(default_factory=dict)

    @classmethod
    def of_visit(cls) -> State:
        state: State = st.session_state.setdefault("by_hand", cls())
        return state

    def mount(self) -> None:
        """The matrices' text in the link."""
        if self.text is not None and "m" in st.session_state:
            st.session_state["m"] = self.text
        self.text = widgets.text("m")

    def mount_words(self) -> None:
        """The words of the second example; the matrices follow them."""
        texts: dict[str, Any] = {}

        def reword() -> None:
            before = self.book(**texts)[0]
            self.write(workbook.reworded(before, *workbook.words_of(links.value)))

        for column, key in zip(st.columns(2), ("qw", "kw"), strict=True):
            with column:
                widgets.text(key, on_change=reword)
            texts[key] = links.value(key)

    def book(self, **texts: Any) -> tuple[Workbook, bool]:
        """Matrices and switches as they are now, or with other texts; whether those of the link could be used."""
        own = {"m": self.text or "", **texts}
        return workbook.of_link(lambda key: own[key] if key in own else links.value(key), self.wrong)

    def write(self, book: Workbook) -> None:
        """Puts the matrices into the link."""
        st.session_state["m"] = self.text = workbook.to_link(book)
        self.wrong = book.wrong

    def take(self, event: Mapping[str, Any]) -> None:
        if isinstance(divide := event.get("divide"), bool):
            st.session_state["sqrt"] = divide
            return
        self.write(workbook.changed(self.book()[0], event))
