"""Curves of learning over the steps, and their numbers as tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import attrgetter
from statistics import fmean

from headlight.ui import figures, sheet
from headlight.ui.figures import Curve, Figure
from headlight.ui.sheet import Block
from mha_core.training.events import Evaluation, History

_TRAINING = 2  # the number of the dashes of what is measured on training batches
_LARGE, _LARGE_TYPE = 350, 18  # height and type of one on a projector, in pixels

Value = Callable[[Evaluation], float]


@dataclass(frozen=True)
class Candidate:
    """One recipe, trained with several seeds.

    Attributes:
        colour: its number for `palette.candidate_colour`.
        histories: a run for each seed, as far as they have come.
    """

    name: str
    colour: int
    histories: tuple[History, ...]

    @property
    def begun(self) -> tuple[History, ...]:
        """The runs that have looked at the test rows at least once."""
        return tuple(history for history in self.histories if history.evaluations)

    @property
    def last(self) -> list[Evaluation]:
        """The last evaluation of each run that has begun."""
        return [history.evaluations[-1] for history in self.begun]


@dataclass(frozen=True)
class Chart:
    """A chart with its words: `title` above it, `note` beside that, `alt` for who cannot see it; `key` is its name.

    `curves`: what it draws.
    """

    key: str
    title: str
    note: str
    alt: str
    figure: Figure
    curves: Sequence[Curve]

    @property
    def table(self) -> Block:
        """Its numbers, a row a step and a column a curve."""
        values = [dict(zip(curve.x, curve.y, strict=True)) for curve in self.curves]
        steps = sorted({step for own in values for step in own})
        rows = [[str(step), *(_written(own.get(step)) for own in values)] for step in steps]
        said = f"{self.title}: {self.note}." if self.note else f"{self.title}."
        return sheet.table(["step", *(curve.name for curve in self.curves)], rows, said)


def _written(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def charts(
    candidates: Sequence[Candidate],
    theme: str,
    *,
    waiting: bool = False,
    large: bool = False,
) -> list[Chart]:
    """Accuracy and loss; of language models the scores of their best heads too.

    A curve is the mean over the seeds, as far as all that have begun have come.

    Args:
        waiting: the axes are drawn before the first look at the test rows; otherwise nothing is.
        large: for a projector.
    """
    begun = [one for one in candidates if one.begun]
    if not begun and not waiting:
        return []
    span = max(history.recipe.steps for candidate in candidates for history in candidate.histories)
    return [_chart(kind, begun, span, theme, large=large) for kind in _kinds(begun)]


@dataclass(frozen=True)
class _Kind:
    """A kind of chart: `share` as in `figures.over_steps`, and the curves of one candidate."""

    key: str
    title: str
    share: bool
    curves: Callable[[Candidate], Iterator[Curve]]


def _kinds(candidates: Sequence[Candidate]) -> list[_Kind]:
    starts = [history.start for candidate in candidates for history in candidate.begun]
    language = any(candidate.begun[0].evaluations[0].induction for candidate in candidates)
    seen = "pictures" if all(start and start.picture for start in starts) else "sentences"
    title = f"Accuracy on unseen {seen if all(start and start.classes for start in starts) else 'text'}"
    kinds = [
        _Kind("accuracy", title, True, lambda own: _measured(own, "accuracy")),
        _Kind("loss", "Loss", False, lambda own: _measured(own, "loss")),
    ]
    if language:
        kinds.append(_Kind("induction", "Induction score", True, lambda own: _heads(own, "induction")))
        kinds.append(_Kind("previous", "Previous-token score", True, lambda own: _heads(own, "previous")))
    if any(candidate.begun[0].evaluations[0].aligned is not None for candidate in candidates):
        kinds.append(_Kind("aligned", "Digits that attend to their word", True, lambda own: _curves(own, _aligned)))
    return kinds


def _chart(kind: _Kind, begun: Sequence[Candidate], span: int, theme: str, *, large: bool) -> Chart:
    curves = [curve for own in begun for curve in kind.curves(own)]
    y_title = kind.title.split(" on ")[0].lower()
    height = {"height": _LARGE} if large else {}
    figure = figures.over_steps(curves, span=span, y_title=y_title, theme=theme, share=kind.share, **height)
    if large:
        figure["layout"]["font"]["size"] = _LARGE_TYPE
        for axis in ("xaxis", "yaxis"):
            figure["layout"][axis] |= {"tickfont": {"size": _LARGE_TYPE}}
            figure["layout"][axis]["title"]["font"] = {"size": _LARGE_TYPE}
    names = ", ".join(candidate.name for candidate in begun)
    of = f"over the steps of {names}; the same numbers are in the tables below." if names else "before the first step."
    return Chart(kind.key, kind.title, _note(kind.key, begun), f"{kind.title} {of}", figure, curves)


def _aligned(seen: Evaluation) -> float:
    return seen.aligned or 0.0


def _measured(candidate: Candidate, what: str) -> Iterator[Curve]:
    """Its accuracy or loss on the test rows, and in another dash that on the training batches."""
    yield from _curves(candidate, attrgetter(f"test_{what}"))
    x, rows = _together(candidate.begun, [attrgetter(f"train_{what}")] * len(candidate.begun))
    yield Curve(
        f"{candidate.name}, training", candidate.colour, x, _means(rows), dash=_TRAINING, width=1.5, listed=False
    )


def _heads(candidate: Candidate, score: str) -> Iterator[Curve]:
    """The best head of each layer; which one that is, each seed's last look decides."""
    for layer in range(len(getattr(candidate.last[0], score))):
        last = [getattr(seen, score)[layer] for seen in candidate.last]
        best = [max(range(len(scores)), key=scores.__getitem__) for scores in last]
        head = "best head" if len(best) > 1 else f"head {best[0]}"
        values = [_score(score, layer, one) for one in best]
        yield from _curves(candidate, *values, name=f"{candidate.name}, layer {layer} {head}", dash=layer)


