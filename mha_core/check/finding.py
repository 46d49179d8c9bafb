"""The verdict of a check on one property."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from .recorder import Line

HOLDS, FAILS, UNKNOWN, NOT_APPLICABLE = "holds", "fails", "cannot be said", "does not apply"

_TABLE = tomllib.loads(Path(__file__).with_name("causes.toml").read_text("utf-8"))
TITLES: dict[int, str] = {
    int(number): title for number, title in _TABLE.pop("titles").items()
}  # the numbers are part of the report
_EXACT = (7, 10)  # properties whose figure has to equal the bound; elsewhere it must not pass it
CAUSES: dict[str, dict[str, str]] = _TABLE  # cause -> its reason, and the page that shows it


class DoesNotApply(Exception):
    """A property is about something that a layer does not have."""


@dataclass(frozen=True)
class Finding:
    """The verdict on one property.

    Attributes:
        number: of the property, 1 to 15.
        verdict: "holds", "fails", "cannot be said" or "does not apply".
        words: one sentence on what was measured.
        figure: the measured number; None where there is none.
        bound: what the figure must not pass, or has to equal.
        cause: of a failure, a key of `CAUSES`.
        example: of a failure, the smallest counter-example.
        line: the line of code at fault, if its source is at hand.
    """

    number: int
    verdict: str
    words: str
    figure: float | None = None
    bound: float | None = None
    cause: str = ""
    example: str = ""
    line: Line | None = None

    @property
    def title(self) -> str:
        """Return the name of the property."""
        return TITLES[self.number]

    @property
    def relation(self) -> str:
        """Return how the figure has to relate to the bound: "expected" or "at most"."""
        return "expected" if self.number in _EXACT else "at most"

    @property
    def reason(self) -> str:
        """Return what is probably wrong, in one sentence."""
        return CAUSES[self.cause]["reason"] if self.cause else ""

    @property
    def page(self) -> str:
        """Return the address of the page of the app that shows it."""
        return CAUSES[self.cause]["page"] if self.cause else ""
