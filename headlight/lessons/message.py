"""What the browser is told of the course: its texts, without the answers, and the verdict on a step."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TypedDict

from headlight.picture.query import Query
from headlight.ui import pages
from mha_core.errors import HeadlightError

from .course import course as read_course
from .schema import Lesson, LessonStep
from .variants import second
from .verdict import verdict


class CourseOption(TypedDict):
    letter: str
    text: str


class Hidden(TypedDict):
    part: str  # as of `schema.Curtain`
    words: list[str]


class CourseQuestion(TypedDict):
    path: str  # of its page
    query: str
    picture: str
    say: str
    ask: str
    options: list[CourseOption]
    curtain: list[Hidden]  # until the answer


class CourseStep(CourseQuestion):
    teacher: str
    second: CourseQuestion | None  # of the same idea


class CourseLesson(TypedDict):
    id: str
    title: str
    aim: str
    breaks: str
    minutes: int
    now_you: str
    teacher: str
    papers: list[str]
    steps: list[CourseStep]


class CourseMessage(TypedDict):
    lessons: list[CourseLesson]


class StepVerdict(TypedDict):
    picked: str | None
    numbers: Sequence[tuple[str, float, str]]
    sentence: str
    because: str  # "" of a picture that the step does not mean


def course(raw: bytes) -> bytes:
    """The texts of all lessons; JSON. Raises a HeadlightError for a query, which would ask for something else."""
    if raw:
        raise HeadlightError("the course is answered whole, without a query")
    return as_json().encode("utf-8")


def lesson(raw: bytes) -> bytes:
    """The verdict on the step that the key `learn` names, of what the rest of the query shows; JSON.

    Raises:
        HeadlightError: there is no such step, or its picture cannot be computed.
    """
    query = Query(raw)
    found = read_course().find(query["learn"])
    if found is None:
        raise HeadlightError(f"there is no step “{query['learn']:.40}” in this course")
    return json.dumps(answer_of(found[1], query), ensure_ascii=False).encode("utf-8")


def answer_of(step: LessonStep, query: Query) -> StepVerdict:
    """The verdict on a step, as its message. Raises a HeadlightError where its picture cannot be computed."""
    told = verdict(step, query)
    return {"picked": told.picked, "numbers": told.numbers, "sentence": told.sentence, "because": told.because}


def as_json() -> str:
    """The texts of all lessons; it may stand in a page."""
    return _written(read_course().stamps)


@lru_cache(maxsize=1)
def _written(_of: object) -> str:
    """They are put into words once, until a file changes."""
    told: CourseMessage = {"lessons": [lesson_of(lesson) for lesson in read_course().lessons.values()]}
    return json.dumps(told, ensure_ascii=False).replace("<", "\\u003c")


def lesson_of(lesson: Lesson) -> CourseLesson:
    """The texts of a lesson."""
    return {
        "id": lesson.id,
        "title": lesson.title,
        "aim": lesson.aim,
        "breaks": lesson.breaks,
        "minutes": lesson.minutes,
        "now_you": lesson.now_you,
        "teacher": lesson.teacher,
        "papers": list(lesson.papers),
        "steps": [_step(step) for step in lesson.steps],
    }


def _step(step: LessonStep) -> CourseStep:
    more = second(step)
    return {**_question(step), "teacher": step.teacher, "second": _question(more) if more else None}


def _question(step: LessonStep) -> CourseQuestion:
    return {
        "path": pages.path(step.page),
        "query": step.query,
        "picture": step.picture,
        "say": step.say,
        "ask": step.ask,
        "options": [{"letter": option.letter, "text": option.text} for option in step.options],
        "curtain": [{"part": hidden.part, "words": list(hidden.words)} for hidden in step.curtain],
    }
