"""Shapes: every tensor on the way through one layer, in any spelling, and two spellings side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from mha_core import IMPLEMENTATIONS
from pages.kit.draw import canvas, events, sheet
from pages.kit.frame import controls, links, model_picker, widgets
from pages.kit.frame.picture_page import picture_page
from pages.kit.frame.share import show_about
from pages.kit.picture import pictures, place, traces
from pages.kit.picture.fields import DEFAULTS
from pages.kit.picture.settings import Settings
from pages.kit.picture.traces import RandomLayer

from . import exercise, layer_controls, message, random_layer, reshape_lessons, step_names, step_view
from .whole_source import whole_source


def show() -> None:
    """Controls, the steps, one traced pass for the lesson."""
    with picture_page("shapes", takes_model=True) as page:
        with page.bar:
            model_picker.control(page.name)
        with page.hidden:
            sentence = controls.sentence_of_view(page.name)
            step, feature, lesson = widgets.text("step"), widgets.whole("f"), widgets.text("lesson")
            written = widgets.text("wrote")
        with page.rail:
            first, second = widgets.choice("impl"), widgets.choice("vs")
            names = message.implementations(first, second)
            switches = controls.switches(
                page,
                no_temperature=why_not(names, "temperature", "divide by a temperature"),
                no_heads_off=why_not(names, "heads", "switch heads off"),
            )
            instead = layer_controls.show(page)
            asked = replace(switches, text=sentence, device=controls.device())
        with page.stage:
            tokens, settings, notices = page.or_last(asked, pictures.tokens, "The steps below are still those of")
            at, chosen = page.look_at(tokens)
            usable = {"step": step_names.usable(step), "lesson": lesson in reshape_lessons.LESSONS}
            usable["wrote"] = exercise.usable(written)
            if feature >= page.model.sizes.d_model // page.sizes[1]:
                usable["f"] = False  # a number within its field's ends is the field's business
            notices += page.answer_link(**usable)
            step_view.show(
                page.model,
                settings,
                at if chosen else replace(at, row=None, key=None),
                step if usable["step"] else str(DEFAULTS["step"]),
                feature if usable.get("f", True) else int(DEFAULTS["f"]),
                box=sentence,
                notices=notices,
                unusable=page.unusable,
            )
            within, _ = traces.settings_within(settings, at.layer, first)
            show_lesson(lesson if usable["lesson"] else str(DEFAULTS["lesson"]), within, at, instead, written)
            show_classes(names)
        with page.about:
            show_about(within)


def why_not(names: list[str], what: str, in_words: str) -> str:
    """Why a control has no effect on anything that is shown, or nothing."""
    if any(what in IMPLEMENTATIONS[name].can for name in names):
        return ""
    return f"{' and '.join(names)} cannot {in_words}."


def show_lesson(name: str, settings: Settings, at: place.At, instead: RandomLayer | None, written: str) -> None:
    """One of the things that go wrong at the reshapes, or the exercise, on the tensors of this very layer."""
    layer = random_layer.traced(settings, at.layer, "efficient", instead)
    if name == exercise.NAME:
        lesson = exercise.write_it(layer, at.head, written)
    else:
        lesson = reshape_lessons.LESSONS[name](layer, at.head)
    questions = reshape_lessons.QUESTIONS.items()
    choices = sheet.buttons("Question", [(asked, {"lesson": own}, own == name) for own, asked in questions])
    with st.container(key="lesson_place"):  # the view scrolls here when a step's question is pressed
        canvas.sheet(
            "lesson_sheet", [sheet.panel("What goes wrong, and why", [choices, *lesson.blocks])], choose_lesson
        )
        with st.expander("The code that just ran"):
            st.code(lesson.source, language="python")


def show_classes(names: list[str]) -> None:
    """The classes of what is shown, each with every function and class that it calls; folded."""
    label = f"The class, and every function that it calls: {' and '.join(names)}"
    with widgets.folded("whole_class", label, lazy=True) as fold:
        if fold.open:
            for column, name in zip(st.columns(len(names)), names, strict=True):
                with column:
                    st.code(whole_source(IMPLEMENTATIONS[name]), language="python", height=640, wrap_lines=True)


def choose_lesson(event: dict[str, Any]) -> None:
    """A lesson was chosen on the sheet, or a line of the exercise."""
    lesson, line = events.text(event, "lesson"), events.text(event, "line")
    if lesson in reshape_lessons.LESSONS:
        st.session_state["lesson"] = lesson
    if line is not None:
        st.session_state["wrote"] = exercise.with_line(str(links.value("wrote")), line)
