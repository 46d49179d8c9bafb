"""The Python side of the browser's components: the house, sheets, charts, and what a page tells its frame."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypedDict

import streamlit as st

from headlight.ui import events
from headlight.ui.figures import CONFIG, Figure
from headlight.ui.sheet import Block
from headlight.ui.web import component_js

from . import view

MAX_WISHES = 100  # events that a sheet may have sent without an answer

_house = st.components.v2.component("headlight_house", js=component_js("frame/frame.js", "house"), isolate_styles=False)
_page_flags = st.components.v2.component("headlight_page_flags", js=component_js("frame/frame.js", "page_flags"))
_projected = st.components.v2.component("headlight_projected", js=component_js("frame/bridge.js", "projected"))
_news = st.components.v2.component("headlight_news", js=component_js("frame/bridge.js", "news"))
_visit = st.components.v2.component("headlight_visit", js=component_js("frame/bridge.js", "visit"))
_sheet = st.components.v2.component("headlight_sheet", js=component_js("sheets/sheet.js"))


class House(TypedDict):
    """What the script says of its page."""

    css: str
    path: str
    page: str
    models: list[tuple[str, str, str, str]]  # name, title, group, what is said of it; none where the page shows none
    devices: list[str]
    address: str
    kinds: list[str]
    visit: str
    machine: bool  # who asks sits at the server's machine, and may open models of it,
    hub: bool  # and bring more


class SheetState(TypedDict):
    blocks: list[Block]


def app_header(said: House) -> None:
    """The bar with what it offers, the question of the page, and the style sheet of every page."""
    # in a list: in a dictionary Streamlit looks for tables, for which it imports pandas (68 MB)
    _house(key="house", data=[said])


def page_flags(unusable: Sequence[str]) -> None:
    """Which keys must leave the address: what is known only when a page has been made."""
    with st.container(key="page_flags_carrier"):
        # as one text: to look into a list, Streamlit imports pandas (68 MB) before the first picture
        _page_flags(key="page_flags", data={"unusable": " ".join(unusable)})


def projected() -> bool:
    """Whether the page is projected; it is run again when that changes."""
    large = st.session_state.get("projected", {}).get("large") is True
    with st.container(key="projected_carrier"):
        _projected(key="projected", data=[large], on_large_change=lambda: None)
    return large


def poll(number: str, on_asked: Callable[[], None]) -> None:
    """Has the browser ask for what is new: `on_asked` is called once for each number that is not empty.

    A fragment that is drawn often tells the number, and the callback draws another one, which only a callback may.
    """
    with st.container(key="news_carrier"):
        _news(key="news", data={"number": number}, on_asked_change=on_asked)


def visit(name: str, gone: str, on_known: Callable[[str], None]) -> None:
    """Has the browser keep the name of this visit, or say which one it has kept.

    Args:
        name: of this session's visit; "" while there is none.
        gone: the name that the browser said and that means nothing any more.
        on_known: called before the next run with the name that the browser has kept; it is unchecked.
    """

    def hear() -> None:
        on_known(events.text(st.session_state.get("kept_visit", {}), "known") or "")

    with st.container(key="visit_carrier"):
        _visit(key="kept_visit", data={"name": name, "gone": gone}, on_known_change=hear)


def chart(key: str, figure: Figure, alt: str, on_point: Callable[[float], None] | None = None) -> None:
    """Draws a Plotly figure of `headlight.ui.figures`; `alt` says the same to who cannot see it.

    `on_point` is called before the next run with the place, on the lower axis, of a point that was pressed.
    """

    def hear() -> None:
        told = st.session_state.get(key) or {}
        for point in told.get("selection", {}).get("points", [])[:1]:
            x = point.get("x")
            if on_point is not None and isinstance(x, (int, float)) and math.isfinite(x):
                on_point(x)

    pressed: dict[str, Any] = {} if on_point is None else {"on_select": hear, "selection_mode": "points"}
    st.plotly_chart(charts()(figure), theme=None, key=key, config=CONFIG, alt=alt, **pressed)


@cache
def charts() -> type[Any]:
    """The kind of figure that `chart` hands to Streamlit, which sends it as it is.

    Plotly's check of every value takes longer than all the rest; the tests have every figure checked.

    Raises:
        ImportError: plotly is missing.
    """
    from plotly.basedatatypes import BaseFigure

    class Checked(BaseFigure):  # type: ignore[misc]
        def __init__(self, figure: Figure) -> None:
            self._figure = figure

        def to_dict(self) -> Figure:
            return self._figure

    return Checked


def sheet(key: str, blocks: Sequence[Block], on_act: Callable[[dict[str, Any]], None] | None = None) -> None:
    """Draws the blocks of `headlight.ui.sheet` in order.

    Args:
        key: the sheet's name; its place on the page must not change from one run to the next.
        on_act: called before the next run, once with every event in the order in which the visitor made them: an edit
            {"edit": …, "row": …, "col": …, "text": …} or what a button was given. The values are the visitor's and
            unchecked, so read them with `events`.
    """

    def hear() -> None:
        heard = view.acknowledged()
        told = st.session_state.get(key, {}).get("act")
        wishes = told.get("wishes") if isinstance(told, dict) else None
        for wish in wishes[-MAX_WISHES:] if isinstance(wishes, list) else []:
            turn, event = (events.whole(wish, "turn"), wish.get("event")) if isinstance(wish, dict) else (None, None)
            # an event is sent again with the next one until its answer has come; it happens once
            if turn is not None and turn > heard.get(key, 0):
                if on_act is not None and isinstance(event, dict):
                    on_act(event)
                heard[key] = turn  # not before: what a newer message ends is sent again with it

    _sheet(key=key, data=[{**view.turns(key), **SheetState(blocks=list(blocks))}], on_act_change=hear)
