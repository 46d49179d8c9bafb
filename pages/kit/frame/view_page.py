"""A page that one view of the browser owns: its script mounts that, and knows nothing of what is shown."""

from __future__ import annotations

import streamlit as st

from pages.kit.draw import canvas, pages
from pages.kit.draw.view import View


def show(package: str, view: View) -> None:
    """Draws the frame and the view.

    Args:
        package: the name of the page's own.
    """
    with st.container(key="frame"), st.container(key="stage"):
        canvas.house(pages.path(package))
        view.mount()
