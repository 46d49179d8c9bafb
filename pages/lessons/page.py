"""Lessons: a card for each lesson, what this browser has done of it, and ways through all by time and audience.

At its foot the texts, for who comes from one: its elements in its order, each with the link that opens it here.
"""

import tomllib
from typing import Any
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from headlight import ROOT
from headlight.lessons.course import Course, course
from headlight.lessons.schema import AUDIENCES, PATHS, Lesson
from headlight.link.fields import SIDE
from headlight.registry import SMOLLM2
from headlight.ui import pages, sheet
from headlight.ui.web import PREFIX, TUTORIAL
from pages.frame import canvas
from pages.frame.layout import page

_TEXTS = tomllib.loads((ROOT / "assets" / "texts.toml").read_text("utf-8"))["texts"]


def show() -> None:
    """What is wrong with lessons that were left out, their cards, and the texts; where one begins, its link says."""
    with page("lessons") as here, here.stage:
        found = course()
        notices = [*here.said, *found.errors]
        blocks = [sheet.lessons(cards(found), ways(found)), sheet.title("You come from a text: where is it here?")]
        canvas.sheet("lessons", [sheet.notices(notices), *blocks, sheet.columns(texts(found))])
        st.link_button("The tutorial as a notebook, .ipynb", f"{PREFIX}/{TUTORIAL.name}")


def cards(found: Course) -> list[dict[str, Any]]:
    seen: list[str] = []
    return [card(lesson) | {"sight": sight(lesson, seen)} for lesson in found.lessons.values() if not lesson.claims]


def sight(lesson: Lesson, seen: list[str]) -> str:
    """The query of the map on a lesson's card: of its first step that looks at a head whose map is on no other card.

    Where each is, the next head of that layer; "" where the maps are SmolLM2's: that model is not loaded for a card.
    """
    links = [dict(parse_qsl(step.query)) for step in lesson.steps]
    heads = [link | {"at": ".".join(link["at"].split(".")[:2])} for link in links if "at" in link]
    maps = [
        urlencode({key: head[key] for key in ("model", "s", *SIDE, "at") if key in head})
        for head in heads
        if head.get("model") != SMOLLM2
    ]
    others = [f"{query.rpartition('.')[0]}.{head}" for query in maps[:1] for head in range(12)]
    seen.append(next((query for query in [*maps, *others] if query not in seen), ""))
    return seen[-1]


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
