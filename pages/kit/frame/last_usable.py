"""What is shown while the sentence cannot be used: the last one that could, and a sentence that says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import streamlit as st

from mha_core.errors import HeadlightError
from pages.kit.picture import mask_codec, models, pictures, words
from pages.kit.picture.models import MINILM
from pages.kit.picture.pictures import Settings

from . import controls

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
        model, last = st.session_state.get(f"last_text{side}", ("", ""))
        last = last if model == settings.model else models.presets(settings.model)[0]
        shown = last if len(last) <= 60 else last[:59] + "…"
        before, left_out = within(replace(settings, text=last))
        return compute(before), before, [f"{words.sentence(error)} {what} “{shown}”.", *said, *left_out]
    st.session_state[f"last_text{side}"] = settings.model, settings.text
    return made, fitting, [*said, *left_out]


def within(settings: Settings) -> tuple[Settings, list[str]]:
    """The settings without a painting that was made for a sentence of another length, and a sentence that says so.

    Raises:
        HeadlightError: not a token in the sentence, and no special ones round it; and what `Model.tokenize` raises.
    """
    if settings.model == MINILM and not settings.painted:
        return settings, []
    model = pictures.model_of(settings)
    tokens, _ = model.tokenize(settings.text)
    if not tokens:
        raise HeadlightError("this model sees the words alone, without [CLS] and [SEP], and there is none; type one")
    if not settings.painted:
        return settings, []
    painted_for = mask_codec.tokens_of(settings.painted)
    if painted_for == len(tokens):
        return settings, []
    sizes = f"for {painted_for} tokens, this sentence has {len(tokens)}"
    kept = "The link keeps it until you paint again"
    told = f"The mask was painted {sizes}: only its rule “{settings.mask}” is used here. {kept}."
    return settings.unpainted, [told]
