"""The frame of a page: a rail with the controls and a stage with the picture; on a phone the stage comes first."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from . import canvas

__all__ = ["house", "rail_and_stage"]


def rail_and_stage() -> tuple[DeltaGenerator, DeltaGenerator]:
    """The two places of a page."""
    with st.container(key="frame"):
        left, right = st.columns([1, 4], gap="medium")
    return left.container(key="rail"), right.container(key="stage")


def house(place: DeltaGenerator, *, large: bool) -> None:
    """Brand, theme switch and type size, at a place kept free for them: the control for the size comes after it."""
    with place:
        canvas.house(large=large)
