"""The frame of a page: the house and the controls in a rail, the picture on a stage beside it, below it on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mha_core.errors import HeadlightError, WeightsFileError
from pages.kit.draw import canvas

from . import links

__all__ = ["PAGES", "page", "seen"]

# each page's module and title; the first is the default. Only pages that exist are shown.
PAGES = {
    "explore": "Explore",
    "shapes": "Shapes",
    "masks": "Masks",
    "positions": "Positions",
    "compare": "Compare",
    "by_hand": "By hand",
    "implementations": "Implementations",
    "train": "Train",
}


def seen(parent: DeltaGenerator, name: str, shown: bool) -> DeltaGenerator:
    """A place that is only hidden: a control that moves to another one loses its part of the address."""
    return parent.container(key=f"{'seen' if shown else 'unseen'}_{name}")


@contextmanager
def page(**own_defaults: Any) -> Iterator[tuple[DeltaGenerator, DeltaGenerator]]:
    """The two places of a page, rail and stage. What cannot be shown becomes one sentence on the stage.

    The page links are made last: they carry what the controls of this run say.

    Args:
        own_defaults: of controls whose default is another one on this page.
    """
    links.remember(own_defaults)
    with st.container(key="frame"):
        left, right = st.columns([1, 4], gap="medium")
    house, rail, stage = left.container(key="house_and_pages"), left.container(key="rail"), right.container(key="stage")
    with house:
        canvas.house()
    try:
        yield rail, stage
    except WeightsFileError as error:
        stage.error(f"The model cannot be loaded: {error}.")
    except HeadlightError as error:
        stage.error(f"This cannot be shown: {error}.")
    with house:
        canvas.manners(large=bool(st.session_state.get("big")), unusable=st.session_state.get("unusable", ()))
        query = links.kept()
        with st.container(key="pages", horizontal=True, gap="xxsmall"):
            for name, title in PAGES.items():
                st.page_link(f"../../{name}/page.py", label=title, query_params=query)
