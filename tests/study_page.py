"""The page of the study's second arm: `python -m tests.study_page` writes the lessons into docs/study/page.md."""

from __future__ import annotations

import re

from headlight import ROOT
from headlight.lessons import course
from headlight.lessons.schema import Lesson
from headlight.lessons.verdict import verdict
from headlight.picture.query import Query
from headlight.ui.pages import path

FILE = ROOT / "docs" / "study" / "page.md"
LESSONS = ("it", "heads", "order", "future", "explanation")
ROUNDING = re.compile(r"\d(?:\.\d+)?e−\d+")  # differs between processors


def section(lesson: Lesson) -> str:
    """Write a lesson as numbered paragraphs: for each step its instruction, picture, numbers and explanation."""
    lines = [f"## {lesson.title}", "", lesson.objective, ""]
    for number, step in enumerate(lesson.steps, 1):
        now = verdict(step, Query(step.query.encode("ascii")))
        shown = "; ".join(f"{label}: {ROUNDING.sub('rounding alone', text)}" for label, _, text in now.numbers)
        link = f"[Open the picture](http://127.0.0.1:8501/{path(step.page)}?{step.query})"
        lines += [f"{number}. {step.instruction} {link}.", "", f"    {shown}.", "", f"    {now.explanation}", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    lessons = course.read_folders((course.SHIPPED,)).lessons
    head, *_ = FILE.read_text("utf-8").partition("\n## ")
    FILE.write_text("\n".join([head, *(section(lessons[name]) for name in LESSONS)]), encoding="utf-8")
