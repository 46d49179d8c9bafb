"""A training as it goes on: the bar with its buttons, curves, what each candidate knows, the film of its maps.

The bar is polled while the visitor trains. What came of the training is drawn anew when there is news of it, and what
the models answer with the page itself, which is run again when a model was saved.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mha_core.errors import HeadlightError
from mha_core.training.tasks import Labelled, Language
from pages.kit.draw import canvas, sheet
from pages.kit.draw.numbers import count
from pages.kit.frame import polling, widgets
from pages.kit.jobs import visitor
from pages.kit.jobs.training import Plan, TrainingJob
from pages.kit.picture.fields import DEFAULTS

from . import ask_section, curves, downloads, film, summary
from .recipe_controls import title_of
from .runs import Shown

POLL_SECONDS = {"waits": 2.0, "starts": 0.5, "trains": 0.5, "over": None}
NEWS_SECONDS = 1.5  # the curves are drawn no more often

Look = Callable[[], Shown]
Task = Labelled | Language | None
State = tuple[str, str, int]


@dataclass(frozen=True)
class _Bar:
    """The page's side of the bar.

    Attributes:
        plan: what the button "Train" begins, None when nothing can be trained now.
        problem: why not.
        announcement: how much the plan would train.
        job: the training of this page's task, None when there is none.
        present: the visitor's training, of this task or another.
        beforehand: the runs below come with Headlight.
    """

    plan: Plan | None
    problem: str
    announcement: str
    job: TrainingJob | None
    present: TrainingJob | None
    beforehand: bool


def follow(plan: Plan | None, problem: str, job: TrainingJob | None, look: Look, task: Task) -> Shown:
    """Draws the section; the bar by itself while the visitor's training is under way, and curves that have grown.

    Args:
        plan, problem, job: as in `_Bar`.
        look: the runs to show, as far as they have come.
        task: their data, None when it is not at hand.

    Returns:
        the runs it shows.
    """
    state = _state(job)  # before the look: what comes between the two is a reason to draw the page once more
    shown = look()
    announcement = "" if plan is None else _announcement(plan, shown)
    present = visitor.job()
    bar = _Bar(plan, problem, announcement, job, present, shown.beforehand and bool(shown.candidates))
    polling.follow(partial(_draw_bar, bar), present, lambda: _state(job), state, POLL_SECONDS[state[1]])
    if not any(candidate.begun for candidate in shown.candidates):
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
    """Tells whether the runs have the maps that the link asks for; unknown counts as yes."""
    text = str(st.session_state.get("film", DEFAULTS["film"]))
    firsts = [candidate.histories[0] for candidate in shown.candidates if candidate.begun]
    return not text or not firsts or film.parse_choice(text, firsts) is not None


def _state(job: TrainingJob | None) -> State:
    """The state that the page shows beside the curves: the training, its stage, how many models `job` has saved."""
    present = visitor.job()
    if present is None:
        return "", "over", 0
    stage = "over" if present.over else "waits" if present.place else "trains" if present.record.looked else "starts"
    saved = sum(folder is not None for folder in job.record.saved) if job is not None else 0
    return present.folder.name, stage, saved


def _draw_bar(bar: _Bar) -> None:
    """Draws Train, Stop, progress, and the sentences on them."""
    running = bar.present if bar.present is not None and not bar.present.over else None
    job = running or bar.job
    with st.container(horizontal=True, vertical_alignment="center", key="train_bar"):
        off = running is not None or bar.plan is None or bool(bar.problem)
        st.button("Train", key="train_start", type="primary", disabled=off, on_click=_start, args=(bar.plan,))
        st.button("Stop", key="train_stop", disabled=running is None, on_click=running.stop if running else None)
        st.progress(job.share if job else 0.0, _progress(job) if job else bar.announcement)
    sentences = _notices(bar)
    if running is not None and bar.job is None:
        task = title_of(running.plan.recipes[0].task)
        sentences.append(f"Your training of {task} goes on; choose that task to watch it.")
    canvas.sheet("train_told", [sheet.notices(sentences)])
    canvas.news(_news(bar.job), lambda: st.rerun("train_curves"))


def _news(job: TrainingJob | None) -> str:
    """The number of the news that the curves do not show yet; empty while there are none, or while it is too early."""
    drawn, drawn_at = st.session_state.get("curves_drawn", (0, 0.0))
    early = time.monotonic() < drawn_at + NEWS_SECONDS
    if job is None or early or not job.record.looked or job.record.news == drawn:
        return ""
    return f"{job.folder.name} {job.record.news}"


def _start(plan: Plan) -> None:
    try:
        visitor.start(plan)
    except HeadlightError as error:
        st.session_state["training_refused"] = f"This cannot be trained now: {error}."


def _progress(job: TrainingJob) -> str:
    """The words beside its progress bar."""
    if job.place:
        first = "1 training comes" if job.place == 1 else f"{job.place} trainings come"
        return f"Waiting: {first} first, at most {math.ceil(max(1.0, job.begins_within) / 60)} min"
    if not job.over and not job.record.started:
        return "Starting"
    recipes, record = job.plan.recipes, job.record
    return curves.progress(len(recipes), record.step, sum(recipe.steps for recipe in recipes), record.seconds)


def _announcement(plan: Plan, shown: Shown) -> str:
    """The number of runs and steps to train, and about how long they take, going by the steps of the runs shown."""
    recipes, steps = plan.recipes, sum(recipe.steps for recipe in plan.recipes)
    text = f"{count(len(recipes), 'run')} of {recipes[0].steps:,} steps"
    ended = [run for candidate in shown.candidates for run in candidate.histories if run.end and run.step]
    sizes = {(run.recipe.d_model, run.recipe.n_layers, run.recipe.batch) for run in ended}
    if sizes == {(recipe.d_model, recipe.n_layers, recipe.batch) for recipe in recipes}:
        seconds = steps * sum(run.seconds for run in ended) / sum(run.step for run in ended)
        text += f", about {max(1, round(seconds))} s if they take as long as the runs below"
    return text


def _notices(bar: _Bar) -> list[str]:
    sentences, job = [bar.problem, st.session_state.pop("training_refused", "")], bar.job
    if job is not None and job.error:
        sentences.append(f"The training ended early: {job.error}. Runs that were saved before are kept.")
    elif job is not None and job.stopped:
        sentences.append("Stopped: what was learnt up to there is kept.")
    elif job is not None and job.shortened:
        sentences.append(
            f"Ended after {job.shortened:.0f} s because others were waiting; what was learnt until then is kept."
        )
    elif bar.beforehand:
        mine = " Press Train to train your own." if bar.present is None or bar.present.over else ""
        sentences.append(f"These models were trained in advance (make checkpoints).{mine}")
    return [sentence for sentence in sentences if sentence]


def _nothing(job: TrainingJob | None, task: Task) -> str:
    if job is not None and job.place:
        return "The curves come when it is your turn."
    if job is not None and not job.over:
        return "Waiting for the first evaluation."
    if task is None:
        return "There is no data yet that can be trained on: bring it above, then press Train."
    return "Nothing has been trained on this yet: press Train."


def _curves(job: TrainingJob | None, look: Look, left: DeltaGenerator, below: DeltaGenerator) -> None:
    """Draws what came of the training so far: curves, on the left what each candidate knows, below the film."""
    st.session_state["curves_drawn"] = (job.record.news if job else 0, time.monotonic())
    shown = look()
    _charts(shown)
    with left:
        _known(shown)
    with below:
        _film(shown)


def _charts(shown: Shown) -> None:
    """Draws the curves, and writes the same as text."""
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
    begun = [candidate for candidate in shown.candidates if candidate.begun]
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
    """Draws the maps of the first seed of each candidate."""
    firsts = [candidate.histories[0] for candidate in shown.candidates]
    with st.container(key="film_carrier"):
        text = widgets.text("film")
    title = sheet.title("The maps while they learn", "first seed of each; play, or pull the slider")
    canvas.sheet("film_title", [title])
    names, colours = zip(*((candidate.name, candidate.colour) for candidate in shown.candidates), strict=True)
    packed = film.pack(firsts, names, colours=colours)
    choice = film.parse_choice(text, firsts) or film.Choice()

    def choose(wanted: str) -> None:
        if film.parse_choice(wanted, firsts) is not None:
            st.session_state["film"] = wanted if wanted != str(film.Choice()) else DEFAULTS["film"]

    film.show(packed, choice, choose)
