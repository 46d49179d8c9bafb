"""By hand: attention with every number in between, on worked examples that can be edited and on one real weight."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from headlight.link.fields import DEFAULTS
from headlight.link.limits import MAX_TEXT_LENGTH, MAX_WORDS
from headlight.picture import words
from headlight.picture.settings import Settings
from headlight.picture.traces import recorded
from headlight.registry import models
from headlight.ui import events, sheet
from headlight.ui.numbers import cut
from headlight.ui.sheet import Block
from mha_core.errors import DeviceError, HeadlightError, SizeError
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
Take = Callable[[dict[str, Any]], None]


def show() -> None:
    """Controls, one computation, the sheet. Every control is mounted, so that the link keeps all of them."""
    with picture_page("by_hand", takes_model=True) as page:
        state = State.of_visit()
        with page.stage:
            example = chosen()
            with widgets.hidden_but_mounted("sentence", example in REAL):
                sentence = controls.sentence(page.name)
            place = widgets.hidden_but_mounted("real", example in REAL)
            with widgets.hidden_but_mounted("words", example == "two sentences"):
                state.mount_words()
            with widgets.hidden_but_mounted("shapes", example == SCALED_DOT):
                mount_shapes()
        with place, widgets.folded("changes", changed(page), lazy=True):
            asked = replace(controls.switches(page), text=sentence)
        with page.hidden:
            state.mount()
            widgets.switch("sqrt")  # its buttons stand at the scores
        details: list[Block] = []
        if example in REAL:
            blocks, take = real_blocks(page, example, asked)
            if example == "a real cell":
                blocks, details = blocks[:-2], blocks[-2:]
        elif example == SCALED_DOT:
            blocks, take = scaled_dot_blocks(page), choose_case
        else:
            blocks, take = worked_blocks(page, example, state), state.take
        with page.stage:
            canvas.sheet("hand", blocks, take)
            with widgets.hidden_but_mounted("details", bool(details)), widgets.folded("details", "All the numbers"):
                canvas.sheet("details", details)


def chosen() -> str:
    """The example, and what only the first of them has: where the scores come from."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="examples"):
        example = widgets.segments("ex", [*EXAMPLES, *REAL, SCALED_DOT])
        with widgets.hidden_but_mounted("src", example == "one head"):
            widgets.segments("src")
    return example


def changed(page: Form) -> str:
    """What the fold says while it is closed: "Change the model (causal mask, 1 head off)"."""
    try:
        changed = words.label(links.query().settings(text="-"), page.model)
    except HeadlightError:  # what cannot be used is told below
        return "Change the model"
    return f"Change the model ({changed})"


def mount_shapes() -> None:
    """The controls of the call and of A."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="call_sizes"):
        widgets.text("qs")
        source = widgets.segments("kv")
        with widgets.hidden_but_mounted("nk", source != DEFAULTS["kv"]):
            widgets.optional_number("nk", "as many as queries")
        with widgets.hidden_but_mounted("wv", source == "both from elsewhere"):
            widgets.optional_number("wv", "as wide as keys")
        widgets.whole("draw")
        widgets.text("aat")


def scaled_dot_blocks(page: Form) -> list[Block]:
    """One call of the bare function, and A Aᵀ as the loops that it stands for."""
    problems: list[str] = []

    def made(key: str, compute: Callable[[], list[Block]], usual: Callable[[], list[Block]]) -> list[Block]:
        """Return the result for the shape that is typed, or for the last usable one."""
        typed = links.value(key)
        try:
            found = compute()
        except (SizeError, DeviceError) as error:
            last, found = st.session_state.get(f"last_{key}") or (DEFAULTS[key], usual())
            problems.append(f"“{cut(typed, 40)}” cannot be used: {error}. ({last}) is still shown.")
        else:
            st.session_state[f"last_{key}"] = ", ".join(map(str, parse_shape(typed, 1, 5))), found
        return found

    call = made(
        "qs",
        lambda: scaled_dot.blocks(Case.of_link(links.value), page.query.device),
        lambda: scaled_dot.blocks(CASES["(2, 3, 6)"], "auto"),
    )
    product = made(
        "aat",
        lambda: products.blocks(parse_shape(links.value("aat"), *products.AXES), links.value("draw")),
        lambda: products.blocks((3, 10, 256), 0),
    )
    return [sheet.notices([*page.link_warnings(), *problems]), *call, *product]


def choose_case(event: dict[str, Any]) -> None:
    """Sets the controls to the case, or to the shape of A, of a button."""
    case, text = CASES.get(events.text(event, "case") or ""), events.text(event, "product")
    if case is not None:
        st.session_state.update(case.controls)
    elif text in products.CASES.values():
        st.session_state["aat"] = text


def worked_blocks(page: Form, example: str, state: State) -> list[Block]:
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
    worked = EXAMPLES[example]
    reset = sheet.buttons("", [("Reset the numbers", {"reset": list(worked.matrices)}, None)])
    head = sheet.row([sheet.title(worked.heading, worked.note), reset])
    task = [sheet.text(worked.task)] if worked.task else []
    return [sheet.notices(notices), head, *task, *worked.blocks(book)]


def real_blocks(page: Form, example: str, asked: Settings) -> tuple[list[Block], Take]:
    record, settings, of_settings = page.or_last_valid(asked, lambda settings: recorded(settings, page.at.layer))
    at, sizes, first = page.query.place(record.tokens), page.query.sizes, page.query.default("at")
    notices = page.link_warnings()

    def take(event: dict[str, Any]) -> None:
        nonlocal at
        at = real_cell.moved(at, event, *sizes)
        links.put("at", str(at), first)

    notices += [*of_settings, *record.notices, *models.unknown(page.model, settings.text)]
    if example == "embedding":
        notices += [said for said in embeddings.steps_of(settings).notices if said not in record.notices]
        choose = embeddings.chooser(record, at)
    else:
        choose = real_cell.chooser(record, at, *sizes, cell=example == "a real cell")
    answer, *parts = REAL[example](record, settings, at)
    if example == "a real cell":
        choose, parts = sheet.row([parts[0], choose]), parts[1:]
    return [sheet.notices(notices), answer, choose, *parts], take
