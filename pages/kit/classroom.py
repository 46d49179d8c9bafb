"""A training as it goes on: the bar with its buttons, curves, what each candidate knows, the film of its maps."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from mha_core.errors import HeadlightError
from mha_core.tasks import Labelled, Language

from . import canvas, figures, film, knows, learning, questions, sheet, takeaway, visit
from .lab import Job, Plan
from .links import BOUND, DEFAULTS
from .recipes import title_of
from .shown import Shown

__all__ = ["film_usable", "follow"]

POLL_SECONDS = 0.5

Look = Callable[[], Shown]
Task = Labelled | Language | None


def follow(plan: Plan | None, problem: str, job: Job | None, look: Look, task: Task) -> None:
    """Draws all of it, again and again while the job is under way.

    Args:
        plan: what the button "Train" begins, None when nothing can be trained now.
        problem: why not.
        job: the training to follow; None when there is none of this task.
        look: the runs to show, as far as they have come.
        task: their data, None when it is not at hand.
    """
    present = visit.job()
    running = present is not None and not present.over
    st.fragment(_follow, run_every=POLL_SECONDS if running else None)(plan, problem, job, look, task, polled=running)


def film_usable(shown: Shown) -> bool:
    """Whether the runs have the maps that the link asks for; unknown counts as yes."""
    text = str(st.session_state.get("film", DEFAULTS["film"]))
    firsts = [each.histories[0] for each in shown.candidates if each.begun]
    return not text or not firsts or film.parse_choice(text, firsts) is not None


def _follow(plan: Plan | None, problem: str, job: Job | None, look: Look, task: Task, *, polled: bool) -> None:
    present = visit.job()
    if present is not None:
        present.heard()
    if polled != (present is not None and not present.over):
        st.rerun()  # the whole page, and from then on with polling, or without
    shown = look()
    _bar(plan, problem, present if polled else job, shown)
    told = _notices(job, problem, shown)
    if polled and job is None and present is not None:
        told.append(f"Your training of {title_of(present.plan.recipes[0].task)} goes on; choose that task to watch it.")
    canvas.sheet("train_told", [sheet.notices(told)])
    if not any(each.begun for each in shown.candidates):
        canvas.sheet("train_empty", [sheet.text(_nothing(job, task))])
        return
    _charts(shown)
    asked = questions.asked_of(shown, task)
    left, right = st.columns([1.15, 1])
    with left:
        _known(shown)
    with right:
        questions.ask(asked)
    _film(shown)
    questions.attention(asked, shown)
    questions.chances(asked)
    questions.padding(asked)
    if asked.models:
        takeaway.judge(shown, task)


def _bar(plan: Plan | None, problem: str, job: Job | None, shown: Shown) -> None:
    """Train, Stop, progress."""
    running = job is not None and not job.over
    with st.container(horizontal=True, vertical_alignment="center", key="train_bar"):
        off = running or plan is None or bool(problem)
        st.button("Train", key="train_start", type="primary", disabled=off, on_click=_start, args=(plan,))
        st.button("Stop", key="train_stop", disabled=not running, on_click=job.stop if job else None)
        st.progress(job.share if job else 0.0, _progress(plan, job, shown))


def _start(plan: Plan) -> None:
    try:
        visit.start(plan)
    except HeadlightError as error:
        st.session_state["training_refused"] = f"This cannot be trained now: {error}."


def _progress(plan: Plan | None, job: Job | None, shown: Shown) -> str:
    """What the job is at, or how much would be trained."""
    if job is None:
        return "" if plan is None else _announced(plan, shown)
    if job.place:
        return f"Waiting: {job.place} {'training comes' if job.place == 1 else 'trainings come'} first"
    if not job.over and not any(history.start for history in job.histories):
        return "Starting"
    return learning.progress(job.histories)


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


def _notices(job: Job | None, problem: str, shown: Shown) -> list[str]:
    found = [problem, st.session_state.pop("training_refused", "")]
    if job is not None and job.error:
        found.append(f"The training ended early: {job.error}. Runs that were saved before are kept.")
    elif job is not None and job.stopped:
        found.append("Stopped: what was learnt up to there is kept.")
    elif shown.beforehand and shown.candidates:
        found.append("These runs were trained beforehand (make checkpoints). Train makes your own.")
    return [sentence for sentence in found if sentence]


def _nothing(job: Job | None, task: Task) -> str:
    if job is not None and not job.over:
        return "The first look at the test rows is still to come."
    if task is None:
        return "There is no data yet that can be trained on: bring it above, then press Train."
    return "Nothing has been trained on this yet: press Train."


def _charts(shown: Shown) -> None:
    """The curves, and the same told as text."""
    apart = bool(st.session_state.get("apart", DEFAULTS["apart"]))
    theme = st.context.theme.type or "dark"
    charts = learning.charts(shown.candidates, theme, apart=apart)
    across = min(3, len(shown.candidates)) if apart else 2
    widths = [1] * across if apart else [1.3, 1]
    for first in range(0, len(charts), across):
        columns = st.columns(widths)
        for column, chart in zip(columns, charts[first : first + across], strict=False):
            with column, st.container(border=True, height="stretch", key=f"chart_panel_{chart.key}"):
                canvas.sheet(f"title_{chart.key}", [sheet.title(chart.title, chart.note)])
                st.plotly_chart(
                    chart.figure, theme=None, key=f"chart_{chart.key}", config=figures.CONFIG, alt=chart.alt
                )
    canvas.sheet("curves_told", [sheet.text(" · ".join(learning.told(shown.candidates)), muted=True)])


def _known(shown: Shown) -> None:
    begun = [each for each in shown.candidates if each.begun]
    first = begun[0].histories[0]
    blocks = [
        knows.table(begun),
        *(sheet.text(line) for line in [knows.mirrors(begun)] if line),
        *knows.epochs(shown.timing),
        sheet.text(knows.note(begun), muted=True),
        sheet.text(knows.about_data(first), muted=True),
    ]
    note = knows.test_rows(first.start) if first.start else ""
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
