"""Curves of learning over the steps, and the same told as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from statistics import fmean

from mha_core.training.events import Evaluation, History
from pages.kit.draw import figures
from pages.kit.draw.figures import Curve, Figure
from pages.kit.draw.numbers import share

_TRAINING = 2  # the number of the dashes of what is measured on training batches
_TAIL = 1.0  # pixels, of what only some of the seeds have
_HEIGHTS = {False: 340, True: 260}
# reasons of an end before the last step
_ENDS = {
    "target": "it reached its target",
    "time": "time budget used up",
    "stopped": "stopped",
    "not a number": "the loss became NaN or infinite",
}

Value = Callable[[Evaluation], float]


@dataclass(frozen=True)
class Candidate:
    """One recipe, trained with several seeds.

    Attributes:
        name: on the screen.
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
    """A chart with its words: `title` above it, `note` beside that, `alt` for who cannot see it; `key` is its name."""

    key: str
    title: str
    note: str
    alt: str
    figure: Figure


def charts(candidates: Sequence[Candidate], theme: str, *, apart: bool = False) -> list[Chart]:
    """Accuracy and loss; of language models the scores of their best heads too.

    A curve is the mean over the seeds, as far as all that have begun have come; a seed that goes on alone is a thin
    line from there. Nothing is drawn before the first look at the test rows.

    Args:
        apart: a chart for each candidate, on the same axes, instead of all in one.
    """
    begun = [candidate for candidate in map(_as_now, candidates) if candidate.begun]
    if not begun:
        return []
    span = max(history.recipe.steps for candidate in begun for history in candidate.begun)
    parts = []
    for kind in _kinds(begun):
        drawn = [(candidate, list(kind.curves(candidate))) for candidate in begun]
        values = [y for _, lines in drawn for curve in lines for y in (*curve.y, *curve.high) if y is not None]
        for part in [[one] for one in drawn] if apart else [drawn]:
            chart = _chart(kind, part, span, theme, apart=apart)
            if apart and not kind.share:
                chart.figure["layout"]["yaxis"]["range"] = [0, 1.05 * max(values, default=1)]
            parts.append(chart)
    return parts


def told(candidates: Sequence[Candidate]) -> list[str]:
    """A sentence for each candidate: how far it is, its accuracy and its spread over the seeds."""
    return [f"{candidate.name}: {_standing(candidate)}" for candidate in map(_as_now, candidates)]


def progress(runs: int, step: int, steps: int, seconds: float) -> str:
    """The progress of so many runs together: steps, seconds of training, steps per second or seconds a step."""
    many = f"{runs} runs: " if runs > 1 else ""
    speed = ""
    if step and seconds > 0:
        speed = f" · {step / seconds:,.0f} steps/s" if step >= seconds else f" · {seconds / step:.1f} s a step"
    return f"{many}step {step:,} of {steps:,} · {seconds:.1f} s{speed}"


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
    title = f"accuracy on unseen {'sentences' if all(start and start.classes for start in starts) else 'text'}"
    kinds = [_Kind("accuracy", title, True, _accuracy), _Kind("loss", "loss", False, _loss)]
    if language:
        kinds.append(_Kind("induction", "induction score", True, lambda candidate: _heads(candidate, "induction")))
        kinds.append(_Kind("previous", "previous-token score", True, lambda candidate: _heads(candidate, "previous")))
    return kinds


def _chart(kind: _Kind, drawn: Sequence[tuple[Candidate, list[Curve]]], span: int, theme: str, *, apart: bool) -> Chart:
    curves = [curve for _, lines in drawn for curve in lines]
    y_title = kind.title.split(" on ")[0]
    figure = figures.over_steps(
        curves, span=span, y_title=y_title, theme=theme, share=kind.share, height=_HEIGHTS[apart]
    )
    if apart and sum(curve.listed for curve in curves) == 1:
        figure["layout"]["showlegend"] = False  # its name stands in the title
    names = [candidate.name for candidate, _ in drawn]
    return Chart(
        f"{kind.key}_{names[0]}" if apart else kind.key,
        f"{names[0]}: {kind.title}" if apart else kind.title,
        _note(kind.key, [candidate for candidate, _ in drawn]),
        f"{kind.title} over the steps of {', '.join(names)}; the same is told as text.",
        figure,
    )


def _as_now(candidate: Candidate) -> Candidate:
    """The candidate as far as it is now: its runs may go on in another thread while this one reads."""
    return replace(
        candidate, histories=tuple(replace(run, evaluations=list(run.evaluations)) for run in candidate.histories)
    )


def _accuracy(candidate: Candidate) -> Iterator[Curve]:
    yield from _curves(candidate, lambda seen: seen.test_accuracy)
    yield from _training(candidate, lambda seen: seen.train_accuracy)


