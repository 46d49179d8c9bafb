"""The step view: what the script tells it, and what comes back. Its traces come over the wire (`message`)."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from mha_core import Model
from pages.kit.draw import events
from pages.kit.draw.view import Event, View
from pages.kit.frame import view_link
from pages.kit.frame.view_events import sizes_of, take_at, take_text
from pages.kit.picture.limits import MOST_FEATURES
from pages.kit.picture.place import At
from pages.kit.picture.settings import Settings

from .reshape_lessons import LESSONS
from .step_names import usable

VIEW = View("step_view", "steps", "steps.js")


def show(
    model: Model,
    settings: Settings,
    at: At,
    step: str,
    feature: int,
    *,
    box: str,
    notices: list[str],
    unusable: Sequence[str],
) -> None:
    """The step view at what is to be shown.

    Args:
        settings: with the last sentence that can be used; `box`: what stands in the box.
        at: layer, head and, where the visitor chose them, row and key.
        feature: the channel of the head in focus.
        notices: what the controls have to say.
        unusable: keys of the link's texts that could not be used.
    """
    sizes = sizes_of(model)

    def take(event: Event) -> None:
        """Writes the sentence, the step, the lesson and the cell that the visitor looks at into the link."""
        take_text(event)
        take_at(event, sizes)
        chosen_step, chosen_feature = events.text(event, "step"), events.whole(event, "feature")
        if chosen_step is not None and usable(chosen_step):
            st.session_state["step"] = chosen_step
        lesson = events.text(event, "lesson")
        if lesson in LESSONS:
            st.session_state["lesson"] = lesson
        if chosen_feature is not None and 0 <= chosen_feature < MOST_FEATURES:
            st.session_state["f"] = chosen_feature

    state = {
        **VIEW.turns(),
        **view_link.of({"": settings}, unusable, at=str(at), step=step),
        "at": str(at),
        "step": step,
        "feature": feature,
        "box": box,
        "typed": settings.text,
        "notices": notices,
    }
    VIEW.show(state, take)
