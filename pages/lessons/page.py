"""Lessons: a card for each lesson, what this browser has done of it, and ways through all by time and audience."""

from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from headlight.lessons.course import Course, course
from headlight.lessons.schema import AUDIENCES, PATHS, Lesson
from headlight.link.fields import SIDE
from headlight.registry import SMOLLM2
from headlight.ui import pages, sheet
from pages.frame import canvas
from pages.frame.layout import page


def show() -> None:
    """What is wrong with lessons that were left out, then the cards; where a lesson begins, its link says."""
    with page("lessons") as here, here.stage:
        found = course()
        notices = [*here.said, *found.errors]
        canvas.sheet("lessons", [sheet.notices(notices), sheet.lessons(cards(found), ways(found))])


def cards(found: Course) -> list[dict[str, Any]]:
    seen: list[str] = []
    return [card(lesson) | {"sight": sight(lesson, seen)} for lesson in found.lessons.values()]


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
    steps = [
        f"{pages.path(step.page)}?{step.query}&learn={quote(lesson.id)}.{at}" for at, step in enumerate(lesson.steps, 1)
    ]
    return told | {"steps": steps, "audiences": list(lesson.audiences)}


def ways(found: Course) -> list[dict[str, Any]]:
    """Every way through the course that has a lesson: its minutes, who it is for, and the steps of each lesson."""
    listed = [(minutes, audience, found.path(minutes, audience)) for minutes in PATHS for audience in AUDIENCES]
    return [
        {"minutes": minutes, "audience": audience, "lessons": {lesson: list(steps) for lesson, steps in path.items()}}
        for minutes, audience, path in listed
        if path
    ]
