"""The bar of a training: Train and Stop, how far it is, and what must be said of it. It is polled while one goes on.

It also knows what of the training the page has drawn already, and when there is more.
"""

import time
from dataclasses import dataclass

import streamlit as st

from headlight.jobs.training import TrainingJob
from headlight.ui import sheet
from headlight.ui.numbers import count
from mha_core.errors import HeadlightError
from mha_core.training.limits import TrainingPlan
from mha_core.training.tasks import Task
from pages.frame import canvas, visitor

from .recipe_controls import title_of
from .runs import Runs

NO_DATA = "There is no data to train on yet; add some below"
POLL_SECONDS = {"waits": 2.0, "starts": 0.5, "trains": 0.5, "over": None}
NEWS_SECONDS = 1.5  # the curves are drawn no more often

State = tuple[str, str, int]


@dataclass(frozen=True)
class Bar:
    """The page's side of the bar.

    Attributes:
        plan: what the button "Train" begins, None when nothing can be trained now.
        problem: why not.
        shown: the runs below, by which the time of a plan is told.
        job: the training of this page's task, None when there is none.
        task: its data, None when they are not at hand.
    """

    plan: TrainingPlan | None
    problem: str
    shown: Runs
    job: TrainingJob | None
    task: Task | None

    def follow(self, state: State) -> None:
        """Draw the bar, again and again while the visitor trains; once it is in another state, the whole page.

        `state`: of the training before the runs were read.
        """
        present = visitor.job()

        def poll() -> None:
            if present is not None:
                present.heartbeat()
            if state_of(self.job) != state:
                st.rerun()
            self._draw()

        st.fragment(poll, run_every=POLL_SECONDS[state[1]])()

    def _draw(self) -> None:
        """Draws Train, Stop, progress, and the sentences on them."""
        present = visitor.job()
        running = present if present is not None and not present.is_finished else None
        job = running or self.job
        with st.container(horizontal=True, vertical_alignment="center", key="train_bar"):
            off = running is not None or self.plan is None or bool(self.problem)
            st.button("Train", key="train_start", type="primary", disabled=off, on_click=self._start)
            st.button("Stop", key="train_stop", disabled=running is None, on_click=running.stop if running else None)
            st.progress(job.share if job else 0.0, _progress(job) if job else self._announcement)
        canvas.sheet("train_told", [sheet.notices(self._notices(running))])
        canvas.poll(_news(self.job), lambda: st.rerun("train_curves"))

    def _start(self) -> None:
        try:
            visitor.start(self.plan or TrainingPlan(()))
        except HeadlightError as error:
            st.session_state["training_refused"] = f"This cannot be trained now: {error}."

    @property
    def _seconds(self) -> float:
        """About how long the plan takes, going by the steps of the runs shown; 0 where none has its sizes."""
        recipes = self.plan.recipes if self.plan else ()
        ended = [run for own in self.shown.candidates for run in own.histories if run.end and run.step]
        sizes = {(run.recipe.d_model, run.recipe.n_layers, run.recipe.batch) for run in ended}
        if not recipes or sizes != {(recipe.d_model, recipe.n_layers, recipe.batch) for recipe in recipes}:
            return 0.0
        steps = sum(recipe.steps for recipe in recipes)
        return steps * sum(run.seconds for run in ended) / sum(run.step for run in ended)

    @property
    def _announcement(self) -> str:
        """The number of runs and steps to train, and about how long they take."""
        if self.plan is None:
            return NO_DATA if self.task is None and not self.problem else ""
        recipes = self.plan.recipes
        seeds = len({recipe.seed for recipe in recipes})
        made = f" ({len(recipes) // seeds} × {count(seeds, 'seed')})" if seeds > 1 else ""
        text = f"{count(len(recipes), 'short training')}{made} of {recipes[0].steps:,} steps"
        return text + (f", about {max(1, round(self._seconds))} s" if self._seconds else "")

    def _notices(self, running: TrainingJob | None) -> list[str]:
        sentences, job = [self.problem, st.session_state.pop("training_refused", "")], self.job
        if job is not None and job.error:
            sentences.append(f"The training ended early: {job.error}. Runs saved earlier are kept.")
        elif job is not None and job.is_stopped:
            sentences.append("Stopped. The models trained so far are kept.")
        elif job is not None and job.shortened:
            sentences.append(
                f"Ended after {job.shortened:.0f} s because other users were waiting. The models trained so far are "
                "kept."
            )
        if running is not None and job is None:
            task = title_of(running.plan.recipes[0].task)
            sentences.append(f"Your training of {task} continues; choose that task to watch it.")
        sentences += job.record.told if job is not None else ()
        return list(dict.fromkeys(sentence for sentence in sentences if sentence))


def state_of(job: TrainingJob | None) -> State:
    """The state that the page shows beside the curves: the training, its stage, how many models `job` has saved."""
    present = visitor.job()
    if present is None:
        return "", "over", 0
    stage = (
        "over" if present.is_finished else "waits" if present.place else "trains" if present.record.looked else "starts"
    )
    saved = sum(folder is not None for folder in job.record.saved) if job is not None else 0
    return present.folder.name, stage, saved


def curves_are_drawn(job: TrainingJob | None) -> None:
    """Notes that the curves show all that there is now."""
    st.session_state["curves_drawn"] = (job.record.news if job else 0, time.monotonic())


def _news(job: TrainingJob | None) -> str:
    """The number of the news that the curves do not show yet; empty while there are none, or while it is too early."""
    drawn, drawn_at = st.session_state.get("curves_drawn", (0, 0.0))
    early = time.monotonic() < drawn_at + NEWS_SECONDS
    if job is None or early or not job.record.looked or job.record.news == drawn:
        return ""
    return f"{job.folder.name} {job.record.news}"


def _progress(job: TrainingJob) -> str:
    """The words beside its progress bar."""
    if job.place:
        return f"Waiting: {'1 training comes' if job.place == 1 else f'{job.place} trainings come'} first"
    if not job.is_finished and not job.record.started:
        return "Starting …"
    recipes, record = job.plan.recipes, job.record
    step, steps, seconds = record.step, sum(recipe.steps for recipe in recipes), record.seconds
    many = f"{len(recipes)} runs" if len(recipes) > 1 else ""
    if job.is_finished and step < steps and not job.error:
        timed = record.done == "time"
        why = "; other users were waiting" if job.shortened else "; the time limit was reached" if timed else ""
        how = "stopped" if job.is_stopped or timed else "ended"
        return f"{many} {how} after {seconds:.0f} s{why}; step {step:,} of {steps:,}".strip()
    speed = ""
    if step and seconds > 0:
        speed = f" · {step / seconds:,.0f} steps/s" if step >= seconds else f" · {seconds / step:.1f} s a step"
    return f"{many}{': ' * bool(many)}step {step:,} of {steps:,} · {seconds:.1f} s{speed}"
