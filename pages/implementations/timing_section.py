"""The live timing on its page: its controls, a fragment that follows the job, and its results in a table and curves."""

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.link.limits import MOST_PRODUCTS, MOST_SCORES
from headlight.ui import figures, sheet
from headlight.ui.figures import Figure, Point
from headlight.ui.sheet import Block
from mha_core import IMPLEMENTATIONS
from mha_core.errors import HeadlightError
from pages.frame import canvas, missing, polling, visits, widgets

from . import cases
from .parity import InputSizes
from .timing import FEWEST_OF_LARGE, LONGEST, MOST_RACED, TASKS, YARDSTICK, TimingJob, TimingPlan

POLL_SECONDS = 0.5
ALT = "Lines of the time of each implementation over the length; the table below has the same numbers."
NAMES = [*IMPLEMENTATIONS, YARDSTICK]
SHORTEST = 16


def show(device: str) -> tuple[InputSizes, DeltaGenerator]:
    """Draws the controls, the progress and the results.

    Returns:
        the sizes that are chosen, and a place for what a text reports of these sizes.
    """
    told = (
        f"Random input, the same weights. Times are multiples of {YARDSTICK} with its maps; “torch” is the same module "
        "doing the chosen task."
    )
    canvas.sheet("race_head", [sheet.title("Which is the fastest here?"), sheet.text(told)])
    names = widgets.pills("race")
    cases_place = st.container()
    with st.container(horizontal=True, key="race_sizes"):
        b, n, d_model, n_heads = (widgets.whole(key) for key in ("b", "n", "d", "h"))
        sizes = InputSizes(b, n, d_model, n_heads, widgets.segments("biases"))
    with cases_place:  # above the controls that it sets, and drawn when they are known
        canvas.sheet("cases", [cases.buttons(sizes)], cases.choose)
        reported = st.container()
    job: TimingJob | None = st.session_state.get("timing_job")
    over = job is None or job.over
    with st.container(horizontal=True, vertical_alignment="bottom", key="race_controls"):
        plan = _plan(names, sizes, device)
        problem = _problem(plan)
        off = not over or bool(problem)
        st.button("Start", key="start", type="primary", disabled=off, on_click=_start, args=(plan,))
    refused = st.session_state.pop("timing_refused", "")
    limits = (
        f"What fits: texts × heads × tokens² up to {MOST_SCORES:,} in many rounds, half of it for a training step; up "
        f"to {MOST_RACED:,} in {FEWEST_OF_LARGE} long rounds or more, where the memory is free and within "
        f"{LONGEST:.0f} s a length. texts × tokens × d_model² up to {MOST_PRODUCTS:,}."
    )
    canvas.sheet("race_limits", [sheet.text(limits, muted=True)])
    canvas.sheet("race_problem", [sheet.notices([why for why in (problem, refused) if why])])
    if job is None:
        canvas.sheet("race_empty", [sheet.text("Nothing has been timed yet.")])
    else:
        polling.follow(partial(_draw, job), job, lambda: job.over, over, None if over else POLL_SECONDS)
    return sizes, reported


def _plan(names: list[str], sizes: InputSizes, device: str) -> TimingPlan:
    task, seconds = widgets.choice("what", list(TASKS)), widgets.whole("secs")
    lengths = lengths_of(sizes.n, sweep=widgets.switch("sweep"))
    return TimingPlan(task, tuple(names), sizes.b, lengths, sizes.d_model, sizes.n_heads, seconds, device, sizes.biases)


def _problem(plan: TimingPlan) -> str:
    if not plan.names:
        return "Choose at least one implementation to time."
    try:
        plan.check()
    except HeadlightError as error:
        return f"This cannot be timed: {error}."
    return ""


def _start(plan: TimingPlan) -> None:
    earlier: TimingJob | None = st.session_state.get("timing_job")
    if earlier is not None:
        earlier.stop()
    try:
        st.session_state["timing_job"] = TimingJob(plan, visits.visitor()).start()
    except HeadlightError as error:
        st.session_state["timing_refused"] = f"This cannot be timed now: {error}."


def _draw(job: TimingJob) -> None:
    if not job.over:
        with st.container(horizontal=True, vertical_alignment="center", key="race_progress"):
            st.progress(job.share, progress(job))
            st.button("Stop", key="stop", on_click=job.stop)
    canvas.sheet("race_told", [sheet.notices(notices(job))])
    if not job.results:
        return
    theme = st.context.theme.type or "dark"
    with missing.package_error():
        canvas.chart("race_ratios", ratio_figure(job, theme), ALT)
    canvas.sheet("race_summary", [sheet.text(summary(job), muted=True)])
    with widgets.folded("race_table", "All measured numbers"):
        canvas.sheet("race_table", [table(job)])


def lengths_of(n: int, *, sweep: bool) -> tuple[int, ...]:
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
    """Draw the ratios of the times over the length, with their quartiles."""

    def points(name: str) -> list[Point]:
        ratios = [(result.length, result.ratio(name)) for result in job.results]
        return [Point(length, ratio.median, ratio.low, ratio.high) for length, ratio in ratios]

    return figures.lines(
        {name: points(name) for name in NAMES if name in job.plan.names},
        order=NAMES,
        x_title="length n, tokens",
        y_title="time, × torch",
        theme=theme,
        reference=(1, f"{YARDSTICK} with maps"),
        at_ends=True,
    )
