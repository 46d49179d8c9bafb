"""The page Train: small models are trained live, with the chosen attention, positional encodings and masks."""

from pathlib import Path

import streamlit as st

from headlight.jobs import process
from headlight.jobs.workspace import NAME
from headlight.picture import words
from headlight.ui import sheet
from mha_core.errors import HeadlightError
from pages.frame import canvas, layout, user, widgets
from pages.frame.form import form

from . import recipe_controls, runs, task_words, uploads
from .bar import Bar, training_state
from .runs import Runs
from .section import Section

EXPIRED = "Your earlier training has been deleted, because the server keeps it for two hours."

OWN_RUNS = (
    "The link does not contain what you trained here; it opens the runs trained in advance. To share your own model, "
    "send “The trained model, zip” from Report, which can be opened with “Open a saved run”."
)

RECORDED = (
    "These runs were recorded on 1,225 news texts, which may not be distributed. Report has the post’s own tables, "
    "probabilities and seconds beside ours. “beside it: ours” under More settings shows the fair comparison. Made-up "
    "news is a similar task whose models can be tried."
)


def show() -> None:
    """Draw the page: the recipe, the training bar and the results."""
    process.prepare()
    with form("train") as page, page.stage:
        canvas.sync_visit_name(user.visit_name(), st.session_state.get("visit_gone", ""), restore)
        with st.container(border=True, key="recipe_panel"):
            name_box, task_box, positions = st.columns([1, 1.5, 1.6])
            with name_box:
                name = recipe_controls.TASKS[widgets.choice("task", list(recipe_controls.TASKS))]
            with st.container(gap=None):
                bar_box, notices_box, data_box = (st.container(gap=None) for _ in range(3))
            more = st.expander("More settings")
        values = recipe_controls.draw_controls(name, positions, more, page.query.device)
        with data_box:
            task, data, notices = uploads.load_data(name, values.keep_duplicates, values.context)
        with task_box:
            rows, note = " · ".join(task_words.examples(task)), RECORDED if name == "news" else ""
            lines = [sheet.text(line, muted=True) for line in (rows, note) if line]
            canvas.sheet("asks", [sheet.text(task_words.question(name, task)), *lines])
        plan, problem = recipe_controls.build_plan(values, task, data)
        user.available_models()  # registers the models that were trained here
        open_tab, tabs = widgets.tabs("tab")
        job = user.job_on(name)
        state = training_state(job)  # before the runs are read, so that a change in between triggers a rerun
        current = current_runs(name)
        with bar_box:
            Bar(plan, problem, current, job, task).follow(state)
        Section(job, lambda: current_runs(name), task, plan.recipes if plan else (), open_tab).draw(current, tabs)
        with tabs["Report"]:
            canvas.sheet("own_runs_notice", [sheet.text(OWN_RUNS, muted=True)] if job else [])
            uploads.draw_upload()
        if task is not None and data is not None and current.has_other_data(task):
            notices.append("The runs below were trained on data other than the selected one.")
        with notices_box:
            canvas.sheet("notices", [sheet.notices([*page.link_warnings(), *values.notices, *notices])])


def restore(visit_name: str) -> None:
    """Restore the runs and uploads of an earlier session of this browser."""
    try:
        reason = "" if user.resume(visit_name) else EXPIRED
    except HeadlightError as error:
        reason = words.error_sentence(error)
    if reason:
        st.session_state["visit_gone"] = visit_name if NAME.fullmatch(visit_name) else ""
    for sentence in [reason] if reason else user.notices():
        layout.queue_notice(sentence)
    st.session_state["brought"] = {**user.uploads(), **st.session_state.get("brought", {})}


def current_runs(name: str) -> Runs:
    """Return the current runs of a task: the client's own, or those that come with Headlight, and opened files.

    Own runs that ended early stand beside better ones that come with Headlight.
    """
    job, own_runs = user.job_on(name), user.own_runs()
    if job:
        names: dict[Path | None, str] = {run.folder: run.id for run in own_runs.values()}
        current = runs.from_histories(list(zip(job.record.histories, map(names.get, job.record.saved), strict=True)))
    else:
        current = runs.load_shipped(name)
    if job is not None and job.is_finished and job.record.end_reason != "steps":
        shipped = runs.load_shipped(name)
        if shipped.best_accuracy > current.best_accuracy:
            current = shipped.append(current, runs.CUT)
    uploaded = [run for run in own_runs.values() if run.is_imported and run.history.recipe.task == name]
    return current.append(runs.from_histories([(run.history, run.id) for run in uploaded]), "file")
