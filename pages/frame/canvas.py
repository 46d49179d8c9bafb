"""The Python side of the browser's components: the app's header, sheets, charts, and state exchanged with the frame."""

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

MAX_EVENTS = 100  # unacknowledged events of a sheet

_house = st.components.v2.component("headlight_house", js=component_js("frame/frame.js", "house"), isolate_styles=False)
_page_flags = st.components.v2.component("headlight_page_flags", js=component_js("frame/frame.js", "page_flags"))
_projected = st.components.v2.component("headlight_projected", js=component_js("frame/bridge.js", "projected"))
_link = st.components.v2.component("headlight_link", js=component_js("frame/bridge.js", "link"))
_poll = st.components.v2.component("headlight_news", js=component_js("frame/bridge.js", "news"))
_visit = st.components.v2.component("headlight_visit", js=component_js("frame/bridge.js", "visit"))
_sheet = st.components.v2.component("headlight_sheet", js=component_js("sheets/sheet.js"))


class House(TypedDict):
    """Data of the app's header."""

    css: str
    path: str
    page: str
    models: list[tuple[str, str, str, str]]  # name, title, group and description, if the page shows a model
    devices: list[str]
    address: str
    kinds: list[str]
    visit: str
    machine: bool  # the client is on the server's machine and may open local models
    hub: bool  # and may download models
    start: str  # the command that serves other computers too


class SheetState(TypedDict):
    """Blocks of a sheet."""

    blocks: list[Block]


def app_header(header: House) -> None:
    """Mount the navigation bar with its controls, the page's question, and the style sheet of every page."""
    # in a list, as Streamlit searches a dictionary for tables, for which it imports pandas (68 MB)
    _house(key="house", data=[header])


def drop_params(unusable: Sequence[str]) -> None:
    """Remove unusable keys from the address, at the end of a run that has found them."""
    with st.container(key="page_flags_carrier"):
        # as a string, as Streamlit imports pandas (68 MB) to inspect a list
        _page_flags(key="page_flags", data={"unusable": " ".join(unusable)})


def is_projector_on() -> bool:
    """Return whether projector mode is on; the page runs again when it changes."""
    large = st.session_state.get("projected", {}).get("large") is True
    with st.container(key="projected_carrier"):
        _projected(key="projected", data=[large], on_large_change=lambda: None)
    return large


def link() -> str:
    """Return the query of the link, with its "?", "" before the browser reports it; the caller runs again after it."""
    from headlight.link.limits import MAX_QUERY_BYTES  # imports the core, which pages of words do not need

    link = events.text(st.session_state.get("view_link", {}), "link", MAX_QUERY_BYTES + 1) or ""
    with st.container(key="link_carrier"):
        _link(key="view_link", data=[link], on_link_change=lambda: None)
    return link


def poll(number: str, on_poll: Callable[[], None]) -> None:
    """Make the browser request an update: `on_poll` is called once for each number that is not empty.

    A fragment that reruns often passes a number, and the callback reruns another one, which only a callback may.
    """
    with st.container(key="news_carrier"):
        _poll(key="news", data={"number": number}, on_request_change=on_poll)


def sync_visit_name(name: str, unknown_name: str, on_known: Callable[[str], None]) -> None:
    """Make the browser store the name of this visit, or report the stored one.

    Args:
        name: name of this session's visit, "" without one.
        unknown_name: the reported name if it is unknown, "" otherwise.
        on_known: called before the next run with the stored name, which is unchecked.
    """

    def on_change() -> None:
        on_known(events.text(st.session_state.get("kept_visit", {}), "known") or "")

    with st.container(key="visit_carrier"):
        _visit(key="kept_visit", data={"name": name, "gone": unknown_name}, on_known_change=on_change)


def chart(key: str, figure: Figure, alt: str, on_point: Callable[[float], None] | None = None) -> None:
    """Show a Plotly figure of `headlight.ui.figures`; `alt` describes it for screen readers.

    `on_point` is called before the next run with the x value of a clicked point.
    """

    def on_select() -> None:
        state = st.session_state.get(key) or {}
        for point in state.get("selection", {}).get("points", [])[:1]:
            x = point.get("x")
            if on_point is not None and isinstance(x, (int, float)) and math.isfinite(x):
                on_point(x)

    options: dict[str, Any] = {} if on_point is None else {"on_select": on_select, "selection_mode": "points"}
    st.plotly_chart(figure_class()(figure), theme=None, key=key, config=CONFIG, alt=alt, **options)


@cache
def figure_class() -> type[Any]:
    """Return the class that passes a figure to Streamlit unchecked.

    Plotly's validation takes longer than everything else; the tests validate every figure.

    Raises:
        ImportError: plotly is missing.
    """
    from plotly.basedatatypes import BaseFigure

    class PlainFigure(BaseFigure):  # type: ignore[misc]
        def __init__(self, figure: Figure) -> None:
            self._figure = figure

        def to_dict(self) -> Figure:
            return self._figure

    return PlainFigure


def sheet(key: str, blocks: Sequence[Block], on_event: Callable[[dict[str, Any]], None] | None = None) -> None:
    """Show blocks of `headlight.ui.sheet`.

    Args:
        key: name of the sheet, whose place on the page must not change between runs.
        blocks: the blocks.
        on_event: called before the next run with each event, in order: an edit {"edit": …, "row": …, "col": …, "text":
            …} or the event of a button. The values are unchecked, so read them with `events`.
    """

    def on_change() -> None:
        acknowledged = view.acknowledged()
        message = st.session_state.get(key, {}).get("act")
        items = message.get("wishes") if isinstance(message, dict) else None
        view.begin_event()
        for item in items[-MAX_EVENTS:] if isinstance(items, list) else []:
            turn, event = (events.integer(item, "turn"), item.get("event")) if isinstance(item, dict) else (None, None)
            # the browser repeats an event until it is acknowledged, so skip those already handled
            if turn is not None and turn > acknowledged.get(key, 0):
                if on_event is not None and isinstance(event, dict):
                    on_event(event)
                acknowledged[key] = turn  # only now, as a newer message may interrupt the callback

    _sheet(key=key, data=[{**view.ack(key), **SheetState(blocks=list(blocks))}], on_act_change=on_change)
