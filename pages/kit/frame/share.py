"""Of Share: how what is shown was computed, and the tutorial."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.kit.picture import pictures, words
from pages.kit.picture.settings import Settings

from . import take_code

TUTORIAL = Path(__file__).parents[3] / "docs" / "tutorial.ipynb"


def offer_tutorial(key: str) -> None:
    """A button for the tutorial, a notebook that runs wherever `mha_core` can be imported."""
    st.download_button(
        "The tutorial as a notebook, .ipynb",
        TUTORIAL.read_bytes,
        TUTORIAL.name,
        "application/x-ipynb+json",
        key=key,
        on_click="ignore",
    )


def show_about(*shown: Settings, sides: tuple[str, ...] = ("",)) -> None:
    """The model, versions, device and threads of what is shown, and its code; of two `sides` their names too."""
    with st.expander("How was this computed?"):
        for side, settings in zip(sides, shown, strict=True):
            facts = ({"side": side} if side else {}) | words.about(pictures.picture(settings))
            st.code("\n".join(f"{name}: {value}" for name, value in facts.items()), language=None, wrap_lines=True)
    take_code.show_code(*shown, sides=tuple(side or "run" for side in sides))