def _loss(candidate: Candidate) -> Iterator[Curve]:
    yield from _curves(candidate, lambda seen: seen.test_loss)
    yield from _training(candidate, lambda seen: seen.train_loss)


def _training(candidate: Candidate, value: Value) -> Iterator[Curve]:
    x, rows = _together(candidate.begun, [value] * len(candidate.begun))
    yield Curve(
        f"{candidate.name}, training", candidate.colour, x, _means(rows), dash=_TRAINING, width=1.5, listed=False
    )


def _heads(candidate: Candidate, score: str) -> Iterator[Curve]:
    """The best head of each layer; which one that is, each seed's last look decides."""
    for layer in range(len(getattr(candidate.last[0], score))):
        best = [_best(history, score, layer) for history in candidate.begun]
        head = "best head" if len(best) > 1 else f"head {best[0]}"
        values = [_score(score, layer, one) for one in best]
        yield from _curves(candidate, *values, name=f"{candidate.name}, layer {layer} {head}", dash=layer)


def _best(history: History, score: str, layer: int) -> int:
    scores: list[float] = getattr(history.evaluations[-1], score)[layer]
    return max(range(len(scores)), key=lambda head: scores[head])


def _score(score: str, layer: int, head: int) -> Value:
    return lambda seen: float(getattr(seen, score)[layer][head])


def _curves(candidate: Candidate, *values: Value, name: str = "", dash: int = 0) -> Iterator[Curve]:
    """The mean over the seeds with its band, and thin lines of seeds that went on alone. One value, or one a seed."""
    name = name or candidate.name
    runs = candidate.begun
    each = values if len(values) == len(runs) else values * len(runs)
    x, rows = _together(runs, each)
    several = len(runs) > 1 and all(map(math.isfinite, (value for row in rows for value in row)))
    low, high = ([min(row) for row in rows], [max(row) for row in rows]) if several else ([], [])
    yield Curve(name, candidate.colour, x, _means(rows), low, high, dash=dash)
    for history, value in zip(runs, each, strict=True):
        tail = history.evaluations[max(0, len(x) - 1) :]
        if len(tail) > 1:
            steps, levels = [seen.step for seen in tail], [_finite(value(seen)) for seen in tail]
            yield Curve(
                f"{name}, seed {history.recipe.seed}",
                candidate.colour,
                steps,
                levels,
                dash=dash,
                width=_TAIL,
                listed=False,
            )


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
    if max(seeds) > 1:
        many = f"{min(seeds)} to {max(seeds)}" if len(seeds) > 1 else f"{max(seeds)}"
        parts.append(f"{many} seeds, band = lowest to highest")
    if key in ("accuracy", "loss"):
        parts.append("dotted: training batches")
    else:
        parts.append("best head of each layer at the last look, counted from 0")
    return " · ".join(parts)


def _standing(candidate: Candidate) -> str:
    if not candidate.begun:
        return "not begun"
    last = candidate.last
    values = [seen.test_accuracy for seen in last]
    many = len(values) > 1
    spread = (
        f"lowest {share(min(values), 3)}, highest {share(max(values), 3)}, {len(values)} seeds"
        if many
        else f"seed {candidate.begun[0].recipe.seed}"
    )
    words = f"{share(fmean(values), 3)} after {_steps(candidate.begun, last)} ({spread})"
    for score, title in (("induction", "induction"), ("previous", "previous token")):
        layers: list[list[list[float]]] = [getattr(seen, score) for seen in last]
        if all(layers):
            words += f", {title} {share(fmean(max(map(max, one)) for one in layers), 3)}"
            words += "" if many else f" ({_place(layers[0])})"
    missing = len(candidate.histories) - len(candidate.begun)
    return words + "".join(_ended(candidate)) + (f"; {missing} more not begun" if missing else "")


def _place(layers: list[list[float]]) -> str:
    """The best head of all layers."""
    value, layer, head = max(
        (value, -layer, -head) for layer, scores in enumerate(layers) for head, value in enumerate(scores)
    )
    return f"layer {-layer} head {-head}" if math.isfinite(value) else "no head"


def _steps(runs: Sequence[History], last: Sequence[Evaluation]) -> str:
    """ "400 steps", "120 of 400 steps", "80 to 120 of 400 steps"."""
    low, high = min(seen.step for seen in last), max(seen.step for seen in last)
    planned = max(history.recipe.steps for history in runs)
    done = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{done} steps" if low == planned else f"{done} of {planned:,} steps"


def _ended(candidate: Candidate) -> Iterator[str]:
    """The reasons of runs that ended before their last step, and how many of the seeds did."""
    reasons = [history.end.reason for history in candidate.begun if history.end]
    for reason, words in _ENDS.items():
        count = reasons.count(reason)
        if count:
            yield (
                f"; {words}"
                if len(candidate.histories) == 1
                else f"; {words} ({count} of {len(candidate.histories)} seeds)"
            )
