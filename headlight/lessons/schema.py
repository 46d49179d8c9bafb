"""What a lesson is: steps on the pages of the app, each with a question whose right answer a rule decides."""

from collections.abc import Mapping
from dataclasses import dataclass

from .grammar import Node

AUDIENCES = ("adults", "students", "engineers")
PATHS = (5, 15, 45)  # minutes
FORMATS = ("0", "1", "2", "3", "4", "6", "percent", "share", "difference", "scientific", "word")
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
class Reveal:
    """A number that the reveal shows, or several in a row.

    Attributes:
        label: what it is.
        value: a rule with one number, or with one axis: then each of its numbers is shown, with its word or its place.
        format: one of FORMATS: so many decimals of a weight; a percentage; a share, which says 1 only of what is 1; a
            difference, in powers of ten where it is near 0; a power of ten; or the word that stands at this place.
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
class Claim:
    """What a step puts to the test, whoever says it.

    Attributes:
        name: in links. title: on its button; it must not tell what comes out.
        said: the words of a text, as they stand there; or a sentence of ours.
        source: the text, "" where the sentence is ours. about: what the words speak of, where they do not say it.
        cases: rules; the claim holds where all do, depends on the case where some do, and else does not hold.
        why: the reveal in whole sentences, with the step's numbers in their places, `{found}`.
        unit: what the numbers of `shows` are, as bars. full: the number of a full bar, None the largest of them.
        map: of weights (i, j) that shows it, if one does.
        timed: it is judged by times, which are never twice the same.
    """

    name: str
    title: str
    said: str
    source: str
    about: str
    cases: tuple[Rule, ...]
    why: str
    unit: str
    full: int | None
    map: Reveal | None
    timed: bool


@dataclass(frozen=True)
class LessonStep:
    """One question on one page.

    Attributes:
        page: the name of the page's package; query: of its link, without the question mark.
        picture: what alone is shown of the page, one of its `PICTURES` or `WHOLE`.
        say: one sentence of what to do. ask: the question.
        options: two to four. right: the letter that the author means, "" of a claim, on which nobody means one.
        numbers: by name, of a claim's `why`; every rule of the step may name them too.
        shows: the numbers of the reveal. because: why it is so, or "". curtain: what is hidden before it.
        teacher: a note, "" for none.
        variants: other words or keys of the link, with which the rules are tried too, as in `variants`.
        holds_in: in how many of them the right option holds.
    """

    page: str
    query: str
    picture: str
    say: str
    ask: str
    options: tuple[Option, ...]
    right: str
    shows: tuple[Reveal, ...]
    because: str
    curtain: tuple[Curtain, ...]
    teacher: str
    variants: tuple[str, ...]
    holds_in: int
    numbers: Mapping[str, Reveal]
    claim: Claim | None


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
        id: in the link, the name of its file without the number.
        title: a question. aim: what one can do afterwards. breaks: the wrong idea that it is against.
        minutes: that it takes. audiences: some of AUDIENCES. paths: that it belongs to.
        teacher: notes on the whole. now_you: what a learner tries alone. papers: to read on.
    """

    id: str
    title: str
    aim: str
    breaks: str
    minutes: int
    audiences: tuple[str, ...]
    paths: tuple[Path, ...]
    teacher: str
    now_you: str
    papers: tuple[str, ...]
    steps: tuple[LessonStep, ...]
