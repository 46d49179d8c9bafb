"""What of a training the page has drawn already, and when there is more."""

import time

import streamlit as st

from pages.kit.jobs import visitor
from pages.kit.jobs.training import TrainingJob

NEWS_SECONDS = 1.5  # the curves are drawn no more often

State = tuple[str, str, int]


def state(job: TrainingJob | None) -> State:
    """The state that the page shows beside the curves: the training, its stage, how many models `job` has saved."""
    present = visitor.job()
    if present is None:
        return "", "over", 0
    stage = "over" if present.over else "waits" if present.place else "trains" if present.record.looked else "starts"
    saved = sum(folder is not None for folder in job.record.saved) if job is not None else 0
    return present.folder.name, stage, saved


def number(job: TrainingJob | None) -> str:
    """The number of the news that the curves do not show yet; empty while there are none, or while it is too early."""
    drawn, drawn_at = st.session_state.get("curves_drawn", (0, 0.0))
    early = time.monotonic() < drawn_at + NEWS_SECONDS
    if job is None or early or not job.record.looked or job.record.news == drawn:
        return ""
    return f"{job.folder.name} {job.record.news}"


def drawn(job: TrainingJob | None) -> None:
    """Notes that the curves show all that there is now."""
    st.session_state["curves_drawn"] = (job.record.news if job else 0, time.monotonic())
