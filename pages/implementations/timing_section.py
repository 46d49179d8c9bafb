"""The live timing on its page: its controls, and a fragment that follows the job and draws its results."""

from collections.abc import Callable
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mha_core.errors import HeadlightError
from pages.kit.draw import canvas, sheet
from pages.kit.frame import missing, polling, widgets
from pages.kit.picture.limits import MOST_PRODUCTS, MOST_SCORES
from pages.kit.server import visits

from . import cases, timing_tables
from .parity import InputSizes
from .timing import FEWEST_OF_LARGE, LONGEST, MOST_RACED, TASKS, YARDSTICK, TimingJob, TimingPlan

POLL_SECONDS = 0.5


def show(sizes_of: Callable[[], InputSizes], device: str) -> tuple[InputSizes, DeltaGenerator]:
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
        sizes = sizes_of()
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
    lengths = timing_tables.lengths(sizes.n, sweep=widgets.switch("sweep"))
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
            st.progress(job.share, timing_tables.progress(job))
            st.button("Stop", key="stop", on_click=job.stop)
    canvas.sheet("race_told", [sheet.notices(timing_tables.notices(job))])
    if not job.results:
        return
    theme = st.context.theme.type or "dark"
    charts = {"ratios": timing_tables.ratio_figure(job, theme), "memory": timing_tables.memory_figure(job, theme)}
    drawn = {key: figure for key, figure in charts.items() if figure is not None}
    with missing.package_error():
        canvas.charts()
        for column, (key, figure) in zip(st.columns(len(drawn)), drawn.items(), strict=True):
            with column:
                canvas.chart(f"race_{key}", figure, timing_tables.ALT[key])
    canvas.sheet("race_summary", [sheet.text(timing_tables.summary(job), muted=True)])
    with widgets.folded("race_table", "All measured numbers"):
        canvas.sheet("race_table", [timing_tables.table(job)])
