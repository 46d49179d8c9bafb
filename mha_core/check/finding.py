"""The verdict of a check on one property."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from .tap import Line

HOLDS, FAILS, UNKNOWN, NOT_APPLICABLE = "holds", "fails", "cannot be said", "does not apply"

# property -> title; the numbers are part of the report
TITLES = {
    1: "weights sum to 1 over the keys",
    2: "future tokens change nothing",
    3: "the mask blocks what it says",
    4: "padding changes nothing",
    5: "other texts of the batch change nothing",
    6: "heads are cut from channels, not from tokens",
    7: "scores are divided by √d_head",
    8: "positions",
    9: "token by token with a cache equals the whole",
    10: "grouped keys belong to neighbouring heads",
    11: "dropout only in training, on the weights",
    12: "a row with every key blocked is finite",
    13: "gradients are those of the function",
    14: "formats and lengths",
    15: "equal to nn.MultiheadAttention",
}

# cause -> its reason, and the page that shows it
CAUSES: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("causes.toml").read_text("utf-8"))


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
    def reason(self) -> str:
        """Return what is probably wrong, in one sentence."""
        return CAUSES[self.cause]["reason"] if self.cause else ""

    @property
    def page(self) -> str:
        """Return the address of the page of the app that shows it."""
        return CAUSES[self.cause]["page"] if self.cause else ""
