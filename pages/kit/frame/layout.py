"""The frame of a page: the house and the controls in a rail, the picture on a stage beside it, below it on a phone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mha_core.errors import HeadlightError, WeightsFileError
from pages.kit.draw import canvas

from . import links, widgets

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


@dataclass
class Page:
    """The places of a page, and what it has to say.

    Attributes:
        rail: of the controls.
        stage: of the picture.
        hidden: of texts that the views write into the link; the fields are mounted and not shown.
        about: of how to get the same again.
        said: sentences of the controls, for the visitor.
        unusable: keys of the link's texts that could not be used, once `answer_link` has found them.
    """

    rail: DeltaGenerator
    stage: DeltaGenerator
    hidden: DeltaGenerator
    about: DeltaGenerator
    said: list[str] = field(default_factory=list)
    unusable: tuple[str, ...] = ()

    def answer_link(self, *, resets: bool = False, **usable: bool) -> list[str]:
        """What must be said of the link once every control has been made.

        Args:
            resets: as in `links.notices`.
            usable: for the controls of this page that are texts, whether the link's could be used.
        """
        sentences, self.unusable = links.notices(usable, resets=resets)
        return sentences


P = TypeVar("P", bound=Page)


def page(about: str) -> AbstractContextManager[Page]:
    """The frame of a page without a picture; `about` names its panel."""
    return framed(Page, {}, about)


@contextmanager
def framed(kind: type[P], own_defaults: Mapping[str, Any], about: str, **fields: Any) -> Iterator[P]:
    """A page of this kind in its frame. What cannot be shown becomes one sentence on the stage.

    The page links are made last: they carry what the controls of this run say.

    Args:
        own_defaults: of controls whose default is another one on this page.
        about: the name of its panel.
        fields: what the page has beside its places.
    """
    links.remember(own_defaults)
    with st.container(key="frame"):
        left, right = st.columns([1, 4], gap="medium")
    house, rail, stage = left.container(key="house_and_pages"), left.container(key="rail"), right.container(key="stage")
    with house:
        canvas.house()
    controls = rail.container(key="controls")
    with rail:
        large = widgets.switch("big")  # large type, for projectors
        panel = st.popover(about, width="stretch")
    hidden, said = stage.container(key="link_texts"), st.session_state.pop("said_by_callbacks", [])
    made = kind(controls, stage, hidden, panel, said, **fields)
    try:
        yield made
    except WeightsFileError as error:
        stage.error(f"The model cannot be loaded: {error}.")
    except HeadlightError as error:
        stage.error(f"This cannot be shown: {error}.")
    with house:
        canvas.manners(large=large, unusable=made.unusable)
        query = links.kept()
        with st.container(key="pages", horizontal=True, gap="xxsmall"):
            for name, title in PAGES.items():
                st.page_link(f"../../{name}/page.py", label=title, query_params=query)


def say_next(sentence: str) -> None:
    """Has the next run of the page say something: for callbacks, which come before it."""
    st.session_state.setdefault("said_by_callbacks", []).append(sentence)
