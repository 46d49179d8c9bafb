"""Every head switched off alone: at once for a short sentence, by a button for a long one, with its progress."""

from __future__ import annotations

import math
import time

import streamlit as st
from torch import Tensor

from mha_core.errors import HeadlightError
from pages.kit.picture import without_heads, words
from pages.kit.picture.limits import HEADS_WITHOUT_ASKING, WITHOUT_ASKING
from pages.kit.picture.place import At
from pages.kit.picture.settings import Settings

from . import pair_view


def show(settings: Settings, at: At, tokens: int, sizes: tuple[int, int]) -> None:
    """What each head alone is good for. Whatever the visitor does ends it at the next step of the progress."""
    with st.container(key="each_head"):
        cosines = without_heads.kept(settings)
        if cosines is None:
            asks = tokens > WITHOUT_ASKING or math.prod(sizes) > HEADS_WITHOUT_ASKING
            cosines = _computed(settings, asks=asks)
        if cosines is not None:
            pair_view.show_heads(cosines.tolist(), at, settings.heads_off)


def _computed(settings: Settings, *, asks: bool) -> Tensor | None:
    """The cosines of all heads, (layers, h); None when nobody asked for them, or when they cannot be computed."""
    place, start = st.empty(), time.monotonic()
    if asks and not place.button("Switch off each head alone", key="each"):
        return None
    if asks:
        place.button("Stop", key="stop")
    progress = st.progress(0.0)

    def told(done: float) -> None:
        progress.progress(done, f"One head at a time: {100 * done:.0f} % after {time.monotonic() - start:.0f} s")

    try:
        cosines = without_heads.cosines(settings, told)
    except HeadlightError as error:
        progress.empty()
        place.caption(words.sentence(error))
        return None
    for element in (progress, place):
        element.empty()
    return cosines
