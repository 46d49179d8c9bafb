"""The Python side of the browser's components: the house, the views of maps, steps, pairs and films, and sheets."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import streamlit as st

from . import events
from .figures import CONFIG, Figure
from .sheet import Block
from .web import PREFIX, one_line

__all__ = [
    "FILM_KEY",
    "HEADS_KEY",
    "MAPS_KEY",
    "MASKS_KEY",
    "PAIR_KEY",
    "STEPS_KEY",
    "chart",
    "film",
    "head_bars",
    "house",
    "manners",
    "map_view",
    "mask_view",
    "news",
    "pair_view",
    "sheet",
    "step_view",
    "take_event",
]

FILM_KEY = "film_view"
HEADS_KEY = "head_bars"
MAPS_KEY = "maps"
MASKS_KEY = "painter"
MOST_WISHES = 100  # events that a sheet may have sent without an answer
PAIR_KEY = "pair_view"
STEPS_KEY = "step_view"

_house = st.components.v2.component("headlight_house", js=one_line("house.js"), isolate_styles=False)
_manners = st.components.v2.component("headlight_manners", js=one_line("house.js", "manners"))
_news = st.components.v2.component("headlight_news", js=one_line("news.js"))
_maps = st.components.v2.component("headlight_maps", js=one_line("view.js", "maps"))
_focus = st.components.v2.component("headlight_focus", js=one_line("view.js", "focus"))
_steps = st.components.v2.component("headlight_steps", js=one_line("steps.js", "steps"))
_trace = st.components.v2.component("headlight_trace", js=one_line("steps.js", "trace"))
_pair = st.components.v2.component("headlight_pair", js=one_line("pair.js"))
_heads = st.components.v2.component("headlight_heads", js=one_line("head_bars.js"))
_film = st.components.v2.component("headlight_film", js=one_line("film.js", "film"))
_frames = st.components.v2.component("headlight_frames", js=one_line("film.js", "frames"))
_masks = st.components.v2.component("headlight_masks", js=one_line("painter.js"))
_sheet = st.components.v2.component("headlight_sheet", js=one_line("sheet.js"))


def house() -> None:
    """Brand, theme switch and style sheet of every page."""
    _house(key="house", data={"css": f"{PREFIX}/house.css"})


def manners(*, large: bool, unusable: Sequence[str] = ()) -> None:
    """The type size, and which keys must leave the address: what is known only when a page has been made."""
    with st.container(key="manners_carrier"):
        # as one text: to look into a list, Streamlit imports pandas (68 MB) before the first picture
        _manners(key="manners", data={"large": large, "unusable": " ".join(unusable)})


def news(number: str, on_asked: Callable[[], None]) -> None:
    """Has the browser ask for what is new: `on_asked` is called once for each number that is not empty.

    A fragment that is drawn often tells the number, and the callback draws another one, which only a callback may.
    """
    with st.container(key="news_carrier"):
        _news(key="news", data={"number": number}, on_asked_change=on_asked)


def map_view(maps: bytes, focus: bytes, on_act: Callable[[], None]) -> None:
    """Draws packed maps (`packing.pack_maps`) in the state of `packing.pack_focus`.

    The second message has an element of its own, so that a click that changes only the state sends only the state.
    `on_act` is called when the visitor did something; `take_event` says what.
    """
    _maps(key=MAPS_KEY, data=maps, on_act_change=on_act)
    with st.container(key="focus_carrier"):
        _focus(key="focus", data=focus)


def step_view(traces: Sequence[bytes], state: dict[str, Any], on_act: Callable[[], None]) -> None:
    """Draws packed traces (`steps.pack_trace`), one or two side by side, in a state; `on_act` as in `map_view`."""
    with st.container(key="trace_carrier"):
        for number, packed in enumerate(traces):
            _trace(key=f"trace{number}", data=packed)
    _steps(key=STEPS_KEY, data=state, on_act_change=on_act)


def pair_view(packed: bytes, on_act: Callable[[], None]) -> None:
    """Draws two packed maps and their difference (`packing.pack_focus`); `on_act` as in `map_view`."""
    _pair(key=PAIR_KEY, data=packed, on_act_change=on_act)


def head_bars(state: dict[str, Any], on_act: Callable[[], None]) -> None:
    """Draws a bar for every head; `on_act` is called when the visitor chose one."""
    _heads(key=HEADS_KEY, data=state, on_act_change=on_act)


def mask_view(packed: bytes, on_act: Callable[[], None]) -> None:
    """Draws a mask and two packed maps (`packing.pack_focus`); `on_act` as in `map_view`."""
    _masks(key=MASKS_KEY, data=packed, on_act_change=on_act)


def film(packed: bytes, choice: str, on_choice: Callable[[str], None]) -> None:
    """Plays packed films (`film.pack`), at a choice of probe, layer and head (`film.Choice`).

    `on_choice` is called before the next run with the text of another choice; it is the visitor's and unchecked. The
    bound text that keeps the choice must be made in the same fragment as the film, or the browser's old one comes back.
    """

    def hear() -> None:
        event = take_event(FILM_KEY)
        st.session_state["film_heard"] = events.whole(event, "turn") or 0
        on_choice(events.text(event, "choice") or "")

    state = {
        # a new session counts its turns anew
        "visit": st.session_state.setdefault("visit", secrets.token_hex(4)),
        "heard": st.session_state.get("film_heard", 0),
        "choice": choice,
    }
    with st.container(key="frames_carrier"):
        _frames(key="frames", data=packed)
    _film(key=FILM_KEY, data=state, on_act_change=hear)


def take_event(view: str) -> dict[str, Any]:
    """The event that a view sent; its values are the visitor's and unchecked, so read them with `events`."""
    event = st.session_state.get(view, {}).get("act")
    return event if isinstance(event, dict) else {}


