"""The page of the study's second arm, from the lessons: `python -m tests.study_page` writes docs/study/page.md."""

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
HEAD = """# The same maps as a page

The material of the arm *page* of the [protocol](protocol.md): the pictures, numbers and explanations of five lessons
without their questions. `python -m tests.study_page` writes it from the lesson files. For other machines put the
server's address in place of http://127.0.0.1:8501.

*Each link opens a picture; the browser's Back returns here. Read from top to bottom; you have 35 minutes.*
"""


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
    FILE.write_text("\n".join([HEAD, *(section(lessons[name]) for name in LESSONS)]), encoding="utf-8")
