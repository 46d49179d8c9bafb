"""The page By hand: attention step by step, on editable examples and on one weight of a model."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from headlight.link.fields import DEFAULTS
from headlight.link.limits import MAX_TEXT_LENGTH, MAX_WORDS
from headlight.picture.settings import Settings
from headlight.picture.traces import layer_tensors
from headlight.registry import models
from headlight.ui import events, sheet
from headlight.ui.numbers import cut
from headlight.ui.sheet import Block
from mha_core.errors import DeviceError, SizeError
from mha_core.token_text import quote
from pages.frame import canvas, controls, links, widgets
from pages.frame.form import Form, picture_page

from . import embeddings, products, real_cell, scaled_dot
from .examples import EXAMPLES
from .scaled_dot import CASES, SCALED_DOT, Case, parse_shape
from .state import State

REAL = {
    "embedding": embeddings.embedding_blocks,
    "a real cell": real_cell.cell_blocks,
    "entropy": real_cell.entropy_blocks,
}
EventHandler = Callable[[dict[str, Any]], None]


def show() -> None:
    """Draw the page; all controls are mounted, so that the link keeps their values."""
    with picture_page("by_hand", takes_model=True) as page:
        state = State.current()
        with page.stage:
            example = choose_example()
            with widgets.hidden_but_mounted("real", example in REAL):
                settings = controls.model_controls(page, "mask", "pos", "t", "off", has_head=example != "embedding")
            with widgets.hidden_but_mounted("words", example == "two sentences"):
                state.mount_words()
            with widgets.hidden_but_mounted("shapes", example == SCALED_DOT):
                mount_shapes()
        with page.hidden:
            state.mount()
            widgets.switch("sqrt")  # bound to the link alone; the user sees the buttons at the scores
        details: list[Block] = []
        if example in REAL:
            blocks, on_event = real_blocks(page, example, settings)
            if example == "a real cell":
                blocks, details = blocks[:-2], blocks[-2:]
        elif example == SCALED_DOT:
            blocks, on_event = scaled_dot_blocks(page), choose_case
        else:
            blocks, on_event = worked_blocks(page, example, state), state.apply
        with page.stage:
            canvas.sheet("hand", blocks, on_event)
            with widgets.hidden_but_mounted("details", bool(details)), widgets.fold("details", "All the numbers"):
                canvas.sheet("details", details)


def choose_example() -> str:
    """Draw the choice of the example, and of the scores' origin for the first one; return the example."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="examples"):
        example = widgets.segments("ex", [*EXAMPLES, *REAL, SCALED_DOT])
        with widgets.hidden_but_mounted("src", example == "one head"):
            widgets.segments("src")
    return example


def mount_shapes() -> None:
    """Draw the controls of the call and of A."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="call_sizes"):
        widgets.text("qs")
        source = widgets.segments("kv")
        with widgets.hidden_but_mounted("nk", source != DEFAULTS["kv"]):
            widgets.optional_number("nk", "as many as queries")
        with widgets.hidden_but_mounted("wv", source == "both from elsewhere"):
            widgets.optional_number("wv", "as wide as keys")
        widgets.integer("draw")
        widgets.text("aat")


def scaled_dot_blocks(page: Form) -> list[Block]:
    """Return one call of the bare function, and A Aᵀ as explicit loops."""
    problems: list[str] = []

    def last_valid(key: str, compute: Callable[[], list[Block]], default: Callable[[], list[Block]]) -> list[Block]:
        """Return the result for the typed shape, or for the last valid one with a notice."""
        text = links.value(key)
        try:
            sheets = compute()
        except (SizeError, DeviceError) as error:
            last, sheets = st.session_state.get(f"last_{key}") or (DEFAULTS[key], default())
            problems.append(f"{quote(cut(text, 40))} cannot be used: {error}. ({last}) is still shown.")
        else:
            st.session_state[f"last_{key}"] = ", ".join(map(str, parse_shape(text, 1, 5))), sheets
        return sheets

    call = last_valid(
        "qs",
        lambda: scaled_dot.blocks(Case.from_link(links.value), page.query.device),
        lambda: scaled_dot.blocks(CASES["(2, 3, 6)"], "auto"),
    )
    product = last_valid(
        "aat",
        lambda: products.blocks(parse_shape(links.value("aat"), *products.AXES), links.value("draw")),
        lambda: products.blocks((3, 10, 256), 0),
    )
    return [sheet.notices([*page.link_warnings(), *problems]), *call, *product]


def choose_case(event: dict[str, Any]) -> None:
    """Set the controls to the case, or to the shape of A, of a button."""
    case, text = CASES.get(events.text(event, "case") or ""), events.text(event, "product")
    if case is not None:
        st.session_state.update(case.controls)
    elif text in products.CASES.values():
        st.session_state["aat"] = text


def worked_blocks(page: Form, example: str, state: State) -> list[Block]:
    """Return the blocks of a worked example under its heading."""
    book, usable = state.book()
    notices = page.link_warnings(m=usable)
    for key, name in (("qw", "queries"), ("kw", "keys")) if example == "two sentences" else ():
        text = st.session_state[key]
        if len(text) > MAX_TEXT_LENGTH:
            notices.append(
                f"The {name} have {len(text):,} characters, at most {MAX_TEXT_LENGTH:,} are used here: "
                "the words as given are shown."
            )
        elif len(text.split()) > MAX_WORDS:
            notices.append(
                f"The {name} have {len(text.split())} words, at most {MAX_WORDS} are used here: the first ones."
            )
    worked_example = EXAMPLES[example]
    reset = sheet.buttons("", [("Reset the numbers", {"reset": list(worked_example.matrices)}, None)])
    head = sheet.row([sheet.title(worked_example.heading, worked_example.note), reset])
    task = [sheet.text(worked_example.task)] if worked_example.task else []
    return [sheet.notices(notices), head, *task, *worked_example.blocks(book)]


def real_blocks(page: Form, example: str, requested: Settings) -> tuple[list[Block], EventHandler]:
    """Return the blocks of an example on a model, and the handler of their events."""
    tensors, settings, setting_notices = page.or_last_valid(
        requested, lambda settings: layer_tensors(settings, page.cursor.layer)
    )
    cursor, first = page.query.place(tensors.tokens), page.query.default("at")
    notices = page.link_warnings()

    def on_event(event: dict[str, Any]) -> None:
        current = links.query().place(tensors.tokens)  # another event may have changed it
        links.set_param("at", str(real_cell.move(current, event)), first)

    notices += [*setting_notices, *tensors.notices, *models.unknown_token_notices(page.model, settings.text)]
    answer, *parts = REAL[example](tensors, settings, cursor)
    if example == "embedding":
        notices += [notice for notice in embeddings.cached_steps(settings).notices if notice not in tensors.notices]
        tokens = sheet.buttons("Token", real_cell.token_buttons(tensors, "query", cursor.row or 0))
        parts.insert(0, sheet.panel("Which token", [tokens], "counted from 0"))
    elif example == "a real cell":
        parts[0] = sheet.row([parts[0], real_cell.chooser(tensors, cursor)])
    return [sheet.notices(notices), answer, *parts], on_event
