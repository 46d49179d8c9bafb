"""A part of a page that follows a job by itself, while the rest of the page stays as it is."""

from collections.abc import Callable

import streamlit as st

from headlight.jobs.job import Job


def follow(
    draw: Callable[[], object], job: Job | None, state: Callable[[], object], seen: object, seconds: float | None
) -> None:
    """Draws a part of the page as a fragment that is run again every so many `seconds`; None = never by itself.

    Each time the job hears that its visitor is there. When `state()` is no longer what the page was drawn from, `seen`,
    the whole page is run once more.
    """

    def poll() -> None:
        if job is not None:
            job.heard()
        if state() != seen:
            st.rerun()
        draw()

    st.fragment(poll, run_every=seconds)()
