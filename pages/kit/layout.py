"""The frame of a page: the house and the controls in a rail, the picture on a stage beside it, below it on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mha_core.errors import HeadlightError, WeightsFileError

from . import canvas, links

__all__ = ["PAGES", "page"]

# each page's module and title; the first is the default. Only pages that exist are shown.
PAGES = {"explore": "Explore", "shapes": "Shapes", "by_hand": "By hand", "implementations": "Implementations"}


@contextmanager
def page() -> Iterator[tuple[DeltaGenerator, DeltaGenerator]]:
    """The two places of a page, rail and stage. What cannot be shown becomes one sentence on the stage.

    The house is drawn last: the links to the other pages carry what the controls of this run say.
    """
    links.remember()
    with st.container(key="frame"):
        left, right = st.columns([1, 4], gap="medium")
    house, rail, stage = left.container(key="house_and_pages"), left.container(key="rail"), right.container(key="stage")
    try:
        yield rail, stage
    except WeightsFileError as error:
        stage.error(f"The model cannot be loaded: {error}.")
    except HeadlightError as error:
        stage.error(f"This cannot be shown: {error}.")
    with house:
        canvas.house(large=bool(st.session_state.get("big")))
        query = links.kept()
        with st.container(key="pages", horizontal=True, gap="xxsmall"):
            for name, title in PAGES.items():
                st.page_link(f"../{name}.py", label=title, query_params=query)
