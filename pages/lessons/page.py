"""Lessons: a card for each lesson, what this browser has done of it, and ways through all by time and audience."""

from typing import Any
from urllib.parse import quote

from pages.kit.draw import canvas, pages, sheet
from pages.kit.frame.layout import page
from pages.kit.lessons.course import Course, course
from pages.kit.lessons.schema import AUDIENCES, PATHS, Lesson


def show() -> None:
    """What is wrong with lessons that were left out, then the cards; where a lesson begins, its link says."""
    with page("lessons") as here, here.stage:
        found = course()
        notices = [*here.said, *found.errors]
        canvas.sheet("lessons", [sheet.notices(notices), sheet.lessons(cards(found), ways(found))])


def cards(found: Course) -> list[dict[str, Any]]:
    """What a card says of each lesson."""
    return [card(lesson) for lesson in found.lessons.values()]


def card(lesson: Lesson) -> dict[str, Any]:
    """What the card of a lesson says, and the address of each step."""
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
