"""Lessons: a card for each lesson, what this browser has done of it, and ways through all by time and audience.

At its foot the texts, for who comes from one: its elements in its order, each with the link that opens it here.
"""

import tomllib
from typing import Any

import streamlit as st

from headlight import ROOT
from headlight.lessons.course import Course, course
from headlight.lessons.schema import AUDIENCES, PATHS, Lesson
from headlight.ui import pages, sheet
from headlight.ui.web import PREFIX, TUTORIAL
from pages.frame import canvas
from pages.frame.layout import page

_TEXTS = tomllib.loads((ROOT / "assets" / "texts.toml").read_text("utf-8"))["texts"]


def show() -> None:
    """Show the errors of lessons that were left out, the cards of the others, and the texts."""
    with page("lessons") as here, here.stage:
        found = course()
        notices = [*here.said, *found.errors]
        cards = [card(lesson) for lesson in found.lessons.values() if not lesson.claims]
        blocks = [sheet.lessons(cards, ways(found)), sheet.title("Coming from a tutorial? Find its parts here.")]
        canvas.sheet("lessons", [sheet.notices(notices), *blocks, sheet.columns(texts(found))])
        st.link_button("The tutorial as a notebook, .ipynb", f"{PREFIX}/{TUTORIAL.name}")


def card(lesson: Lesson) -> dict[str, Any]:
    told = {key: getattr(lesson, key) for key in ("id", "title", "aim", "minutes")}
    steps = [lesson.address(at) for at in range(1, len(lesson.steps) + 1)]
    return told | {"steps": steps, "audiences": list(lesson.audiences)}


def ways(found: Course) -> list[dict[str, Any]]:
    """Every way through the course that has a lesson: its minutes, who it is for, and the steps of each lesson."""
    listed = [(minutes, audience, found.path(minutes, audience)) for minutes in PATHS for audience in AUDIENCES]
    return [
        {"minutes": minutes, "audience": audience, "lessons": {lesson: list(steps) for lesson, steps in path.items()}}
        for minutes, audience, path in listed
        if path
    ]


def texts(found: Course) -> list[sheet.Block]:
    """A panel for each text of assets/texts.toml; what it claims is a step of the course."""
    claims, by_path = found.claims(), {pages.path(name): named.title for name, named in pages.PAGES.items()}

    def row(name: str, said: str, link: str) -> tuple[str, str, str, str]:
        claim = link.removeprefix("/claims?claim=")
        address = claims.get(claim, link.removeprefix("/"))
        return name, said, address, "Claims" if claim in claims else by_path[address.partition("?")[0]]

    return [
        sheet.panel(
            text["name"],
            [sheet.terms(text["name"], [row(**one) for one in text["elements"]], long=True)],
            text["line"],
        )
        for text in _TEXTS
    ]
