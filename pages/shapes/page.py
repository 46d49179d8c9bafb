"""Shapes: every tensor on the way through one layer, in any spelling, and two spellings side by side."""

from __future__ import annotations

from typing import Any

import streamlit as st

from mha_core import IMPLEMENTATIONS
from pages.kit.draw import canvas, events, sheet
from pages.kit.frame import controls, layout, links, model_picker
from pages.kit.frame.about import show_about
from pages.kit.frame.last_usable import or_last
from pages.kit.frame.links import BOUND, DEFAULTS
from pages.kit.picture import models, pictures, place, traces
from pages.kit.picture.limits import MOST_FEATURES
from pages.kit.picture.pictures import Settings
from pages.kit.picture.traces import Traced

from . import reshape_lessons, step_view


def show() -> None:
    """Controls, one or two traced passes, the steps, the lessons."""
    name = model_picker.enter()
    with layout.page(**models.defaults(name)) as (rail, stage):
        with rail:
            model_picker.control()
        model = pictures.model_on("auto", name)
        layers, heads = model.sizes.n_layers, model.sizes.n_heads
        with stage:
            sentence = controls.sentence(name)
            at_text, step, feature, lesson = hidden_texts(models.first_at(name))
        parsed = place.parse_at(at_text, layers, heads)
        at = parsed or place.At.of(models.first_at(name))
        with rail:
            first, second = (
                controls.implementation("Implementation", "impl"),
                controls.implementation("Beside it", "vs", none=True),
            )
            names = [first] if second in ("none", first) else [first, second]
            controls.layer(at, layers)
            mask, position = controls.mask(), controls.position(model)
            temperature = controls.temperature(why_not(names, "temperature", "a temperature"))
            heads_off = controls.heads_off(layers, heads, why_not(names, "heads", "heads off"))
            device = controls.device()
            controls.large_type()
            about = st.popover("About this picture", width="stretch")
        with stage:
            cells = controls.painted(model)
            asked = Settings(sentence, mask, position, temperature, heads_off, device, cells, name)
            (shown, unable), settings, notices = or_last(
                asked, lambda settings: compute(settings, at.layer, names), "The steps below are still those of"
            )
            notices += [*unable, *models.unknown(model, settings.text)]
            tokens = shown[0].tokens
            usable = {
                "model": model_picker.usable(),
                "at": parsed is not None and parsed.fits(tokens),
                "step": step_view.usable(step),
                "f": feature < model.sizes.d_model // heads,
                "lesson": lesson in reshape_lessons.LESSONS,
            }
            # a number within its field's ends is the field's business
            notices += links.notices(**{key: fits for key, fits in usable.items() if key != "f" or not fits})
            step = step if usable["step"] else str(DEFAULTS["step"])
            feature = feature if usable["f"] else int(DEFAULTS["f"])
            lesson = lesson if usable["lesson"] else str(DEFAULTS["lesson"])
            here = at.on(tokens)
            step_view.show(shown, here, step, feature, notices, origin=model.origin, chosen=at.row == here.row)
            show_lesson(lesson, shown[0].settings, at)
        with about:
            show_about(model, shown[0].settings)


def hidden_texts(first_at: str) -> tuple[str, str, int, str]:
    """`at`, `step`, `f` and `lesson`: what the views write into the link. The fields are mounted and not shown."""
    with st.container(key="link_texts"):
        at = st.text_input("at", first_at, key="at", bind=BOUND)
        step = st.text_input("step", DEFAULTS["step"], key="step", bind=BOUND)
        feature = st.number_input("f", 0, MOST_FEATURES - 1, DEFAULTS["f"], key="f", bind=BOUND)
        lesson = st.text_input("lesson", DEFAULTS["lesson"], key="lesson", bind=BOUND)
    return at, step, int(feature or 0), lesson


def why_not(names: list[str], what: str, in_words: str) -> str:
    """Why a control has no effect on anything that is shown, or nothing."""
    if any(what in IMPLEMENTATIONS[name].can for name in names):
        return ""
    return f"{' and '.join(names)} cannot do {in_words}."


def compute(settings: Settings, layer: int, names: list[str]) -> tuple[list[Traced], list[str]]:
    """One trace an implementation, and what the implementations cannot do, as whole sentences."""
    shown, notices = [], []
    for name in names:
        within, left_out = traces.settings_within(settings, layer, name)
        shown.append(traces.traced(within, layer, name))
        notices += left_out
    return shown, notices


def show_lesson(name: str, settings: Settings, at: place.At) -> None:
    """One of the things that go wrong at the reshapes, on the tensors of this very layer."""
    found = traces.traced(settings, at.layer, "efficient")
    lesson = reshape_lessons.LESSONS[name](found, at.head)
    choices = sheet.buttons("Lesson", [(each, {"lesson": each}, each == name) for each in reshape_lessons.LESSONS])
    canvas.sheet(
        "lesson_sheet",
        [sheet.panel("At the reshapes: what goes wrong, and why", [choices, *lesson.blocks])],
        choose_lesson,
    )
    with st.expander("The code that just ran"):
        st.code(lesson.source, language="python")


def choose_lesson(event: dict[str, Any]) -> None:
    """A lesson was chosen on the sheet."""
    lesson = events.text(event, "lesson")
    if lesson in reshape_lessons.LESSONS:
        st.session_state["lesson"] = lesson
