"""What is shown while the sentence cannot be used: the last one that could, and a sentence that says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import streamlit as st

from mha_core.errors import HeadlightError
from pages.kit.picture import models, words
from pages.kit.picture.fitting import within
from pages.kit.picture.settings import Settings

T = TypeVar("T")


def or_last(
    settings: Settings, compute: Callable[[Settings], T], what: str, side: str = "", said: Sequence[str] = ()
) -> tuple[T, Settings, list[str]]:
    """What `compute` makes of the settings, the settings that it was made of, and what must be said.

    When the text cannot be used, those of the visit's last text that could.

    Args:
        what: what is shown then, "The maps below still show".
        side: whose text it is, on a page with two.
        said: what else must be said, of the controls.
    """
    key = f"last_text{side}"
    try:
        fitting, left_out = within(settings)
        computed = compute(fitting)
    except HeadlightError as error:
        model, last = st.session_state.get(key, ("", ""))
        last = last if model == settings.model else models.presets(settings.model)[0]
        shown = last if len(last) <= 60 else last[:59] + "…"
        before, left_out = within(replace(settings, text=last))
        return compute(before), before, [f"{words.sentence(error)} {what} “{shown}”.", *said, *left_out]
    st.session_state[key] = settings.model, settings.text
    return computed, fitting, [*said, *left_out]
