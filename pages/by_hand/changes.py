"""What is changed in the model of By hand, in a few words, known before the controls are made."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from mha_core.errors import HeadlightError
from pages.kit.frame import links
from pages.kit.frame.picture_page import PicturePage
from pages.kit.picture import words
from pages.kit.picture.query import Query


def label(page: PicturePage) -> str:
    """What the fold says while it is closed: "Change the model (causal mask, 1 head off)"."""
    first = "mask" not in st.session_state  # the link has not been read into the controls yet
    said = [(key, text) for key in st.query_params for text in st.query_params.get_all(key)] if first else []
    try:
        settings = Query((urlencode(said) if first else links.query()).encode()).settings(text="-")
        changed = words.label(settings, page.model)
    except HeadlightError:  # what cannot be used is told below
        return "Change the model"
    return f"Change the model ({changed})"
