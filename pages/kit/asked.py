"""What is shown while the sentence cannot be used: the last one that could, and a sentence that says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import streamlit as st

from mha_core.errors import HeadlightError

from . import cached, controls, painted, text
from .cached import Settings
from .presets import PRESETS

__all__ = ["or_last"]

T = TypeVar("T")


def or_last(
    settings: Settings, compute: Callable[[Settings], T], what: str, side: str = ""
) -> tuple[T, Settings, list[str]]:
    """What `compute` makes of the settings, the settings that it was made of, and what must be said.

    When the text cannot be used, those of the visit's last text that could.

    Args:
        what: what is shown then, "The maps below still show".
        side: whose text it is, on a page with two.
    """
    said = st.session_state.pop("said_of_masks", [])
    try:
        controls.check_length(settings.text)
        fitting, left_out = within(settings)
        made = compute(fitting)
    except HeadlightError as error:
        last = st.session_state.get(f"last_text{side}", PRESETS[0])
        shown = last if len(last) <= 60 else last[:59] + "…"
        before, left_out = within(replace(settings, text=last))
        return compute(before), before, [f"{text.sentence(error)} {what} “{shown}”.", *said, *left_out]
    st.session_state[f"last_text{side}"] = settings.text
    return made, fitting, [*said, *left_out]


def within(settings: Settings) -> tuple[Settings, list[str]]:
    """The settings without a painting that was made for a sentence of another length, and a sentence that says so.

    Raises what `Model.tokenize` raises.
    """
    if not settings.painted:
        return settings, []
    tokens, _ = cached.model_on(settings.device).tokenize(settings.text)
    painted_for = painted.tokens_of(settings.painted)
    if painted_for == len(tokens):
        return settings, []
    sizes = f"for {painted_for} tokens, this sentence has {len(tokens)}"
    kept = "The link keeps it until you paint again"
    return settings.unpainted, [f"The mask was painted {sizes}: only its rule “{settings.mask}” is used here. {kept}."]
