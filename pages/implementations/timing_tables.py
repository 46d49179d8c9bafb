"""What came out of a race: the table, the curves and the words. No streamlit."""

from __future__ import annotations

from collections.abc import Callable

from mha_core import IMPLEMENTATIONS
from pages.kit.draw import figures, sheet
from pages.kit.draw.figures import Figure, Point
from pages.kit.draw.sheet import Block

from .timing import YARDSTICK, Leg, Race

__all__ = ["ALT", "lengths", "memory_figure", "progress", "ratio_figure", "summary", "table", "told"]

ALT = {
    "ratios": "Lines of the time of each implementation over the length; the table below has the same numbers.",
    "memory": "Lines of the peak memory of each implementation over the length; the table below has the same numbers.",
}
NAMES = [*IMPLEMENTATIONS, YARDSTICK]
SHORTEST = 16


def lengths(n: int, *, sweep: bool) -> tuple[int, ...]:
    """The lengths of a race: n alone, or all powers of two from `SHORTEST` on that are below n, and n."""
    below = [SHORTEST * 2**power for power in range(12) if SHORTEST * 2**power < n]
    return (*below, n) if sweep else (n,)


def progress(race: Race) -> str:
    """What the race is at, for its progress bar."""
    if race.place:
        return f"Waiting: {race.place} {'race comes' if race.place == 1 else 'races come'} first"
    number = len(race.legs)
    if number == len(race.plan.lengths):
        return f"{race.elapsed:.0f} s"
    return f"Length {race.plan.lengths[number]}, {number + 1} of {len(race.plan.lengths)} · {race.elapsed:.0f} s"


def told(race: Race) -> list[str]:
    """What the visitor must know about how the race ended."""
    found = []
    if race.error:
        found.append(f"The race ended early: {race.error}.")
    elif race.stopped:
        done = f"{len(race.legs)} of {len(race.plan.lengths)}"
        found.append(f"Stopped after {race.elapsed:.1f} s; complete lengths are kept: {done}.")
    if race.legs and any(peak is None for leg in race.legs for peak in leg.peaks.values()):
        found.append("Peak memory is not measured on this device.")
    return found


def summary(race: Race) -> str:
    """What was measured, and on what."""
    plan = race.plan
    return f"{plan.task} · b {plan.b}, d_model {plan.d_model}, {plan.n_heads} heads, float32 · {race.machine}"


def table(race: Race) -> Block:
    """A row per length and candidate: times, ratio to the yardstick, peak memory."""
    head = ["length", "implementation", "median ms", "quartiles ms", "calls", "× torch", "peak MB", "peak × torch"]
    rows = []
    for leg in race.legs:
        for name in _raced(leg):
            times, one = leg.times[name], leg.peaks[YARDSTICK]
            peak = leg.peaks[name]
            quartiles = f"{times.low * 1e3:.3f} to {times.high * 1e3:.3f}"
            memory = ["–", "–"] if peak is None or not one else [f"{peak / 1e6:.2f}", f"{peak / one:.2f}"]
            ratio = f"{leg.ratio(name).median:.2f}"
            rows.append(
                [f"{leg.length:,}", name, f"{times.median * 1e3:.3f}", quartiles, f"{times.calls}", ratio, *memory]
            )
    caption = (
        f"× torch: the median as a multiple of that of {YARDSTICK} with its maps, in the same shuffled rounds. Half of "
        "the calls lie between the quartiles, which are the bars in the chart."
    )
    return sheet.table(head, rows, caption)


def ratio_figure(race: Race, theme: str) -> Figure:
    """The ratios of the times over the length, with their quartiles."""

    def point(leg: Leg, name: str) -> Point:
        ratio = leg.ratio(name)
        return Point(leg.length, ratio.median, ratio.low, ratio.high)

    return _figure(race, theme, "time, × torch", point)


def memory_figure(race: Race, theme: str) -> Figure | None:
    """The ratios of the peak memory over the length; None where it was not measured."""

    def point(leg: Leg, name: str) -> Point:
        own, one = leg.peaks[name], leg.peaks[YARDSTICK]
        ratio = own / one if own is not None and one else 0.0
        return Point(leg.length, ratio, ratio, ratio)

    measured = all(leg.peaks[YARDSTICK] for leg in race.legs)
    return _figure(race, theme, "peak memory, × torch", point) if measured else None


def _figure(race: Race, theme: str, y_title: str, point: Callable[[Leg, str], Point]) -> Figure:
    curves = {name: [point(leg, name) for leg in race.legs] for name in NAMES if name in race.plan.names}
    return figures.lines(
        curves,
        order=NAMES,
        x_title="length n, tokens",
        y_title=y_title,
        theme=theme,
        reference=(1, f"{YARDSTICK} with maps"),
    )


def _raced(leg: Leg) -> list[str]:
    return [name for name in NAMES if name in leg.times]