def _score(score: str, layer: int, head: int) -> Value:
    return lambda seen: float(getattr(seen, score)[layer][head])


def _curves(candidate: Candidate, *values: Value, name: str = "", dash: int = 0) -> Iterator[Curve]:
    """The mean over the seeds, as far as all have come, with its band. One value, or one a seed."""
    name = name or candidate.name
    runs = candidate.begun
    each = values if len(values) == len(runs) else values * len(runs)
    x, rows = _together(runs, each)
    several = len(runs) > 1 and all(map(math.isfinite, (value for row in rows for value in row)))
    low, high = ([min(row) for row in rows], [max(row) for row in rows]) if several else ([], [])
    yield Curve(name, candidate.colour, x, _means(rows), low, high, dash=dash)


def _together(runs: Sequence[History], values: Sequence[Value]) -> tuple[list[int], list[tuple[float, ...]]]:
    """The steps that all these runs have looked at, and their values at each."""
    looks = zip(*(history.evaluations for history in runs), strict=False)
    # a run that was stopped looks once more, between the others' looks
    shared = list(takewhile(lambda row: len({seen.step for seen in row}) == 1, looks))
    rows = [tuple(value(seen) for value, seen in zip(values, row, strict=True)) for row in shared]
    return [row[0].step for row in shared], rows


def _means(rows: Sequence[tuple[float, ...]]) -> list[float | None]:
    return [_finite(fmean(row)) for row in rows]


def _finite(value: float) -> float | None:
    """None leaves a gap in a curve: a loss that is no number is not drawn."""
    return value if math.isfinite(value) else None


def _note(key: str, shown: Sequence[Candidate]) -> str:
    parts = []
    seeds = {len(candidate.begun) for candidate in shown}
    if max(seeds, default=0) > 1:
        many = f"{min(seeds)} to {max(seeds)}" if len(seeds) > 1 else f"{max(seeds)}"
        parts.append(f"{many} seeds, band = lowest to highest")
    if key in ("accuracy", "loss"):
        parts.append("dotted: training batches")
    elif key == "aligned":
        parts.append("over all digits of unseen dates, in the last layer’s cross-attention map (mean of its heads)")
    else:
        parts.append("best head of each layer at the last evaluation, counted from 0")
    return " · ".join(parts)
