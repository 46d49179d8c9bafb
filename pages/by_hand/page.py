"""By hand: attention with every number in between, on worked examples that can be edited and on one real weight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from pages.kit.draw import canvas, sheet
from pages.kit.draw.sheet import Block
from pages.kit.frame import controls, model_picker, widgets
from pages.kit.frame.about import show_about, show_link
from pages.kit.frame.picture_page import PicturePage, picture_page
from pages.kit.picture import models
from pages.kit.picture.limits import LONGEST_TEXT, MOST_WORDS
from pages.kit.picture.place import At
from pages.kit.picture.recorded import recorded
from pages.kit.picture.settings import Settings

from . import real_cell
from .examples import EXAMPLES
from .state import State

REAL = {"a real cell": real_cell.cell_blocks, "entropy": real_cell.entropy_blocks}
Take = Callable[[dict[str, Any]], None]


def show() -> None:
    """Controls, one computation, the sheet. Every control is mounted, so that the link keeps all of them."""
    with picture_page(takes_model=True) as page:
        state = State.of_visit()
        with page.rail:
            example = widgets.segments("ex", [*EXAMPLES, *REAL])
            with widgets.seen("src", example == "one head"):
                widgets.segments("src")
            with widgets.seen("sqrt", example in list(EXAMPLES)[:3]):
                widgets.switch("sqrt")
            with widgets.seen("real", example in REAL):
                model_picker.control(page.name)
                asked = replace(controls.switches(page), device=controls.device())
        with page.stage:
            with widgets.seen("sentence", example in REAL):
                asked = replace(asked, text=controls.sentence(page.name))
            with widgets.seen("words", example == "two sentences"):
                state.mount_words()
        with page.hidden:
            state.mount()
        if example in REAL:
            blocks, settings, take = real_blocks(page, example, asked)
        else:
            blocks, take = worked_blocks(page, example, state), state.take
        with page.stage:
            canvas.sheet("hand", blocks, take)
        with page.about:
            if example in REAL:
                show_about(settings)
            else:
                show_link()


def worked_blocks(page: PicturePage, example: str, state: State) -> list[Block]:
    """A worked example as it is now."""
    book, usable = state.book(*state.words())
    notices = page.answer_link(of_picture=False, resets=True, m=usable)
    if "m" in page.unusable:
        state.text = None
    for key, name in (("qw", "queries"), ("kw", "keys")) if example == "two sentences" else ():
        text = st.session_state[key]
        if len(text) > LONGEST_TEXT:
            notices.append(
                f"The {name} have {len(text):,} characters, at most {LONGEST_TEXT:,} are used here: "
                "the words as given are shown."
            )
        elif len(text.split()) > MOST_WORDS:
            notices.append(
                f"The {name} have {len(text.split())} words, at most {MOST_WORDS} are used here: the first ones."
            )
    worked = EXAMPLES[example]
    reset = sheet.buttons("Reset", [("numbers as given", {"reset": list(worked.matrices)}, None)])
    return [sheet.notices(notices), sheet.row([sheet.title(worked.heading, worked.note), reset]), *worked.blocks(book)]


def real_blocks(page: PicturePage, example: str, asked: Settings) -> tuple[list[Block], Settings, Take]:
    """A real layer, taken apart, the settings that could be used, and what its buttons do."""
    record, settings, of_settings = page.or_last(
        asked, lambda settings: recorded(settings, page.at.layer), "The numbers below are still those of"
    )
    at, _ = page.look_at(record.tokens)
    notices = page.answer_link(resets=True)
    if "at" in page.unusable:
        at = At.of(page.first_at).on(record.tokens)
        record = recorded(settings, at.layer)
    sizes = page.sizes

    def take(event: dict[str, Any]) -> None:
        nonlocal at
        at = real_cell.moved(at, event, *sizes)
        st.session_state["at"] = str(at)

    notices += [*of_settings, *models.unknown(page.model, settings.text)]
    choose = real_cell.chooser(record, at, *sizes, cell=example == "a real cell")
    return [sheet.notices(notices), choose, *REAL[example](record, settings, at)], settings, take