def chart(key: str, figure: Figure, alt: str) -> None:
    """Draws a Plotly figure of `kit.draw.figures`; `alt` says the same to who cannot see it."""
    st.plotly_chart(_checked_before()(figure), theme=None, key=key, config=CONFIG, alt=alt)


@cache
def _checked_before() -> type[Any]:
    """A kind of figure that Streamlit sends as it is: plotly's check of every value takes longer than all the rest.

    The tests have every figure checked.
    """
    from plotly.basedatatypes import BaseFigure

    class Checked(BaseFigure):  # type: ignore[misc]
        def __init__(self, figure: Figure) -> None:
            self._figure = figure

        def to_dict(self) -> Figure:
            return self._figure

    return Checked


def sheet(key: str, blocks: Sequence[Block], on_act: Callable[[dict[str, Any]], None] | None = None) -> None:
    """Draws the blocks of `kit.draw.sheet` in order.

    Args:
        key: the sheet's name; its place on the page must not change from one run to the next.
        on_act: called before the next run, once with every event in the order in which the visitor made them: an edit
            {"edit": …, "row": …, "col": …, "text": …} or what a button was given. The values are the visitor's and
            unchecked, so read them with `events`.
    """
    heard = f"{key}_heard"

    def hear() -> None:
        told = st.session_state.get(key, {}).get("act")
        wishes = told.get("wishes") if isinstance(told, dict) else None
        for wish in wishes[-MOST_WISHES:] if isinstance(wishes, list) else []:
            turn, event = (events.whole(wish, "turn"), wish.get("event")) if isinstance(wish, dict) else (None, None)
            # an event is sent again with the next one until its answer has come; it happens once
            if turn is not None and turn > st.session_state.get(heard, 0):
                st.session_state[heard] = turn
                if on_act is not None and isinstance(event, dict):
                    on_act(event)

    visit = st.session_state.setdefault("visit", secrets.token_hex(4))  # a new session counts its turns anew
    data = {"visit": visit, "heard": st.session_state.get(heard, 0), "blocks": list(blocks)}
    _sheet(key=key, data=data, on_act_change=hear)
