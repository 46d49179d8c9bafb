"""Learning curves over the training steps, as charts and tables."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from operator import attrgetter
from statistics import fmean

from headlight.ui import figures, sheet
from headlight.ui.figures import Curve, Figure
from headlight.ui.sheet import Block
from mha_core.training.events import Evaluation, History

_TRAINING = 2  # the dash number of curves on training batches
_LARGE, _LARGE_TYPE = 350, 18  # height and font size on a projector, in pixels

Value = Callable[[Evaluation], float]
# key, title, whether its values are shares, a remark, and the curves of one candidate
_ChartKind = tuple[str, str, bool, str, Callable[["Candidate"], Iterator[Curve]]]
_BATCHES = "dotted: training batches"
_BEST_HEADS = "best head of each layer at the last evaluation, counted from 0"
_DIGITS = "over all digits of unseen dates, in the last layer’s cross-attention map (mean of its heads)"


@dataclass(frozen=True)
class Candidate:
    """The runs of one recipe with several seeds.

    Attributes:
        colour: the number of its colour for `palette.candidate_colour`.
        histories: the history of each seed's run, complete or still growing.
        model: the registry's name of its first seed's model; None before it is saved.
    """

    name: str
    colour: int
    histories: tuple[History, ...]
    model: str | None = None

    @property
    def evaluated_runs(self) -> tuple[History, ...]:
        """The runs with at least one evaluation on the test rows."""
        return tuple(history for history in self.histories if history.evaluations)

    @property
    def last_evaluations(self) -> list[Evaluation]:
        """The last evaluation of each run that has one."""
        return [history.evaluations[-1] for history in self.evaluated_runs]


@dataclass(frozen=True)
class Chart:
    """A chart with its title and texts.

    Attributes:
        key: the chart's name in the page.
        note: a remark beside the title.
        alt: the alternative text for screen readers.
        curves: the data of the figure.
    """

    key: str
    title: str
    note: str
    alt: str
    figure: Figure
    curves: Sequence[Curve]

    @property
    def table(self) -> Block:
        """The numbers of the chart as a table: a row for each step, a column for each curve."""
        values = [dict(zip(points.x, points.y, strict=True)) for points in self.curves]
        steps = sorted({step for curve in values for step in curve})
        texts = [{step: "–" if value is None else f"{value:.4f}" for step, value in curve.items()} for curve in values]
        rows = [[str(step), *(curve.get(step, "–") for curve in texts)] for step in steps]
        caption = f"{self.title}: {self.note}." if self.note else f"{self.title}."
        return sheet.table(["step", *(curve.name for curve in self.curves)], rows, caption)


def charts(
    candidates: Sequence[Candidate],
    theme: str,
    *,
    waiting: bool = False,
    large: bool = False,
) -> list[Chart]:
    """Return the charts of accuracy and loss; for language models and translators also the scores of their heads.

    A curve is the mean over the seeds, up to the last evaluation that all of them have. Before the first evaluation the
    result is empty, or with `waiting` empty axes. `large` is for a projector.
    """
    active = [candidate for candidate in candidates if candidate.evaluated_runs]
    if not active and not waiting:
        return []
    span = max(history.recipe.steps for candidate in candidates for history in candidate.histories)
    return [_chart(kind, active, span, theme, large=large) for kind in _kinds(active)]


def _kinds(candidates: Sequence[Candidate]) -> list[_ChartKind]:
    starts = [history.start for candidate in candidates for history in candidate.evaluated_runs]
    language = any(candidate.evaluated_runs[0].evaluations[0].induction for candidate in candidates)
    inputs = "pictures" if all(start and start.picture for start in starts) else "sentences"
    title = f"Accuracy on unseen {inputs if all(start and start.classes for start in starts) else 'text'}"
    kinds: list[_ChartKind] = [
        ("accuracy", title, True, _BATCHES, partial(_metric_curves, metric="accuracy")),
        ("loss", "Loss", False, _BATCHES, partial(_metric_curves, metric="loss")),
    ]
    if language:
        for score, name in (("induction", "Induction score"), ("previous", "Previous-token score")):
            kinds.append((score, name, True, _BEST_HEADS, partial(_head_curves, score=score)))
    if any(candidate.evaluated_runs[0].evaluations[0].aligned is not None for candidate in candidates):
        curve = partial(_mean_curve, values=[lambda evaluation: evaluation.aligned or 0.0])
        kinds.append(("aligned", "Digits that attend to their word", True, _DIGITS, curve))
    return kinds


def _chart(kind: _ChartKind, candidates: Sequence[Candidate], span: int, theme: str, *, large: bool) -> Chart:
    key, title, share, remark, candidate_curves = kind
    curves = [curve for candidate in candidates for curve in candidate_curves(candidate)]
    titles, height = ("step", title.split(" on ")[0].lower()), _LARGE if large else figures.HEIGHT
    figure = figures.line_chart(
        curves, span=(0, span), titles=titles, theme=theme, x_phrase="after step", height=height
    )
    shares = {"range": [-0.03, 1.03], "tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".2f"}
    levels = {"rangemode": "tozero"} if curves else {"range": [0, 1]}
    figure["layout"]["yaxis"] |= {"zeroline": False, **(shares if share else levels)}
    if large:
        figure["layout"]["font"]["size"] = _LARGE_TYPE
        for axis in ("xaxis", "yaxis"):
            figure["layout"][axis] |= {"tickfont": {"size": _LARGE_TYPE}}
            figure["layout"][axis]["title"]["font"] = {"size": _LARGE_TYPE}
    names = ", ".join(candidate.name for candidate in candidates)
    scope = (
        f"over the steps of {names}; the same numbers are in the tables below." if names else "before the first step."
    )
    return Chart(key, title, _note(remark, candidates), f"{title} {scope}", figure, curves)


def _metric_curves(candidate: Candidate, metric: str) -> Iterator[Curve]:
    """Yield the curve of accuracy or loss on the test rows, and a dotted one on the training batches."""
    yield from _mean_curve(candidate, [attrgetter(f"test_{metric}")])
    x, rows = _align(candidate.evaluated_runs, [attrgetter(f"train_{metric}")] * len(candidate.evaluated_runs))
    yield Curve(
        f"{candidate.name}, training", candidate.colour, x, _means(rows), dash=_TRAINING, width=1.5, listed=False
    )


def _head_curves(candidate: Candidate, score: str) -> Iterator[Curve]:
    """Yield the curve of the best head of each layer, judged by each seed's last evaluation."""
    for layer in range(len(getattr(candidate.last_evaluations[0], score))):
        last = [getattr(evaluation, score)[layer] for evaluation in candidate.last_evaluations]
        best = [max(range(len(scores)), key=scores.__getitem__) for scores in last]
        head = "best head" if len(best) > 1 else f"head {best[0]}"
        values = [partial(_score, score, layer, index) for index in best]
        yield from _mean_curve(candidate, values, name=f"{candidate.name}, layer {layer} {head}", dash=layer)


