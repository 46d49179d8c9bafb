"""The findings of a check: a table for the terminal, a failure for pytest, JSON and HTML."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from .finding import FAILS, Finding
from .probe import Probe
from .reference import rebuild

APP = "http://127.0.0.1:8501"  # where `headlight` serves the pages that a finding names
WIDTH = 100  # characters of the table
FOLLOWS = {(15, "matrices"): (1, 7), (3, "mask leaks"): (1,)}  # failures that another one explains
_WORDS = {"fails": "does not hold"}  # after the title of a property, which says what has to hold
_MARKS = {"holds": "✓", "fails": "✗", "cannot be said": "?", "does not apply": "–"}
_COUNTED = {"holds": "hold", "does not apply": "do not apply", "cannot be said": "cannot be decided"}
_COLOURS = {"holds": 32, "fails": 31, "cannot be said": 33, "does not apply": 2}


class CheckFailure(AssertionError):
    """A property fails; the message is the table."""


@dataclass(frozen=True)
class Report:
    """A verdict on each property of an attention layer."""

    findings: Sequence[Finding]
    name: str
    probe: Probe

    @property
    def failures(self) -> list[Finding]:
        """Return the findings of properties that fail."""
        return [finding for finding in self.findings if finding.verdict == FAILS]

    def __getitem__(self, number: int) -> Finding:
        """Return the finding of a property, 1 to 15."""
        return next(finding for finding in self.findings if finding.number == number)

    def raise_for_failures(self, exempt: Collection[int] = ()) -> None:
        """Raise CheckFailure with the table if a property fails that is not exempt."""
        if any(finding.number not in exempt for finding in self.failures):
            raise CheckFailure(f"\n{self}")

    def _parts(self, finding: Finding) -> list[str]:
        """Return what was measured, and of a failure its cause or what it follows from, line, example and page."""
        bound = "" if finding.bound is None else f", {finding.relation} {finding.bound:.3g}"
        parts = [finding.words if finding.figure is None else f"{finding.words} ({finding.figure:.3g}{bound})"]
        if finding.verdict == FAILS:
            origins = FOLLOWS.get((finding.number, finding.cause), ())
            first = next((f"it follows from {f.number}" for f in self.failures if f.number in origins), finding.reason)
            parts += [f"probably: {first}"] if first else []
            parts += [str(finding.line)] if finding.line else []
            parts += [f"for example: {finding.example}"] if finding.example else []
            parts += [f"with headlight running, see {APP}{finding.page}"] if finding.page else []
        return parts

    @property
    def summary(self) -> str:
        """Return one sentence: which properties fail, and how many have each other verdict."""
        failed = ", ".join(str(finding.number) for finding in self.failures)
        fails = {0: "no property fails", 1: f"property {failed} fails"}
        first = fails.get(len(self.failures), f"properties {failed} fail")
        counts = Counter(finding.verdict for finding in self.findings)
        others = [f"{counts[verdict]} {words}" for verdict, words in _COUNTED.items() if counts[verdict]]
        return f"{self.name}: {first}; of {len(self.findings)}, {', '.join(others)}"

    def table(self, *, colour: bool = False) -> str:
        """Return the findings as lines of text."""
        lines = [self.summary, *self.probe.notices, ""]
        for finding in self.findings:
            mark = _MARKS[finding.verdict]
            if colour:
                mark = f"\x1b[{_COLOURS[finding.verdict]}m{mark}\x1b[0m"
            lines += [f"{mark} {finding.number:>2} {finding.title}: {_WORDS.get(finding.verdict, finding.verdict)}"]
            for part in self._parts(finding):
                lines += textwrap.wrap(part, WIDTH, initial_indent="     ", subsequent_indent="     ")
        return "\n".join(lines)

    def __str__(self) -> str:
        """Return the table."""
        return self.table()

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "name": self.name,
            "failures": [f.number for f in self.failures],
            "findings": [{**asdict(f), "title": f.title, "reason": f.reason, "page": f.page} for f in self.findings],
        }

    def json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)

    def html(self) -> str:
        """Return a page with the table, and the maps beside those of nn.MultiheadAttention where both are known."""
        title = escape(self.summary)
        style = (
            "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
            "color-scheme:light dark}table{border-collapse:collapse}"
        )
        return (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{style}</style>'
            f"<h1>{title}</h1>{self._repr_html_()}</html>\n"
        )

    def _repr_html_(self) -> str:
        """Return the table, and pictures of the maps, for a notebook."""
        rows = "".join(_row(finding, self._parts(finding)) for finding in self.findings)
        return f"<p>{escape(self.summary)}</p><table>{rows}</table>{self._maps()}"

    def _maps(self) -> str:
        """Return the first head's map, torch's and their difference as tables."""
        try:
            rebuilt = rebuild(self.probe)
        except Exception:  # its parts cannot be seen, or it is no such layer
            return ""
        layer_map, theirs = rebuilt.layer_maps[0], rebuilt.maps[0]
        titles = ("this layer, head 0", "nn.MultiheadAttention, head 0", "difference")
        maps = (layer_map.tolist(), theirs.tolist(), (layer_map - theirs).abs().tolist())
        pictures = "".join(_picture(title, numbers) for title, numbers in zip(titles, maps, strict=True))
        return f'<div style="display:flex;flex-wrap:wrap;gap:1.5rem">{pictures}</div>'


def _row(finding: Finding, parts: Sequence[str]) -> str:
    mark = f"{_MARKS[finding.verdict]} {_WORDS.get(finding.verdict, finding.verdict)}"
    cells = (str(finding.number), escape(finding.title), mark, "<br>".join(map(escape, parts)))
    return "<tr>" + "".join(
        f'<td style="text-align:left;vertical-align:top;padding:.2rem .6rem">{cell}</td>' for cell in cells
    )


def _picture(title: str, numbers: list[list[float]]) -> str:
    cells = "".join(
        "<tr>"
        + "".join(
            f'<td title="query {i}, key {j}: {number:.4g}" style="width:22px;height:22px;padding:0;'
            f'background:rgb(180 83 9/{min(1.0, number) ** 0.5:.2f})">'
            for j, number in enumerate(row)
        )
        for i, row in enumerate(numbers)
    )
    return f"<figure style='margin:0'><figcaption>{escape(title)}</figcaption><table>{cells}</table></figure>"
