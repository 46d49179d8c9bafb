"""The live timing on its page: its controls, and a fragment that follows the race and shows what came out."""

from __future__ import annotations

import streamlit as st

from mha_core import IMPLEMENTATIONS
from mha_core.errors import HeadlightError
from pages.kit.draw import canvas, sheet
from pages.kit.frame.controls import whole
from pages.kit.frame.links import BOUND, DEFAULTS
from pages.kit.picture.limits import MOST_PRODUCTS, MOST_SCORES

from . import timing_tables
from .parity import Sizes
from .timing import TASKS, YARDSTICK, Plan, Race

__all__ = ["show"]

POLL_SECONDS = 0.5


def show(sizes: Sizes, device: str) -> None:
    """Controls, progress and results."""
    note = (
        f"against {YARDSTICK} with its maps: the same weights, random input of the sizes chosen; "
        f"b · h · n² up to {MOST_SCORES:,}, half of it for a training step, b · n · d² up to {MOST_PRODUCTS:,}"
    )
    canvas.sheet("race_head", [sheet.title("Live timing", note)])
    names = st.pills(
        "Implementations",
        list(IMPLEMENTATIONS),
        selection_mode="multi",
        default=DEFAULTS["race"],
        key="race",
        bind=BOUND,
    )
    with st.container(horizontal=True, vertical_alignment="bottom", key="race_controls"):
        plan = _plan(names, sizes, device)
        problem = _problem(plan)
        race: Race | None = st.session_state.get("present_race")
        running = race is not None and not race.over
        st.button(
            "Start", key="start", type="primary", disabled=running or bool(problem), on_click=_start, args=(plan,)
        )
    refused = st.session_state.pop("race_refused", "")
    canvas.sheet("race_problem", [sheet.notices([why for why in (problem, refused) if why])])
    if race is None:
        canvas.sheet("race_empty", [sheet.text("Nothing has been timed yet.")])
    else:
        st.fragment(_follow, run_every=POLL_SECONDS if running else None)(race, polled=running)


def _plan(names: list[str], sizes: Sizes, device: str) -> Plan:
    task = st.selectbox("What is timed", list(TASKS), key="what", bind=BOUND)
    seconds = whole("Seconds per length", "secs", 1, 20)
    sweep = st.toggle("All lengths up to n", DEFAULTS["sweep"], key="sweep", bind=BOUND)
    return Plan(
        task or DEFAULTS["what"],
        tuple(name for name in IMPLEMENTATIONS if name in names),
        sizes.b,
        timing_tables.lengths(sizes.n, sweep=sweep),
        sizes.d_model,
        sizes.n_heads,
        seconds,
        device,
    )


def _problem(plan: Plan) -> str:
    """Why this cannot be timed, or nothing."""
    if not plan.names:
        return "Choose at least one implementation to time."
    try:
        plan.check()
    except HeadlightError as error:
        return f"This cannot be timed: {error}."
    return ""


def _start(plan: Plan) -> None:
    earlier: Race | None = st.session_state.get("present_race")
    if earlier is not None:
        earlier.stop()
    try:
        st.session_state["present_race"] = Race(plan).start()
    except HeadlightError as error:
        st.session_state["race_refused"] = f"This cannot be timed now: {error}."


def _follow(race: Race, *, polled: bool) -> None:
    """Progress, and what has come out so far."""
    race.heard()
    if polled and race.over:
        st.rerun()  # once more, without polling
    if not race.over:
        with st.container(horizontal=True, vertical_alignment="center", key="race_progress"):
            st.progress(race.share, timing_tables.progress(race))
            st.button("Stop", key="stop", on_click=race.stop)
    canvas.sheet("race_told", [sheet.notices(timing_tables.told(race))])
    if not race.legs:
        return
    theme = st.context.theme.type or "dark"
    charts = {"ratios": timing_tables.ratio_figure(race, theme), "memory": timing_tables.memory_figure(race, theme)}
    shown = {key: figure for key, figure in charts.items() if figure is not None}
    for column, (key, figure) in zip(st.columns(len(shown)), shown.items(), strict=True):
        with column:
            canvas.chart(f"race_{key}", figure, timing_tables.ALT[key])
    canvas.sheet("race_table", [sheet.panel("What came out", [timing_tables.table(race)], timing_tables.summary(race))])