def _score(score: str, layer: int, head: int, evaluation: Evaluation) -> float:
    return float(getattr(evaluation, score)[layer][head])


def _mean_curve(candidate: Candidate, values: Sequence[Value], name: str = "", dash: int = 0) -> Iterator[Curve]:
    """Yield the mean over the seeds with its band, up to the last evaluation that all of them have.

    `values` holds one function for all runs, or one for each.
    """
    name = name or candidate.name
    runs = candidate.evaluated_runs
    x, rows = _align(runs, values if len(values) == len(runs) else [*values] * len(runs))
    has_band = len(runs) > 1 and all(map(math.isfinite, (value for row in rows for value in row)))
    low, high = ([min(row) for row in rows], [max(row) for row in rows]) if has_band else ([], [])
    yield Curve(name, candidate.colour, x, _means(rows), low, high, dash=dash)


def _align(runs: Sequence[History], values: Sequence[Value]) -> tuple[list[int], list[tuple[float, ...]]]:
    """Return the steps that all runs have evaluated, and their values at each."""
    evaluations = zip(*(history.evaluations for history in runs), strict=False)
    # a run that was stopped has a last evaluation at a step that the others lack
    shared = list(takewhile(lambda row: len({evaluation.step for evaluation in row}) == 1, evaluations))
    rows = [tuple(value(evaluation) for value, evaluation in zip(values, row, strict=True)) for row in shared]
    return [row[0].step for row in shared], rows


def _means(rows: Sequence[tuple[float, ...]]) -> list[float | None]:
    """Return the mean of each row; None for NaN or infinity, which leaves a gap in the curve."""
    return [mean if math.isfinite(mean := fmean(row)) else None for row in rows]


def _note(remark: str, candidates: Sequence[Candidate]) -> str:
    parts = []
    seeds = {len(candidate.evaluated_runs) for candidate in candidates}
    if max(seeds, default=0) > 1:
        seed_range = f"{min(seeds)} to {max(seeds)}" if len(seeds) > 1 else f"{max(seeds)}"
        parts.append(f"{seed_range} seeds, band = lowest to highest")
    return " · ".join([*parts, remark])
