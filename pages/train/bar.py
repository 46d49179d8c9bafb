"""The training bar: Train, Stop, progress and notices, polled while a training runs.

It also tracks which progress the page has drawn, and when to draw more.
"""

import math
import time
from dataclasses import dataclass

import streamlit as st

from headlight.jobs.training import TrainingJob
from headlight.link.limits import MAX_BUDGET
from headlight.ui import sheet
from headlight.ui.numbers import count
from mha_core.errors import HeadlightError
from mha_core.training.limits import TrainingPlan, products
from mha_core.training.tasks import Task
from pages.frame import canvas, user

from .recipe_controls import task_title
from .runs import Runs, load_shipped

NO_DATA = "There is no data to train on yet; add some below"
POLL_SECONDS = {"waits": 2.0, "starts": 0.5, "trains": 0.5, "over": None}
NEWS_SECONDS = 1.5  # the least time between two drawings of the curves
LONG_SECONDS = 30  # a plan that takes longer comes with the offer of one seed
LIMIT_USED = 0.8  # of the time limit may be planned, as a busy machine is slower than the estimate

State = tuple[str, str, int]


@dataclass(frozen=True)
class Bar:
    """The server side of the training bar.

    Attributes:
        plan: what the button "Train" starts; None if nothing can be trained now.
        problem: the reason why nothing can be trained.
        runs: the runs on the page, from which the duration of a plan is estimated.
        job: the training of this page's task; None if there is none.
        task: the data of the task; None if they are not available.
    """

    plan: TrainingPlan | None
    problem: str
    runs: Runs
    job: TrainingJob | None
    task: Task | None

    def follow(self, state: State) -> None:
        """Draw the bar and poll it during a training; rerun the whole page when the state changes.

        Args:
            state: the state of the training before its runs were read.
        """
        current_job = user.job()

        def poll() -> None:
            if current_job is not None:
                current_job.heartbeat()
            if training_state(self.job) != state or st.session_state.pop("plan_changed", False):
                st.rerun()  # the page, as the plan comes from outside this fragment
            self._draw()

        st.fragment(poll, run_every=POLL_SECONDS[state[1]])()

    def _draw(self) -> None:
        """Draw the buttons, the progress bar and the notices."""
        current_job = user.job()
        running = current_job if current_job is not None and not current_job.is_finished else None
        job = running or self.job
        with st.container(horizontal=True, vertical_alignment="center", key="train_bar"):
            off = running is not None or self.plan is None or bool(self.problem)
            st.button("Train", key="train_start", type="primary", disabled=off, on_click=self._start)
            st.button("Stop", key="train_stop", disabled=running is None, on_click=running.stop if running else None)
            for label, values in [] if running else self._offers:
                changes = {**values, "plan_changed": True}
                st.button(label, key=f"offer_{'_'.join(values)}", on_click=st.session_state.update, kwargs=changes)
            st.progress(job.record.progress if job else 0.0, _progress(job) if job else self._announcement)
        canvas.sheet("train_notice", [sheet.notices(self._notices(running))])
        canvas.poll(_news(self.job), lambda: st.rerun("train_curves"))

    def _start(self) -> None:
        try:
            user.start(self.plan or TrainingPlan(()))
        except HeadlightError as error:
            st.session_state["training_refused"] = f"This cannot be trained now: {error}."

    @property
    def _seconds(self) -> float:
        """The estimated duration of the plan in seconds, from the speed of earlier runs; 0 if there are none.

        A smaller model is not taken for a faster one, as a step also takes time that does not depend on the sizes.
        """
        runs = self.runs if self.runs.candidates else load_shipped("made_up")
        ended = [run for candidate in runs.candidates for run in candidate.histories if run.end and run.step]
        if self.plan is None or not ended:
            return 0.0
        step = sum(run.seconds for run in ended) / sum(run.step for run in ended)
        size = max(products(run.recipe, run.recipe.max_len) for run in ended)
        factors = [max(1.0, products(recipe, recipe.max_len) / size) for recipe in self.plan.recipes]
        return sum(recipe.steps * step * factor for recipe, factor in zip(self.plan.recipes, factors, strict=True))

    @property
    def _is_cut(self) -> bool:
        """Return whether the time limit would probably cut the plan."""
        return self.plan is not None and self._seconds > LIMIT_USED * self.plan.seconds

    @property
    def _offers(self) -> list[tuple[str, dict[str, int]]]:
        """Changes of a long plan: the label of a button, and the values that it gives to controls."""
        if self.plan is None or self._seconds <= LONG_SECONDS:
            return []
        seeds, steps = len({recipe.seed for recipe in self.plan.recipes}), self.plan.recipes[0].steps
        single, max_seconds = self._seconds / seeds, LIMIT_USED * MAX_BUDGET
        if single > max_seconds:
            steps = max(1, int(steps * max_seconds / single))
            return [(f"What fits: 1 seed, {steps:,} steps", {"seeds": 1, "steps": steps, "budget": MAX_BUDGET})]
        limit = {"budget": _limit(single)} if single > LIMIT_USED * self.plan.seconds else {}
        offers = [(f"1 seed: about {single:,.0f} s", {"seeds": 1, **limit})] if seeds > 1 else []
        if self._is_cut and self._seconds <= max_seconds:
            offers.append((f"Time limit {_limit(self._seconds):,} s", {"budget": _limit(self._seconds)}))
        return offers

    @property
    def _announcement(self) -> str:
        """The number of runs and steps to train, and their estimated duration."""
        if self.plan is None:
            return NO_DATA if self.task is None and not self.problem else ""
        recipes = self.plan.recipes
        seeds = len({recipe.seed for recipe in recipes})
        factors = f" ({len(recipes) // seeds} × {count(seeds, 'seed')})" if seeds > 1 else ""
        text = f"{count(len(recipes), 'short training')}{factors} of {recipes[0].steps:,} steps"
        return text + (f", about {max(1, round(self._seconds)):,} s" if self._seconds else "")

    def _notices(self, running: TrainingJob | None) -> list[str]:
        sentences, job = [self.problem, st.session_state.pop("training_refused", "")], self.job
        if running is None and self.plan is not None and self._is_cut:
            sentences.append(
                f"The time limit of {self.plan.seconds:,.0f} s would probably cut these runs short, as they take about "
                f"{self._seconds:,.0f} s. Choose fewer seeds or steps, or a longer limit."
            )
        if job is not None and job.error:
            sentences.append(f"The training ended early: {job.error}. Runs saved earlier are kept.")
        elif job is not None and job.is_stopped:
            sentences.append("Stopped. The models trained so far are kept.")
        elif job is not None and job.preempted_after:
            sentences.append(
                f"Ended after {job.preempted_after:.0f} s because other users were waiting. "
                "The models trained so far are kept."
            )
        if running is not None and job is None:
            task = task_title(running.plan.recipes[0].task)
            sentences.append(f"Your training of {task} continues; choose that task to watch it.")
        sentences += job.record.notices if job is not None else ()
        return list(dict.fromkeys(sentence for sentence in sentences if sentence))


