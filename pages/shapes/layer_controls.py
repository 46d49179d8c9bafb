"""The controls of the layer's weights: the model's own, or random ones with biases and dropout to choose."""

from __future__ import annotations

import streamlit as st

from pages.kit.frame import widgets
from pages.kit.frame.picture_page import PicturePage
from pages.kit.picture.traces import RandomLayer

from . import random_layer


def show(page: PicturePage) -> RandomLayer | None:
    """Draws them; returns the random layer that is asked for, None for the model's own."""
    random = widgets.segments("lw") == "random"
    with widgets.seen("random_layer", random):  # all stay mounted, so that the link keeps them
        biases, dropout, seed = widgets.segments("biases"), widgets.slider("drop"), widgets.whole("dice")
    attention = page.model.encoder.block(page.at.layer).attention
    if not random:
        st.caption(random_layer.theirs(attention, page.model.origin))
        return None
    st.caption(random_layer.parameters(attention, biases))
    return random_layer.chosen({"lw": "random", "biases": biases, "drop": dropout, "dice": seed})
