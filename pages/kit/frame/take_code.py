"""Share: what is seen as Python, to copy, and as a notebook."""

from __future__ import annotations

import streamlit as st

from pages.kit.picture import models, pictures
from pages.kit.picture.notebook import notebook
from pages.kit.picture.place import At, parse_at
from pages.kit.picture.settings import Settings
from pages.kit.picture.snippet import snippet

from . import links, widgets


def show_code(*shown: Settings, sides: tuple[str, ...] = ("run",)) -> None:
    """The code of these pictures, and a button for it as a notebook; nothing is written while it is folded.

    `sides`: the name of the variable that each has in the code.
    """
    by_name = dict(zip(sides, shown, strict=True))
    at = _looked_at(shown[0])
    with widgets.folded("code", "The code of this picture, in Python", lazy=True) as fold:
        if not fold.open:
            return
        st.code(snippet(by_name, at), language="python", wrap_lines=True)
        st.download_button(
            "The same as a notebook, .ipynb",
            lambda: notebook(by_name, at),
            "headlight.ipynb",
            "application/x-ipynb+json",
            on_click="ignore",
        )


def _looked_at(settings: Settings) -> At:
    """The place that the link names, in a model of these sizes; otherwise where one looks first."""
    sizes = pictures.model_of(settings).sizes
    named = parse_at(str(links.value("at")), sizes.n_layers, sizes.n_heads)
    return named or At.of(models.first_at(settings.model))