def _limit(seconds: float) -> int:
    return 10 * math.ceil(seconds / LIMIT_USED / 10)


def training_state(job: TrainingJob | None) -> State:
    """Return the state that triggers a rerun: the current job, its stage, and the number of models saved by `job`."""
    latest = user.job()
    if latest is None:
        return "", "over", 0
    stages = {"over": latest.is_finished, "waits": latest.position, "trains": latest.record.has_evaluations}
    stage = next((name for name, is_reached in stages.items() if is_reached), "starts")
    saved = sum(folder is not None for folder in job.record.saved) if job is not None else 0
    return latest.folder.name, stage, saved


def mark_curves_drawn(job: TrainingJob | None) -> None:
    """Record that the curves show the latest progress."""
    st.session_state["curves_drawn"] = (job.record.revision if job else 0, time.monotonic())


def _news(job: TrainingJob | None) -> str:
    """Return the id of the progress to draw; "" if there is none, or if it is too early to redraw."""
    drawn_news, drawn_at = st.session_state.get("curves_drawn", (0, 0.0))
    is_early = time.monotonic() < drawn_at + NEWS_SECONDS
    if job is None or is_early or not job.record.has_evaluations or job.record.revision == drawn_news:
        return ""
    return f"{job.folder.name} {job.record.revision}"


def _progress(job: TrainingJob) -> str:
    """Return the label of the progress bar."""
    if job.position:
        return f"Waiting: {'1 training comes' if job.position == 1 else f'{job.position} trainings come'} first"
    if not job.is_finished and not job.record.has_started:
        return "Starting …"
    recipes, record = job.plan.recipes, job.record
    step, steps, seconds = record.step, sum(recipe.steps for recipe in recipes), record.seconds
    runs = f"{len(recipes)} runs" if len(recipes) > 1 else ""
    if job.is_finished and step < steps and not job.error:
        is_timeout = record.end_reason == "time"
        reason = "; other users were waiting" if job.preempted_after else "; the time limit was reached" * is_timeout
        verb = "stopped" if job.is_stopped or is_timeout else "ended"
        return f"{runs} {verb} after {seconds:.0f} s{reason}; step {step:,} of {steps:,}".strip()
    speed = ""
    if step and seconds > 0:
        speed = f" · {step / seconds:,.0f} steps/s" if step >= seconds else f" · {seconds / step:.1f} s a step"
    return f"{runs}{': ' * bool(runs)}step {step:,} of {steps:,} · {seconds:.1f} s{speed}"
