"""By hand: attention with every number in between, on worked examples that can be edited and on one real weight."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.kit.draw import canvas, sheet
from pages.kit.draw.sheet import Block
from pages.kit.frame import controls, layout, links, model_picker
from pages.kit.frame.about import show_about, show_link
from pages.kit.frame.last_usable import or_last
from pages.kit.frame.links import BOUND, DEFAULTS
from pages.kit.picture import models, pictures
from pages.kit.picture import place as view
from pages.kit.picture.limits import LONGEST_TEXT, MOST_WORDS
from pages.kit.picture.pictures import Settings
from pages.kit.picture.recorded import recorded

from . import real_cell
from . import state as given
from .examples import EXAMPLES
from .state import Given

REAL = {"a real cell": real_cell.cell_blocks, "entropy": real_cell.entropy_blocks}


def show() -> None:
    """Controls, one computation, the sheet. Every control is mounted, so that the link keeps all of them."""
    name = model_picker.enter()
    for key in st.session_state.pop("reset", ()):
        st.session_state[key] = (DEFAULTS | models.defaults(name))[key]
        st.session_state.pop("matrices", None)
    if {"m", "matrices"} <= set(st.session_state):
        # what the browser sends with a quick click may be older than what it was answered
        st.session_state["m"] = st.session_state["matrices"]
    with layout.page(**models.defaults(name)) as (rail, stage):
        with rail:
            picked = st.segmented_control(
                "Example", [*EXAMPLES, *REAL], default=DEFAULTS["ex"], required=True, key="ex", bind=BOUND
            )
        example = str(picked or DEFAULTS["ex"])
        real = example in REAL
        switches(
            layout.seen(rail, "src", example == "one head"), layout.seen(rail, "sqrt", example in list(EXAMPLES)[:3])
        )
        settings = real_settings(layout.seen(rail, "real", real), layout.seen(stage, "sentence", real))
        sentences(layout.seen(stage, "words", example == "two sentences"))
        with stage.container(key="link_texts"):
            at_text = st.text_input("at", models.first_at(name), key="at", bind=BOUND)
            st.session_state["matrices"] = st.text_input("m", DEFAULTS["m"], key="m", bind=BOUND)
        with rail:
            controls.large_type()
            about = st.popover("About this picture", width="stretch")
        with stage:
            if real:
                blocks, settings = real_blocks(example, settings, at_text)
            else:
                blocks = worked_blocks(example)
            canvas.sheet("hand", blocks, on_act)
        with about:
            if real:
                show_about(pictures.model_of(settings), settings)
            else:
                show_link()


def switches(scores: DeltaGenerator, division: DeltaGenerator) -> None:
    """What the worked examples can be computed with."""
    scores.segmented_control(
        "Scores", ["as given", "from Q Kᵀ"], default=DEFAULTS["src"], required=True, key="src", bind=BOUND
    )
    division.toggle("÷ √d", key="sqrt", bind=BOUND)


def sentences(place: DeltaGenerator) -> None:
    """The words of the second example."""
    for column, label, key in zip(
        place.columns(2), ("Words of the queries", "Words of the keys"), ("qw", "kw"), strict=True
    ):
        column.text_input(label, DEFAULTS[key], key=key, bind=BOUND, on_change=on_words)


def real_settings(controls_place: DeltaGenerator, sentence_place: DeltaGenerator) -> Settings:
    """What the real examples are computed from."""
    name = model_picker.name()
    with controls_place:
        model_picker.control()
        model = pictures.model_on("auto", name)
        mask, position, temperature = controls.mask(), controls.position(model), controls.temperature()
        heads_off, device = controls.heads_off(model.sizes.n_layers, model.sizes.n_heads), controls.device()
    with sentence_place:
        sentence, cells = controls.sentence(name), controls.painted(model)
        return Settings(sentence, mask, position, temperature, heads_off, device, cells, name)


def words(key: str) -> list[str]:
    """The first words of a sentence, those as given in place of too long a one; `worked_blocks` says either."""
    text = str(links.value(key))
    return (text if len(text) <= LONGEST_TEXT else str(DEFAULTS[key])).split()[:MOST_WORDS]


def now_given() -> tuple[Given, bool]:
    """What the visitor set, and whether the matrices of the link could be used."""
    state, queries, keys = st.session_state, words("qw"), words("kw")
    matrices = given.from_link(state["matrices"], queries, keys)
    wrong = state.get("wrong", {})
    usable = matrices is not None
    matrices = matrices or given.defaults(queries, keys)
    return Given(matrices, wrong, queries, keys, state.get("sqrt", False), state.get("src") != "as given"), usable


def worked_blocks(example: str) -> list[Block]:
    """A worked example as it is now."""
    now, usable = now_given()
    st.session_state["words"] = now.queries, now.keys
    notices = tell(m=usable)
    for key, name in (("qw", "queries"), ("kw", "keys")):
        text, count = st.session_state[key], len(st.session_state[key].split())
        if example == "two sentences" and len(text) > LONGEST_TEXT:
            notices.append(
                f"The {name} have {len(text):,} characters, at most {LONGEST_TEXT:,} are used here: "
                "the words as given are shown."
            )
        elif example == "two sentences" and count > MOST_WORDS:
            notices.append(f"The {name} have {count} words, at most {MOST_WORDS} are used here: the first ones.")
    shown = EXAMPLES[example]
    reset = sheet.buttons("Reset", [("numbers as given", {"reset": list(shown.matrices)}, None)])
    return [sheet.notices(notices), sheet.row([sheet.title(shown.heading, shown.note), reset]), *shown.blocks(now)]


def real_blocks(example: str, settings: Settings, at_text: str) -> tuple[list[Block], Settings]:
    """A real layer, taken apart, and the settings that could be used."""
    model, first = pictures.model_of(settings), view.At.of(models.first_at(settings.model))
    sizes = model.sizes
    parsed = view.parse_at(at_text, sizes.n_layers, sizes.n_heads)
    at = parsed or first
    found, settings, notices = or_last(
        settings, lambda settings: recorded(settings, at.layer), "The numbers below are still those of"
    )
    usable = {"model": model_picker.usable(), "at": parsed is not None and parsed.fits(found.tokens)}
    notices = [*tell(**usable), *notices, *models.unknown(model, settings.text)]
    if "at" in st.session_state["unusable"]:
        at = first
        found = recorded(settings, at.layer)
    at = st.session_state["shown_at"] = at.on(found.tokens)
    choose = real_cell.chooser(found, at, sizes.n_layers, sizes.n_heads, cell=example == "a real cell")
    return [sheet.notices(notices), choose, *REAL[example](found, settings, at)], settings


def tell(**usable: bool) -> list[str]:
    """What the link said and could not be used; from the next run on the controls have their defaults."""
    notices = links.notices(**usable)
    st.session_state["reset"] = st.session_state["unusable"]
    st.session_state.pop("told_before", None)  # nothing here answers, so there is no run that must say it again
    return notices


def on_act(event: dict[str, Any]) -> None:
    """Takes what the visitor did in the sheet over into the link."""
    if "part" in event:
        if "shown_at" in st.session_state:
            at = real_cell.moved(st.session_state["shown_at"], event, *controls.sizes())
            st.session_state["shown_at"], st.session_state["at"] = at, str(at)
        return
    write(given.changed(now_given()[0], event))


def on_words() -> None:
    """Other words: those that stay keep their numbers."""
    queries, keys = st.session_state.get("words", (words("qw"), words("kw")))
    matrices = given.from_link(st.session_state["matrices"], queries, keys) or given.defaults(queries, keys)
    now = Given(matrices, st.session_state.get("wrong", {}), queries, keys)
    write(given.reworded(now, words("qw"), words("kw")))


def write(now: Given) -> None:
    """Puts the matrices into the link, and keeps what cannot stand there."""
    st.session_state["m"] = st.session_state["matrices"] = given.to_link(now)
    st.session_state["wrong"] = now.wrong
