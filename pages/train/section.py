"""A training as it goes on: the bar with its buttons, curves, what each candidate knows, the film of its maps.

The bar is polled while the visitor trains. What came of the training is drawn anew when there is news of it, and what
the models answer with the page itself, which is run again when a model was saved.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mha_core.errors import HeadlightError
from mha_core.training.tasks import Labelled, Language
from pages.kit.draw import canvas, sheet
from pages.kit.frame.links import BOUND, DEFAULTS
from pages.kit.jobs import visitor
from pages.kit.jobs.training import Job, Plan

from . import ask_section, curves, downloads, film, summary
from .recipe_controls import title_of
from .runs import Shown

__all__ = ["film_usable", "follow"]

POLL_SECONDS = {"waits": 2.0, "starts": 0.5, "trains": 0.5, "over": None}
NEWS_SECONDS = 1.5  # the curves are drawn no more often

Look = Callable[[], Shown]
Task = Labelled | Language | None
State = tuple[str, str, int]


@dataclass(frozen=True)
class _Bar:
    """What the bar needs of the page that it stands on.

    Attributes:
        plan: what the button "Train" begins, None when nothing can be trained now.
        problem: why not.
        announced: how much the plan would train.
        job: the training of this page's task, None when there is none.
        state: of the visitor's training when the page was drawn, as in `_state`.
        beforehand: the runs shown come with Headlight.
    """

    plan: Plan | None
    problem: str
    announced: str
    job: Job | None
    state: State
    beforehand: bool


def follow(plan: Plan | None, problem: str, job: Job | None, look: Look, task: Task) -> Shown:
    """Draws all of it; by themselves the bar while the visitor's training is under way, and curves that have grown.

    Args:
        plan, problem, job: as in `_Bar`.
        look: the runs to show, as far as they have come.
        task: their data, None when it is not at hand.

    Returns:
        the runs it shows.
    """
    state = _state(job)  # before the look: what comes between the two is a reason to draw the page once more
    shown = look()
    announced = "" if plan is None else _announced(plan, shown)
    bar = _Bar(plan, problem, announced, job, state, shown.beforehand and bool(shown.candidates))
    st.fragment(_bar, run_every=POLL_SECONDS[state[1]])(bar)
    if not any(each.begun for each in shown.candidates):
        canvas.sheet("train_empty", [sheet.text(_nothing(job, task))])
        return shown
    asked = ask_section.asked_of(shown, task)
    charts = st.container(key="train_charts")
    left, right = st.columns([1.15, 1])
    with right:
        ask_section.ask(asked)
    maps = st.container(key="train_maps")
    with charts:
        st.fragment(_curves, key="train_curves")(job, look, left, maps)
    ask_section.attention(asked, shown)
    ask_section.chances(asked)
    ask_section.padding(asked)
    if asked.models:
        downloads.judge(shown, task)
    return shown


def film_usable(shown: Shown) -> bool:
    """Whether the runs have the maps that the link asks for; unknown counts as yes."""
    text = str(st.session_state.get("film", DEFAULTS["film"]))
    firsts = [each.histories[0] for each in shown.candidates if each.begun]
    return not text or not firsts or film.parse_choice(text, firsts) is not None


def _state(job: Job | None) -> State:
    """What the page depends on beside the curves: which training, its stage, how many models `job` has to be asked."""
    present = visitor.job()
    if present is None:
        return "", "over", 0
    stage = "over" if present.over else "waits" if present.place else "trains" if present.looked else "starts"
    saved = sum(folder is not None for folder in job.saved) if job is not None else 0
    return present.folder.name, stage, saved


def _bar(bar: _Bar) -> None:
    """Train, Stop, progress, and what must be said of them."""
    present = visitor.job()
    if present is not None:
        present.heard()
    if _state(bar.job) != bar.state:
        st.rerun()  # the whole page: it begins or ends, or a model can be asked
    running = present if present is not None and not present.over else None
    job = running or bar.job
    with st.container(horizontal=True, vertical_alignment="center", key="train_bar"):
        off = running is not None or bar.plan is None or bool(bar.problem)
        st.button("Train", key="train_start", type="primary", disabled=off, on_click=_start, args=(bar.plan,))
        st.button("Stop", key="train_stop", disabled=running is None, on_click=running.stop if running else None)
        st.progress(job.share if job else 0.0, _progress(job) if job else bar.announced)
    told = _notices(bar)
    if running is not None and bar.job is None:
        told.append(f"Your training of {title_of(running.plan.recipes[0].task)} goes on; choose that task to watch it.")
    canvas.sheet("train_told", [sheet.notices(told)])
    canvas.news(_news(bar.job), lambda: st.rerun("train_curves"))


def _news(job: Job | None) -> str:
    """The number of the news that the curves do not show yet; empty while there are none, or while it is too early."""
    drawn, at = st.session_state.get("curves_drawn", (0, 0.0))
    if job is None or not job.looked or job.news == drawn or time.monotonic() < at + NEWS_SECONDS:
        return ""
    return f"{job.folder.name} {job.news}"


def _start(plan: Plan) -> None:
    try:
        visitor.start(plan)
    except HeadlightError as error:
        st.session_state["training_refused"] = f"This cannot be trained now: {error}."


def _progress(job: Job) -> str:
    """What the job is at."""
    if job.place:
        first = "1 training comes" if job.place == 1 else f"{job.place} trainings come"
        return f"Waiting: {first} first, at most {math.ceil(max(1.0, job.begins_within) / 60)} min"
    if not job.over and not job.started:
        return "Starting"
    recipes = job.plan.recipes
    return curves.progress(len(recipes), job.step, sum(recipe.steps for recipe in recipes), job.seconds)


def _announced(plan: Plan, shown: Shown) -> str:
    """How much there is to train, and about how long that takes, going by the steps of the runs shown."""
    count, steps = len(plan.recipes), sum(recipe.steps for recipe in plan.recipes)
    said = f"{count} run{'' if count == 1 else 's'} of {plan.recipes[0].steps:,} steps"
    known = [history for each in shown.candidates for history in each.histories if history.end and history.step]
    sizes = {(run.recipe.d_model, run.recipe.n_layers, run.recipe.batch) for run in known}
    if sizes == {(recipe.d_model, recipe.n_layers, recipe.batch) for recipe in plan.recipes}:
        seconds = steps * sum(run.seconds for run in known) / sum(run.step for run in known)
        said += f", about {max(1, round(seconds))} s if they take as long as the runs below"
    return said


def _notices(bar: _Bar) -> list[str]:
    found, job = [bar.problem, st.session_state.pop("training_refused", "")], bar.job
    if job is not None and job.error:
        found.append(f"The training ended early: {job.error}. Runs that were saved before are kept.")
    elif job is not None and job.stopped:
        found.append("Stopped: what was learnt up to there is kept.")
    elif job is not None and job.shortened:
        found.append(
            f"Ended after {job.shortened:.0f} s because others were waiting; what was learnt until then is kept."
        )
    elif bar.beforehand:
        own = " Train makes your own." if bar.state[1] == "over" else ""
        found.append(f"These runs were trained beforehand (make checkpoints).{own}")
    return [sentence for sentence in found if sentence]


def _nothing(job: Job | None, task: Task) -> str:
    if job is not None and job.place:
        return "The curves come when it is your turn."
    if job is not None and not job.over:
        return "The first look at the test rows is still to come."
    if task is None:
        return "There is no data yet that can be trained on: bring it above, then press Train."
    return "Nothing has been trained on this yet: press Train."


def _curves(job: Job | None, look: Look, left: DeltaGenerator, below: DeltaGenerator) -> None:
    """What came of the training so far: curves, on the left what each candidate knows, below the film."""
    st.session_state["curves_drawn"] = (job.news if job else 0, time.monotonic())
    shown = look()
    _charts(shown)
    with left:
        _known(shown)
    with below:
        _film(shown)


def _charts(shown: Shown) -> None:
    """The curves, and the same told as text."""
    apart = bool(st.session_state.get("apart", DEFAULTS["apart"]))
    theme = st.context.theme.type or "dark"
    charts = curves.charts(shown.candidates, theme, apart=apart)
    across = min(3, len(shown.candidates)) if apart else 2
    widths = [1] * across if apart else [1.3, 1]
    for first in range(0, len(charts), across):
        columns = st.columns(widths)
        for column, chart in zip(columns, charts[first : first + across], strict=False):
            with column, st.container(border=True, height="stretch", key=f"chart_panel_{chart.key}"):
                canvas.sheet(f"title_{chart.key}", [sheet.title(chart.title, chart.note)])
                canvas.chart(f"chart_{chart.key}", chart.figure, chart.alt)
    canvas.sheet("curves_told", [sheet.text(" · ".join(curves.told(shown.candidates)), muted=True)])


def _known(shown: Shown) -> None:
    begun = [each for each in shown.candidates if each.begun]
    first = begun[0].histories[0]
    blocks = [
        summary.table(begun),
        *(sheet.text(line) for line in [summary.mirrors(begun)] if line),
        *summary.epochs(shown.timing),
        sheet.text(summary.note(begun), muted=True),
        sheet.text(summary.about_data(first), muted=True),
    ]
    note = summary.test_rows(first.start) if first.start else ""
    canvas.sheet("knows", [sheet.panel("What each one knows", blocks, note)])


def _film(shown: Shown) -> None:
    """The maps of the first seed of each candidate."""
    firsts = [each.histories[0] for each in shown.candidates]
    with st.container(key="film_carrier"):
        text = st.text_input("film", DEFAULTS["film"], key="film", bind=BOUND)
    canvas.sheet(
        "film_title", [sheet.title("The maps while they learn", "first seed of each; play, or pull the slider")]
    )
    packed = film.pack(
        firsts, [each.name for each in shown.candidates], colours=[each.colour for each in shown.candidates]
    )
    choice = film.parse_choice(text, firsts) or film.Choice()

    def choose(wanted: str) -> None:
        if film.parse_choice(wanted, firsts) is not None:
            st.session_state["film"] = wanted if wanted != str(film.Choice()) else DEFAULTS["film"]

    canvas.film(packed, str(choice), choose)
