"""What is shown while the sentence cannot be used: the last one that could, and a sentence that says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import streamlit as st

from mha_core.errors import HeadlightError

from . import controls, text
from .cached import Settings
from .presets import PRESETS

__all__ = ["or_last"]

T = TypeVar("T")


def or_last(settings: Settings, compute: Callable[[Settings], T], what: str) -> tuple[T, Settings, list[str]]:
    """What `compute` makes of the settings, the settings that it was made of, and what must be said.

    When the text cannot be used, those of the visit's last text that could.

    Args:
        what: what is shown then, "The maps below still show".
    """
    try:
        controls.check_length(settings.text)
        made = compute(settings)
    except HeadlightError as error:
        last = st.session_state.get("last_text", PRESETS[0])
        shown = last if len(last) <= 60 else last[:59] + "…"
        before = replace(settings, text=last)
        return compute(before), before, [f"{text.sentence(error)} {what} “{shown}”."]
    st.session_state["last_text"] = settings.text
    return made, settings, []
