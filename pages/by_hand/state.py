"""What By hand keeps from one run to the next: the matrices as last answered, and the texts that are no numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from pages.kit.frame import links, widgets
from pages.kit.picture.fields import DEFAULTS
from pages.kit.picture.limits import LONGEST_TEXT, MOST_WORDS

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
        """The one of this visit."""
        state: State = st.session_state.setdefault("by_hand", cls())
        return state

    def mount(self) -> None:
        """The matrices' text in the link."""
        if self.text is not None and "m" in st.session_state:
            st.session_state["m"] = self.text
        self.text = widgets.text("m")

    def mount_words(self) -> None:
        """The words of the second example; the matrices follow them."""
        words: tuple[list[str], list[str]] = [], []

        def reword() -> None:
            nonlocal words
            before, words = self.book(*words)[0], self.words()
            self.write(workbook.reworded(before, *words))

        for column, key in zip(st.columns(2), ("qw", "kw"), strict=True):
            with column:
                widgets.text(key, on_change=reword)
        words = self.words()

    @staticmethod
    def words() -> tuple[list[str], list[str]]:
        """The first words of both sentences, those as given in place of too long a one."""
        texts = {key: str(links.value(key)) for key in ("qw", "kw")}
        queries, keys = (text if len(text) <= LONGEST_TEXT else DEFAULTS[key] for key, text in texts.items())
        return queries.split()[:MOST_WORDS], keys.split()[:MOST_WORDS]

    def book(self, queries: list[str], keys: list[str]) -> tuple[Workbook, bool]:
        """Matrices and switches as they are now, and whether those of the link could be used."""
        matrices = workbook.from_link(self.text or "", queries, keys)
        divide, products = bool(links.value("sqrt")), links.value("src") != DEFAULTS["src"]
        known = workbook.defaults(queries, keys) if matrices is None else matrices
        return Workbook(known, self.wrong, queries, keys, divide, products), matrices is not None

    def write(self, book: Workbook) -> None:
        """Puts the matrices into the link."""
        st.session_state["m"] = self.text = workbook.to_link(book)
        self.wrong = book.wrong

    def take(self, event: Mapping[str, Any]) -> None:
        """What the visitor did in the sheet."""
        if isinstance(divide := event.get("divide"), bool):
            st.session_state["sqrt"] = divide
            return
        self.write(workbook.changed(self.book(*self.words())[0], event))
