"""A claim: whose words it is, what is asked before anything is shown, what judges it, and where one sees it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .rules.verdict import Verdict

TIME_FIRST, LESSON, POST, NOTEBOOK, OURS = (
    "annotated code for multi-head attention, time first",
    "a lesson on multi-head attention",
    "a long post on attention from scratch",
    "a notebook that writes attention with einsum",
    "a question of Headlight’s own",
)
SHOW: Final = "show"  # in a link: the verdict without an answer

Judge = Callable[[], Verdict]


@dataclass(frozen=True)
class See:
    """Where one sees it: a page, the values of its link, and what stands there."""

    page: str
    what: str
    link: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Claim:
    """A claim.

    Attributes:
        title: on its button; it must not tell what comes out.
        source: the text that says it, or `OURS`.
        said: the text's own words, fifteen at most, as they stand there; of a question of ours a sentence of ours.
        question: which its answers answer, in the order in which the judge counts them.
        judge: computes the verdict.
        see: where one sees it.
        about: what the words speak of, where they do not say it themselves.
        timed: the verdict is one of times, which are never twice the same.
    """

    title: str
    source: str
    said: str
    question: str
    answers: tuple[str, ...]
    judge: Judge
    see: See
    about: str = ""
    timed: bool = False

    @property
    def heading(self) -> str:
        """What is put to the test: a text's words as a quote, ours as they are."""
        return self.said if self.source == OURS else f"“{self.said}”"

    def usable(self, given: str) -> bool:
        """Tells whether a link may say this of the answer: nothing, the number of one counted from 1, or to show it."""
        return given in ("", SHOW, *(str(number) for number in range(1, len(self.answers) + 1)))
