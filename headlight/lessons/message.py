"""Messages of the course for the browser: its texts, without the answers, and the verdict on a step."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TypedDict, cast

from headlight.picture.query import Query
from headlight.ui import pages
from mha_core.errors import HeadlightError

from .course import course as read_course
from .schema import Lesson, LessonStep
from .variants import retry_variant
from .verdict import verdict


class CourseChoice(TypedDict):
    """A choice of a question."""

    letter: str
    text: str


class Hidden(TypedDict):
    """A part of the page that is hidden until the answer."""

    part: str  # see `schema.Curtain`
    words: list[str]


class CourseQuestion(TypedDict):
    """A question on a page."""

    path: str  # of its page
    query: str
    picture: str
    instruction: str
    question: str
    choices: list[CourseChoice]
    hidden: list[Hidden]  # parts that are hidden until the answer


class CourseStep(CourseQuestion):
    """A step of a lesson."""

    teacher_notes: str
    second: CourseQuestion | None  # the retry variant


class CourseLesson(TypedDict):
    """A lesson."""

    id: str
    title: str
    objective: str
    misconception: str
    minutes: int
    claims: bool
    course: str  # its course, "" for the first one
    exercise: str
    teacher_notes: str
    references: Sequence[str]
    steps: list[CourseStep]


class CourseMessage(TypedDict):
    """The whole course."""

    lessons: list[CourseLesson]


class StepVerdict(TypedDict):
    """The verdict on a step."""

    picked: str | None
    numbers: Sequence[tuple[str, float, str]]
    sentence: str
    explanation: str  # "" without a verdict


def course(raw: bytes) -> bytes:
    """Return the texts of all lessons as JSON; raise a HeadlightError for a query."""
    if raw:
        raise HeadlightError("the course takes no query")
    return as_json().encode("utf-8")


def step_verdict(raw: bytes) -> bytes:
    """Return the verdict on the step of the key `learn` for the picture of the query, as JSON.

    Raises:
        HeadlightError: there is no such step, or its picture cannot be computed.
    """
    query = Query(raw)
    match = read_course().find(query["learn"])
    if match is None:
        raise HeadlightError(f"there is no step “{query['learn']:.40}” in this course")
    return json.dumps(verdict_message(match[1], query), ensure_ascii=False).encode("utf-8")


def verdict_message(step: LessonStep, query: Query) -> StepVerdict:
    """Return the message with the verdict on a step."""
    return cast(StepVerdict, vars(verdict(step, query)))


def as_json() -> str:
    """Return the texts of all lessons as JSON that is safe inside HTML."""
    return _course_json(read_course().stamps)


@lru_cache(maxsize=1)
def _course_json(_stamps: object) -> str:
    message: CourseMessage = {"lessons": [lesson_message(lesson) for lesson in read_course().lessons.values()]}
    return json.dumps(message, ensure_ascii=False).replace("<", "\\u003c")


def lesson_message(lesson: Lesson) -> CourseLesson:
    """Return the texts of a lesson."""
    texts = {name: getattr(lesson, name) for name in CourseLesson.__annotations__}
    return cast(CourseLesson, texts | {"steps": [_step(step) for step in lesson.steps]})


def _step(step: LessonStep) -> CourseStep:
    more = retry_variant(step)
    return {**_question(step), "teacher_notes": step.teacher_notes, "second": _question(more) if more else None}


def _question(step: LessonStep) -> CourseQuestion:
    return {
        "path": pages.path(step.page),
        "query": step.query,
        "picture": step.picture,
        "instruction": step.instruction,
        "question": step.question,
        "choices": [{"letter": choice.letter, "text": choice.text} for choice in step.choices],
        "hidden": [{"part": part.part, "words": list(part.words)} for part in step.hidden],
    }
