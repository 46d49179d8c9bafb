"""Train: small models in front of the class, with the attention, the positions and the masks that the visitor chose."""

from __future__ import annotations

import streamlit as st

from pages.kit.draw import canvas, sheet
from pages.kit.frame import layout, widgets
from pages.kit.frame.about import show_link
from pages.kit.jobs import visitor
from pages.kit.picture import models

from . import downloads, recipe_controls, runs, section, uploads
from .runs import Shown


def show() -> None:
    """Controls, the training, what came of it."""
    with layout.page("About this page") as page:
        with page.rail:
            name = recipe_controls.task()
            wish = recipe_controls.controls_of(name)
            widgets.switch("apart")
        with page.stage:
            top = st.container()
            task, data, notices = uploads.data_of(name, wish.keep_duplicates)
            plan, problem = recipe_controls.plan_of(wish, task, data)
            offer_own_runs()
            shown = section.follow(plan, problem, visitor.job_on(name), lambda: runs_of(name), task)
            downloads.files()
            if task is not None and data is not None and shown.on_other_data(task):
                notices.append("The runs below were trained on other data than what is chosen now.")
            with top:
                notices += page.answer_link(film=section.film_usable(shown))
                canvas.sheet("told", [sheet.notices([*wish.notices, *notices])])
        with page.about:
            show_link()


def offer_own_runs() -> None:
    """Makes what was trained here one of the models that can be asked."""
    models.keep({run.id: models.Own.of(run.label, run.folder, run.history) for run in visitor.own_runs().values()})


def runs_of(name: str) -> Shown:
    """The runs of this task as far as they are now: the visitor's, or those that come with Headlight."""
    job, own = visitor.job_on(name), visitor.own_runs()
    shown = runs.of_job(job, {run.folder: run.id for run in own.values()}) if job else runs.of_shipped(name)
    opened = [own[run] for run in st.session_state.get("opened_runs", []) if run in own]
    opened = [run for run in opened if run.history.recipe.task == name]
    return shown + runs.of_histories([run.history for run in opened], [run.id for run in opened])
