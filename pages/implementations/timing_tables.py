"""The results of a timing: its table, its curves and its words."""

from collections.abc import Callable

from mha_core import IMPLEMENTATIONS
from pages.kit.draw import figures, sheet
from pages.kit.draw.figures import Figure, Point
from pages.kit.draw.sheet import Block

from .timing import YARDSTICK, AtLength, TimingJob

ALT = {
    "ratios": "Lines of the time of each implementation over the length; the table below has the same numbers.",
    "memory": "Lines of the peak memory of each implementation over the length; the table below has the same numbers.",
}
NAMES = [*IMPLEMENTATIONS, YARDSTICK]
SHORTEST = 16


def lengths(n: int, *, sweep: bool) -> tuple[int, ...]:
    """The lengths that are timed: n alone, or all powers of two from `SHORTEST` on that are below n, and n."""
    below = [SHORTEST * 2**power for power in range(12) if SHORTEST * 2**power < n]
    return (*below, n) if sweep else (n,)


def progress(job: TimingJob) -> str:
    if job.place:
        return f"Waiting: {job.place} {'measurement comes' if job.place == 1 else 'measurements come'} first"
    done, every = len(job.results), len(job.plan.lengths)
    if done == every:
        return f"{job.elapsed:.0f} s"
    return f"Length {job.plan.lengths[done]}, {done + 1} of {every} · {job.elapsed:.0f} s"


def notices(job: TimingJob) -> list[str]:
    sentences = [*job.notices]
    if job.error:
        sentences.append(f"The timing ended early: {job.error}.")
    elif job.stopped:
        done = f"{len(job.results)} of {len(job.plan.lengths)}"
        sentences.append(f"Stopped after {job.elapsed:.1f} s; results for {done} lengths are kept.")
    if any(peak is None for result in job.results for peak in result.peaks.values()):
        sentences.append("Peak memory is not measured on this device.")
    return sentences


def summary(job: TimingJob) -> str:
    """The task, the sizes and the machine."""
    plan = job.plan
    return f"{plan.task} · b {plan.b}, d_model {plan.d_model}, {plan.n_heads} heads, float32 · {job.machine}"


def table(job: TimingJob) -> Block:
    """A row per length and candidate: times, ratio to the yardstick, peak memory."""
    head = ["length", "implementation", "median ms", "quartiles ms", "calls", "× torch", "peak MB", "peak × torch"]
    rows = []
    for result in job.results:
        for name in [name for name in NAMES if name in result.times]:
            times, peak, unit = result.times[name], result.peaks[name], result.peaks[YARDSTICK]
            quartiles = f"{times.low * 1e3:.3f} to {times.high * 1e3:.3f}"
            memory = ["–", "–"] if peak is None or not unit else [f"{peak / 1e6:.2f}", f"{peak / unit:.2f}"]
            ratio = f"{result.ratio(name).median:.2f}"
            rows.append(
                [f"{result.length:,}", name, f"{times.median * 1e3:.3f}", quartiles, f"{times.calls}", ratio, *memory]
            )
    caption = (
        f"× torch: the median as a multiple of that of {YARDSTICK} with its maps, in the same shuffled rounds. Half of "
        "the calls lie between the quartiles, which are the bars in the chart."
    )
    return sheet.table(head, rows, caption)


def ratio_figure(job: TimingJob, theme: str) -> Figure:
    """The ratios of the times over the length, with their quartiles."""

    def point(result: AtLength, name: str) -> Point:
        ratio = result.ratio(name)
        return Point(result.length, ratio.median, ratio.low, ratio.high)

    return _figure(job, theme, "time, × torch", point)


def memory_figure(job: TimingJob, theme: str) -> Figure | None:
    """The ratios of the peak memory over the length; None where it was not measured."""

    def point(result: AtLength, name: str) -> Point:
        peak, unit = result.peaks[name], result.peaks[YARDSTICK]
        ratio = peak / unit if peak is not None and unit else 0.0
        return Point(result.length, ratio, ratio, ratio)

    measured = all(result.peaks[YARDSTICK] for result in job.results)
    return _figure(job, theme, "peak memory, × torch", point) if measured else None


def _figure(job: TimingJob, theme: str, y_title: str, point: Callable[[AtLength, str], Point]) -> Figure:
    def points(name: str) -> list[Point]:
        """Those above 0, which a logarithmic axis can show."""
        return [made for made in (point(result, name) for result in job.results) if made.y > 0]

    return figures.lines(
        {name: points(name) for name in NAMES if name in job.plan.names},
        order=NAMES,
        x_title="length n, tokens",
        y_title=y_title,
        theme=theme,
        reference=(1, f"{YARDSTICK} with maps"),
        at_ends=True,
    )
