"""About this picture: the link to it, and everything that is needed to get its numbers again."""

from __future__ import annotations

import streamlit as st

from pages.kit.picture import pictures, words
from pages.kit.picture.settings import Settings

from . import links


def show_link() -> None:
    """The link to what is shown, to copy."""
    query = links.query(links.too_long())
    address = (st.context.url or "").rstrip("/") or "/"
    st.code(f"{address}?{query}" if query else address, language=None, wrap_lines=True)


def show_about(*shown: Settings, sides: tuple[str, ...] = ("",)) -> None:
    """The link, then the model, versions, device and threads of what is shown; of two `sides` their names too."""
    show_link()
    for side, settings in zip(sides, shown, strict=True):
        facts = ({"side": side} if side else {}) | words.about(pictures.picture(settings))
        st.code("\n".join(f"{name}: {value}" for name, value in facts.items()), language=None, wrap_lines=True)
