"""The frame of a page: a rail with the controls and a stage with the picture; on a phone the stage comes first."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from . import canvas

__all__ = ["rail_and_stage"]


def rail_and_stage() -> tuple[DeltaGenerator, DeltaGenerator]:
    """The two places of a page, with brand and theme switch on top of the rail."""
    with st.container(key="frame"):
        left, right = st.columns([1, 4], gap="medium")
    rail = left.container(key="rail")
    with rail:
        canvas.house(large=bool(st.session_state.get("big", False)))
    return rail, right.container(key="stage")
