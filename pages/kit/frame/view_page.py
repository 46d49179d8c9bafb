"""A page that one view of the browser owns: its script mounts that, and knows nothing of what is shown."""

import streamlit as st

from mha_core import device as devices
from pages.kit.draw.view import View

from . import layout, own_models


def show(package: str, view: View) -> None:
    with st.container(key="frame"), st.container(key="stage"):
        layout.house(package, own_models.offered(), devices.available())
        view.mount()
