"""A page that one view of the browser owns: its script mounts that, and knows nothing of what is shown."""

from collections.abc import Callable

import streamlit as st

from mha_core import device as devices
from pages.frame.view import View

from . import layout, visitor


def show(package: str, view: View, draw: Callable[[View], None] = View.mount) -> None:
    """The frame and the view.

    Args:
        draw: the view, with what the script has to say to it.
    """
    with st.container(key="frame"), st.container(key="stage"):
        layout.house(package, visitor.offered(), devices.available())
        draw(view)
