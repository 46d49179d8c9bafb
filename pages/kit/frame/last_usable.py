"""What is shown while the sentence cannot be used: the last one that could, and a sentence that says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import streamlit as st

from mha_core.errors import HeadlightError
from pages.kit.picture import mask_codec, models, pictures, words
from pages.kit.picture.limits import check_length
from pages.kit.picture.models import MINILM
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
        check_length(settings.text)
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


def within(settings: Settings) -> tuple[Settings, list[str]]:
    """The settings without a painting that was made for a sentence of another length, and a sentence that says so.

    Raises:
        HeadlightError: not a token in the sentence, and no special ones round it; and what `Model.tokenize` raises.
    """
    if settings.model == MINILM and not settings.painted:
        return settings, []
    tokens, _ = pictures.model_of(settings).tokenize(settings.text)
    if not tokens:
        raise HeadlightError("this model adds no [CLS] or [SEP]; type at least one word")
    if not settings.painted or mask_codec.tokens_of(settings.painted) == len(tokens):
        return settings, []
    sizes = f"for {mask_codec.tokens_of(settings.painted)} tokens; the sentence has {len(tokens)}"
    applies = f"so only its rule “{settings.mask}” applies. Your painting stays in the link."
    told = f"This mask was painted {sizes}, {applies}"
    return settings.unpainted, [told]
