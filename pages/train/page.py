"""Train: small models in front of the class, with the attention, the positions and the masks that the visitor chose."""

import streamlit as st

from headlight.jobs import process
from headlight.jobs.visit import NAME
from headlight.picture import words
from headlight.ui import sheet
from mha_core.errors import HeadlightError
from mha_core.training.tasks import Task
from pages.frame import canvas, layout, visitor, widgets
from pages.frame.form import form

from . import recipe_controls, runs, task_words, uploads
from .bar import Bar, state_of
from .runs import Runs
from .section import Section

GONE = "Your earlier training has been deleted, because the server keeps it for two hours."

OWN_RUNS = (
    "The link does not contain what you trained here; it opens the runs trained in advance. To share your own model, "
    "send “The trained model, zip” from Report, which can be opened with “Open a saved run”."
)

RECORDED = (
    "These runs were recorded on 1,225 news texts, which may not be distributed; docs/long-post.md has their reports "
    "and the post’s own figures. “beside it: ours” under More settings shows the fair comparison. Made-up news is a "
    "similar task whose models can be tried."
)


def show() -> None:
    """What is trained, the training, what came of it."""
    process.prepare()
    with form("train") as page, page.stage:
        canvas.visit(visitor.name(), st.session_state.get("visit_gone", ""), come_back)
        with st.container(border=True, key="recipe_panel"):
            left, asks, positions = st.columns([1, 1.5, 1.6])
            with left:
                name = recipe_controls.task()
            with st.container(gap=None):
                bar, top, own = (st.container(gap=None) for _ in range(3))
            more = st.expander("More settings")
        wish = recipe_controls.controls_of(name, positions, more, page.query.device)
        with own:
            task, data, notices = uploads.data_of(name, wish.keep_duplicates, wish.context)
        with asks:
            say_task(name, task, RECORDED if name == "news" else "")
        plan, problem = recipe_controls.plan_of(wish, task, data)
        visitor.offered()  # from now on what was trained here can be asked
        opened, tabs = widgets.tabs("tab")
        job = visitor.job_on(name)
        state = state_of(job)  # before the look: what comes between the two is a reason to draw the page once more
        shown = runs_of(name)
        with bar:
            Bar(plan, problem, shown, job, task).follow(state)
        Section(job, lambda: runs_of(name), task, plan.recipes if plan else (), opened).draw(shown, tabs)
        with tabs["Report"]:
            canvas.sheet("own_runs_told", [sheet.text(OWN_RUNS, muted=True)] if job else [])
            uploads.saved_run()
        if task is not None and data is not None and shown.on_other_data(task):
            notices.append("The runs below were trained on data other than the selected one.")
        with top:
            canvas.sheet("told", [sheet.notices([*page.link_warnings(), *wish.notices, *notices])])


def say_task(name: str, task: Task | None, recorded: str = "") -> None:
    """What the task asks, with rows of its data, and what is there already of it."""
    below = [" · ".join(task_words.examples(task)), recorded]
    said = [sheet.text(task_words.question(name, task)), *(sheet.text(line, muted=True) for line in below if line)]
    canvas.sheet("asks", said)


def come_back(told: str) -> None:
    """Takes up what this browser has trained before, with the data that were brought for it."""
    try:
        why = "" if visitor.come_back(told) else GONE
    except HeadlightError as error:
        why = words.sentence(error)
    if why:
        st.session_state["visit_gone"] = told if NAME.fullmatch(told) else ""
    for sentence in [why] if why else visitor.notices():
        layout.queue_notice(sentence)
    st.session_state["brought"] = {**visitor.brought(), **st.session_state.get("brought", {})}


def runs_of(name: str) -> Runs:
    """The runs of this task as far as they are now: the visitor's, or those that come with Headlight."""
    job, own = visitor.job_on(name), visitor.own_runs()
    shown = runs.of_job(job, {run.folder: run.id for run in own.values()}) if job else runs.of_shipped(name)
    opened = [run for run in own.values() if run.opened and run.history.recipe.task == name]
    return shown + runs.of_histories([run.history for run in opened], [run.id for run in opened])
