"""The frame of a page that a single view of the browser owns."""

from collections.abc import Callable

import streamlit as st

from mha_core import device as devices
from pages.frame.view import View

from . import layout, user


def show(package: str, view: View, draw: Callable[[View], None] = View.mount) -> None:
    """Show the frame and the view.

    Args:
        package: name of the page.
        view: the view.
        draw: mounts the view, if it needs more than `View.mount`.
    """
    with st.container(key="frame"), st.container(key="stage"):
        layout.header(package, user.available_models(), devices.available())
        draw(view)
