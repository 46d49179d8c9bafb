"""Shapes: every tensor on the way through one layer, in any spelling, and two spellings side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from mha_core import IMPLEMENTATIONS
from pages.kit.draw import canvas, events, sheet
from pages.kit.frame import controls, model_picker, widgets
from pages.kit.frame.about import show_about
from pages.kit.frame.picture_page import picture_page
from pages.kit.picture import models, place, traces
from pages.kit.picture.fields import DEFAULTS
from pages.kit.picture.settings import Settings
from pages.kit.picture.traces import Traced

from . import reshape_lessons, step_view


def show() -> None:
    """Controls, one or two traced passes, the steps, the lessons."""
    with picture_page(takes_model=True) as page:
        with page.rail:
            model_picker.control(page.name)
        with page.stage:
            sentence = controls.sentence(page.name)
        with page.hidden:
            step, feature, lesson = widgets.text("step"), widgets.whole("f"), widgets.text("lesson")
        with page.rail:
            first, second = widgets.choice("impl"), widgets.choice("vs")
            names = [first] if second in ("none", first) else [first, second]
            controls.layer(page)
            switches = controls.switches(
                page,
                no_temperature=why_not(names, "temperature", "divide by a temperature"),
                no_heads_off=why_not(names, "heads", "switch heads off"),
            )
            asked = replace(switches, text=sentence, device=controls.device())
        with page.stage:
            (traced, unable), settings, notices = page.or_last(
                asked, lambda settings: compute(settings, page.at.layer, names), "The steps below are still those of"
            )
            at, chosen = page.look_at(traced[0].tokens)
            usable = {"step": step_view.usable(step), "lesson": lesson in reshape_lessons.LESSONS}
            if feature >= page.model.sizes.d_model // page.sizes[1]:
                usable["f"] = False  # a number within its field's ends is the field's business
            notices += [*unable, *models.unknown(page.model, settings.text), *page.answer_link(**usable)]
            step = step if usable["step"] else str(DEFAULTS["step"])
            feature = feature if usable.get("f", True) else int(DEFAULTS["f"])
            lesson = lesson if usable["lesson"] else str(DEFAULTS["lesson"])
            step_view.show(page.model, traced, at, step, feature, notices, chosen=chosen)
            show_lesson(lesson, traced[0].settings, page.at)
        with page.about:
            show_about(traced[0].settings)


def why_not(names: list[str], what: str, in_words: str) -> str:
    """Why a control has no effect on anything that is shown, or nothing."""
    if any(what in IMPLEMENTATIONS[name].can for name in names):
        return ""
    return f"{' and '.join(names)} cannot {in_words}."


def compute(settings: Settings, layer: int, names: list[str]) -> tuple[list[Traced], list[str]]:
    """One trace an implementation, and what the implementations cannot do, as whole sentences."""
    traced, notices = [], []
    for name in names:
        within, left_out = traces.settings_within(settings, layer, name)
        traced.append(traces.traced(within, layer, name))
        notices += left_out
    return traced, notices


def show_lesson(name: str, settings: Settings, at: place.At) -> None:
    """One of the things that go wrong at the reshapes, on the tensors of this very layer."""
    lesson = reshape_lessons.LESSONS[name](traces.traced(settings, at.layer, "efficient"), at.head)
    choices = sheet.buttons("Lesson", [(title, {"lesson": title}, title == name) for title in reshape_lessons.LESSONS])
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
