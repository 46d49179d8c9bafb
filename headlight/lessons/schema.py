"""Data classes of lessons: steps on the app's pages, each with a question whose answer a rule decides.

The fields and their bounds are those of a lesson file, which `reading` parses; fields marked `DERIVED` are not in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Literal, NewType, get_args

from headlight.ui.pages import PAGES, path
from mha_core.errors import HeadlightError

Audience = Literal["adults", "students", "engineers"]
Format = Literal["0", "1", "2", "3", "4", "6", "percent", "share", "difference", "scientific", "word"]
AUDIENCES: tuple[str, ...] = get_args(Audience)
PATHS = (5, 15, 45)  # minutes
HIDDEN_PARTS = ("map", "rows", "row", "numbers", "second", "all")
WHOLE_PAGE = "page"  # the picture that is the whole page
# page -> parts that a step may show alone, the default first (assets/web/picture/stage.css)
PICTURES = {
    "explore": ("map", "next words", "panel heads", "panel values", "panel words", "panel view"),
    "compare": ("two maps", "next words", "panel vectors", "panel similarity"),
    "masks": ("two maps", "panel mask", "panel rows", "panel padding"),
    "model_map": ("panel diagram", "panel box"),
    "shapes": ("panel step", "panel lesson"),
    "by_hand": ("panel sums", "panel spread"),
    "implementations": ("panel kinds",),
    "train": ("panel curves",),
}
_PATH = re.compile(r"(\d+) ([a-z]+)(?:: (\d+(?:, \d+)*))?", re.ASCII)
_PAGE_NAMES = {f"/{path(name)}": name for name in PAGES}
DERIVED = {"derived": True}

Rule = NewType("Rule", str)  # in the syntax of `grammar`, with the step's numbers inserted
Name = NewType("Name", str)  # lower-case letters and digits


@dataclass(frozen=True)
class Choice:
    """A choice.

    Attributes:
        text: its text.
        condition: rule for when it is right; None without one.
        letter: A to D.
    """

    text: str
    condition: Rule | None = None
    letter: str = field(default="", metadata=DERIVED)


@dataclass(frozen=True)
class LabelledValue:
    """A labelled number that is shown with the answer, or several in a row.

    Attributes:
        label: its label.
        value: a rule with one number; with one axis, each number is shown with its word or index.
        format: number of decimals; "percent"; "share", which rounds only 1 to 1; "difference", in scientific notation
            near 0; "scientific"; or "word", the word at this index.
    """

    label: str
    value: Rule
    format: Format = "2"


@dataclass(frozen=True)
class Number:
    """A named number for the rules of a step, as `$found`, and its explanation, as `{found}`."""

    name: Name
    value: Rule
    format: Format = "2"


@dataclass(frozen=True)
class HiddenPart:
    """A part of the page that is hidden until the answer.

    Attributes:
        part: "map" (all maps), "rows" (all rows but the named ones), "row" (the named rows), "numbers" (numbers,
            sums and sentences), "second" (the right picture of Compare), "all" (the whole picture).
        words: the rows, as words of the sentence or indices.
    """

    part: str
    words: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> HiddenPart:
        """Parse "map" or "rows: it, animal"; raise a HeadlightError for anything else."""
        part, colon, words = text.partition(":")
        rows = tuple(word.strip() for word in words.split(",") if word.strip())
        if part not in HIDDEN_PARTS or bool(colon) != (part in ("row", "rows")) or bool(colon) != bool(rows):
            listed = "map, numbers, second, all, “row: it” or “rows: it, animal”"
            raise HeadlightError(f"a hidden part is {listed}, not “{text:.40}”")
        return cls(part, rows)


@dataclass(frozen=True)
class LessonStep:
    """A question on a page.

    Attributes:
        link: link of the page with its state.
        instruction: a sentence on what to do.
        question: the question.
        choices: two to four choices, or those derived from `cases`.
        answer: letter of the author's answer; "" if only the numbers give it.
        picture: the part of the page that is shown, one of its `PICTURES` or `WHOLE_PAGE`.
        results: numbers that are shown with the answer.
        explanation: explanation, or "".
        hidden: parts that are hidden until the answer.
        teacher_notes: a note, or "".
        variants: other words or keys of the link for which the rules are checked as well, see `variants`.
        holds_in: number of variants in which the right choice holds.
        numbers: named numbers for the rules and the explanation.
        cases: rules of a claim: it is true if all hold, false if none does, otherwise it depends.
        claim: name of the claim in links.
        source: the source that the claim quotes; "" for a question of the course.
    """

    link: str
    instruction: str
    question: str
    choices: Annotated[tuple[Choice, ...], 2, 4] = ()
    answer: str = ""
    picture: str = ""
    results: Annotated[tuple[LabelledValue, ...], 0, 8] = ()
    explanation: str = ""
    hidden: Annotated[tuple[HiddenPart, ...], 0, 4] = ()
    teacher_notes: str = ""
    variants: Annotated[tuple[str, ...], 0, 60] = ()
    holds_in: Annotated[int, 0, 60] = -1
    numbers: Annotated[tuple[Number, ...], 0, 12] = ()
    cases: Annotated[tuple[Rule, ...], 1, 8] = ()
    claim: Name = Name("")
    source: str = ""

    @property
    def page(self) -> str:
        """Name of the page's package.

        Raises:
            HeadlightError: there is no such page.
        """
        address = self.link.partition("?")[0]
        if address not in _PAGE_NAMES:
            raise HeadlightError(f"there is no page “{address:.40}”; there are {', '.join(_PAGE_NAMES)}")
        return _PAGE_NAMES[address]

    @property
    def query(self) -> str:
        """Query of the link, without the question mark."""
        return self.link.partition("?")[2]


@dataclass(frozen=True)
class Path:
    """A path through the course that includes steps of a lesson.

    Attributes:
        minutes: duration of the path.
        audience: one of `AUDIENCES`.
        steps: numbers of the steps, from 1.
    """

    minutes: int
    audience: str
    steps: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Path:
        """Parse "45 adults: 1, 2, 5", or "45 adults" for all steps; raise a HeadlightError for anything else."""
        match = _PATH.fullmatch(text)
        if match is None or int(match[1]) not in PATHS or match[2] not in AUDIENCES:
            raise HeadlightError(f"a path has the form “45 adults” or “45 adults: 1, 2”, not “{text:.40}”")
        return cls(int(match[1]), match[2], tuple(map(int, match[3].split(", "))) if match[3] else ())


@dataclass(frozen=True)
class Lesson:
    """A lesson.

    Attributes:
        title: a question.
        objective: the learning goal.
        misconception: the misconception that it corrects.
        minutes: duration.
        exercise: an exercise.
        steps: its steps.
        audiences: its audiences.
        paths: paths that include it.
        teacher_notes: notes on the lesson.
        references: further reading.
        course: name of the course that it belongs to; "" for the first one.
        id: its name in links, that of its file without the number.
    """

    title: str
    objective: str
    misconception: str
    minutes: Annotated[int, 1, 90]
    exercise: str
    steps: Annotated[tuple[LessonStep, ...], 1, 20]
    audiences: Annotated[tuple[Audience, ...], 0, 3] = ()
    paths: Annotated[tuple[Path, ...], 0, 9] = ()
    teacher_notes: str = ""
    references: Annotated[tuple[str, ...], 0, 10] = ()
    course: str = ""
    id: str = field(default="", metadata=DERIVED)

    @property
    def claims(self) -> bool:
        """Return whether its steps check claims."""
        return any(step.cases for step in self.steps)

    def address(self, number: int) -> str:
        """Return the path and query of a step, counted from 1, with the lesson beside its page."""
        step = self.steps[number - 1]
        return f"{path(step.page)}?{step.query}&learn={self.id}.{number}"
