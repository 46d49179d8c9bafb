"""Train: small models in front of the class, with the attention, the positions and the masks that the visitor chose."""

from __future__ import annotations

import streamlit as st

from pages.kit.draw import canvas, sheet
from pages.kit.frame import controls, layout, links
from pages.kit.frame.about import show_link
from pages.kit.frame.links import BOUND, DEFAULTS
from pages.kit.jobs import visitor
from pages.kit.picture import models

from . import downloads, recipe_controls, section, uploads
from . import runs as shown
from .runs import Shown


def show() -> None:
    """Controls, the training, what came of it."""
    with layout.page() as (rail, stage):
        with rail:
            name = recipe_controls.task()
            wish = recipe_controls.controls_of(name)
            st.toggle("One panel per model", DEFAULTS["apart"], key="apart", bind=BOUND)
            controls.large_type()
            about = st.popover("About this page", width="stretch")
        with stage:
            top = st.container()
            task, data, said = uploads.data_of(name, wish.keep_duplicates)
            plan, problem = recipe_controls.plan_of(wish, task, data)
            keep()
            found = section.follow(plan, problem, visitor.job_on(name), lambda: runs(name), task)
            downloads.files()
            if task is not None and data is not None and found.on_other_data(task):
                said.append("The runs below were trained on other data than what is chosen now.")
            with top:
                canvas.sheet(
                    "told",
                    [sheet.notices([*wish.notices, *said, *links.notices(film=section.film_usable(found))])],
                )
        with about:
            show_link()


def keep() -> None:
    """Makes what was trained here one of the models that can be asked."""
    models.keep({run.id: models.Own.of(run.label, run.folder, run.history) for run in visitor.own_runs().values()})


def runs(name: str) -> Shown:
    """The runs of this task as far as they are now: the visitor's, or those that come with Headlight."""
    job, own = visitor.job_on(name), visitor.own_runs()
    found = shown.of_job(job, {run.folder: run.id for run in own.values()}) if job else shown.of_shipped(name)
    runs_of_files = [own[run] for run in st.session_state.get("opened_runs", []) if run in own]
    opened = [run for run in runs_of_files if run.history.recipe.task == name]
    return found + shown.of_histories([run.history for run in opened], [run.id for run in opened])
