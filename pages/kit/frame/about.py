"""About this picture: the link to it, and everything that is needed to get its numbers again."""

from __future__ import annotations

import streamlit as st

from mha_core import Model
from pages.kit.picture import pictures, words
from pages.kit.picture.pictures import Settings

from . import links

__all__ = ["show_about", "show_link"]


def show_link() -> None:
    """The link to what is shown, to copy."""
    query = links.query(links.too_long())
    address = (st.context.url or "").rstrip("/") or "/"
    st.code(f"{address}?{query}" if query else address, language=None, wrap_lines=True)


def show_about(model: Model, settings: Settings) -> None:
    """The link, the model, versions, device and threads."""
    show_link()
    facts = words.about(model, pictures.picture(settings))
    st.code("\n".join(f"{name}: {value}" for name, value in facts.items()), language=None, wrap_lines=True)
