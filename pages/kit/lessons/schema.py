"""What a lesson is: steps on the pages of the app, each with a question whose right answer a rule decides."""

from dataclasses import dataclass

from .grammar import Node

AUDIENCES = ("adults", "students", "engineers")
PATHS = (5, 15, 45)  # minutes
FORMATS = ("0", "1", "2", "3", "4", "6", "percent", "difference", "word")
CURTAINS = ("map", "rows", "row", "numbers", "second", "all")


@dataclass(frozen=True)
class Rule:
    """A rule as it is written, and its tree."""

    text: str
    tree: Node


@dataclass(frozen=True)
class Option:
    """One answer. letter: A to D. holds: when it is right, None where nothing says so."""

    letter: str
    text: str
    holds: Rule | None


@dataclass(frozen=True)
class Shown:
    """A number that the reveal shows.

    Attributes:
        label: what it is.
        value: a rule with one number.
        format: one of FORMATS: so many decimals of a weight; a percentage; a difference, in powers of ten where it is
            near 0; or the word that stands at this place.
    """

    label: str
    value: Rule
    format: str


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


@dataclass(frozen=True)
class Step:
    """One question on one page.

    Attributes:
        page: the name of the page's package; query: of its link, without the question mark.
        say: one sentence of what to do. ask: the question.
        options: two to four. right: the letter that the author means.
        shows: the numbers of the reveal. curtain: what is hidden before it.
        teacher: a note, "" for none.
        variants: other words or keys of the link, with which the rules are tried too, as in `variants`.
        holds_in: in how many of them the right option holds.
    """

    page: str
    query: str
    say: str
    ask: str
    options: tuple[Option, ...]
    right: str
    shows: tuple[Shown, ...]
    curtain: tuple[Curtain, ...]
    teacher: str
    variants: tuple[str, ...]
    holds_in: int


@dataclass(frozen=True)
class Path:
    """A way through the course that a lesson belongs to: its minutes, who it is for, and which steps (from 1)."""

    minutes: int
    audience: str
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Lesson:
    """A lesson.

    Attributes:
        id: in the link, the name of its file without the number. number: in the name of its file.
        title: a question. aim: what one can do afterwards. breaks: the wrong idea that it is against.
        minutes: that it takes. audiences: some of AUDIENCES. paths: that it belongs to.
        teacher: notes on the whole. now_you: what a learner tries alone. papers: to read on.
    """

    id: str
    number: int
    title: str
    aim: str
    breaks: str
    minutes: int
    audiences: tuple[str, ...]
    paths: tuple[Path, ...]
    teacher: str
    now_you: str
    papers: tuple[str, ...]
    steps: tuple[Step, ...]
