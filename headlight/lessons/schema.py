"""What a lesson is: steps on the pages of the app, each with a question whose right answer a rule decides.

The fields are those of a lesson's file, with their bounds: `reading` makes one of the other. What is marked `DERIVED`
no file says.
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
CURTAINS = ("map", "rows", "row", "numbers", "second", "all")
WHOLE = "page"  # a picture that leaves nothing of its page out
# what a step may show alone, by its page; the first is shown where none is named (assets/web/picture/stage.css)
PICTURES = {
    "explore": ("map", "next words", "panel heads", "panel values", "panel words"),
    "compare": ("two maps", "next words", "panel vectors", "panel similarity"),
    "masks": ("two maps", "panel mask", "panel rows", "panel padding"),
    "shapes": ("panel step", "panel lesson"),
    "by_hand": ("panel sums", "panel spread"),
    "implementations": ("panel kinds",),
    "train": ("panel curves",),
}
_WAY = re.compile(r"(\d+) ([a-z]+)(?:: (\d+(?:, \d+)*))?", re.ASCII)
_PAGE_OF = {f"/{path(name)}": name for name in PAGES}
DERIVED = {"derived": True}

Rule = NewType("Rule", str)  # as it is written, with the step's numbers in their places: see `grammar`
Name = NewType("Name", str)  # small letters and digits


@dataclass(frozen=True)
class Option:
    """One answer. holds: when it is right, None where nothing says so. letter: A to D."""

    text: str
    holds: Rule | None = None
    letter: str = field(default="", metadata=DERIVED)


@dataclass(frozen=True)
class Reveal:
    """A number that the reveal shows, or several in a row.

    Attributes:
        label: what it is.
        value: a rule with one number, or with one axis: then each of its numbers is shown, with its word or its place.
        format: so many decimals of a weight; a percentage; a share, which says 1 only of what is 1; a difference, in
            powers of ten where it is near 0; a power of ten; or the word that stands at this place.
    """

    label: str
    value: Rule
    format: Format = "2"


@dataclass(frozen=True)
class Number:
    """A number that the rules of a step name, `$found`, and its `because`, `{found}`."""

    name: Name
    value: Rule
    format: Format = "2"


@dataclass(frozen=True)
class Curtain:
    """What is hidden until an answer is given.

    Attributes:
        part: "map" (every map), "rows" (all rows of the map but those named), "row" (those named), "numbers" (figures,
            sums and sentences), "second" (the right picture of Compare), "all" (the whole picture).
        words: the rows, as words of the sentence or as places.
    """

    part: str
    words: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Curtain:
        """Read "map", or "rows: it, animal". Raises a HeadlightError for anything else."""
        part, colon, named = text.partition(":")
        rows = tuple(word.strip() for word in named.split(",") if word.strip())
        if part not in CURTAINS or bool(colon) != (part in ("row", "rows")) or bool(colon) != bool(rows):
            listed = "map, numbers, second, all, “row: it” or “rows: it, animal”"
            raise HeadlightError(f"a curtain is {listed}, not “{text:.40}”")
        return cls(part, rows)


@dataclass(frozen=True)
class LessonStep:
    """One question on one page.

    Attributes:
        link: of a page of ours, with what it shows.
        say: one sentence of what to do. ask: the question.
        options: two to four, or those made of `cases`.
        right: the letter that the author means, "" where the numbers alone give it.
        picture: what alone is shown of the page, one of its `PICTURES` or `WHOLE`.
        shows: the numbers of the reveal. because: why it is so, or "". curtain: what is hidden before it.
        teacher: a note, "" for none.
        variants: other words or keys of the link, with which the rules are tried too, as in `variants`.
        holds_in: in how many of them the right option holds.
        numbers: that the rules behind them and `because` name.
        cases: of a claim, rules: it is true where all hold, false where none does, and else it depends.
        claim: its name in links. source: the text whose words it is, "" where it is a question of ours.
    """

    link: str
    say: str
    ask: str
    options: Annotated[tuple[Option, ...], 2, 4] = ()
    right: str = ""
    picture: str = ""
    shows: Annotated[tuple[Reveal, ...], 0, 8] = ()
    because: str = ""
    curtain: Annotated[tuple[Curtain, ...], 0, 4] = ()
    teacher: str = ""
    variants: Annotated[tuple[str, ...], 0, 60] = ()
    holds_in: Annotated[int, 0, 60] = -1
    numbers: Annotated[tuple[Number, ...], 0, 12] = ()
    cases: Annotated[tuple[Rule, ...], 1, 8] = ()
    claim: Name = Name("")
    source: str = ""

    @property
    def page(self) -> str:
        """The name of the page's package. Raises a HeadlightError where there is no such page."""
        where = self.link.partition("?")[0]
        if where not in _PAGE_OF:
            raise HeadlightError(f"there is no page “{where:.40}”; there are {', '.join(_PAGE_OF)}")
        return _PAGE_OF[where]

    @property
    def query(self) -> str:
        """Query of the link, without the question mark."""
        return self.link.partition("?")[2]


@dataclass(frozen=True)
class Path:
    """A way through the course that a lesson belongs to: its minutes, who it is for, and which steps (from 1)."""

    minutes: int
    audience: str
    steps: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Path:
        """Read "45 adults: 1, 2, 5", or "45 adults" with all steps. Raises a HeadlightError for anything else."""
        match = _WAY.fullmatch(text)
        if match is None or int(match[1]) not in PATHS or match[2] not in AUDIENCES:
            raise HeadlightError(f"a path is written like “45 adults” or “45 adults: 1, 2”, not “{text:.40}”")
        return cls(int(match[1]), match[2], tuple(map(int, match[3].split(", "))) if match[3] else ())


@dataclass(frozen=True)
class Lesson:
    """A lesson.

    Attributes:
        title: a question. aim: what one can do afterwards. breaks: the wrong idea that it is against.
        minutes: that it takes. audiences: who it is for. paths: that it belongs to.
        teacher: notes on the whole. now_you: what a learner tries alone. papers: to read on.
        id: in the link, the name of its file without the number.
    """

    title: str
    aim: str
    breaks: str
    minutes: Annotated[int, 1, 90]
    now_you: str
    steps: Annotated[tuple[LessonStep, ...], 1, 20]
    audiences: Annotated[tuple[Audience, ...], 0, 3] = ()
    paths: Annotated[tuple[Path, ...], 0, 9] = ()
    teacher: str = ""
    papers: Annotated[tuple[str, ...], 0, 10] = ()
    id: str = field(default="", metadata=DERIVED)

    @property
    def claims(self) -> bool:
        """True when its steps test claims."""
        return any(step.cases for step in self.steps)

    def address(self, at: int) -> str:
        """The link of a step, counted from 1, behind the server's address, with the lesson beside its page."""
        step = self.steps[at - 1]
        return f"{path(step.page)}?{step.query}&learn={self.id}.{at}"
