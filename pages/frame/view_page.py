"""The frame of a page that a single view of the browser owns."""

from collections.abc import Callable

import streamlit as st

from mha_core import device as devices
from pages.frame.view import View

from . import layout, user


def show(package: str, view: View, draw: Callable[[View], None] = View.mount) -> None:
    """Show the frame of a page and the view, which `draw` mounts."""
    with st.container(key="frame"), st.container(key="stage"):
        layout.header(package, user.available_models(), devices.available())
        draw(view)
