"""Explore: type a sentence, see every head of a real model, and switch one thing at a time."""

import streamlit as st

from headlight.registry.album import ALBUMS
from headlight.ui import sheet
from mha_core.errors import HeadlightError
from pages.frame import canvas, view_page, visitor, widgets
from pages.frame.view import Event, View

VIEW = View("maps", "maps", "explore/explore.js")
READS, TOLD = "reads_files", "file_told"
ENDINGS = {"picture": ["png", "jpg", "jpeg", "webp"], "sound": ["wav"]}
FORMATS = {"picture": "PNG, JPEG or WebP", "sound": "WAV, at most 30 s"}


def show() -> None:
    view_page.show("explore", VIEW, _show)


def _show(view: View) -> None:
    """A control for a picture or a sound of the visitor's own, once the view has shown a model which reads such, and
    the view, which is told the names of what was brought.
    """
    with st.container(key="own_file"):
        if kind := st.session_state.get(READS):
            most = min(ALBUMS[kind].megabytes, st.get_option("server.maxUploadSize"))  # no server takes more
            asks = f"Your own {kind} ({FORMATS[kind]}, at most {most} MB); it is kept for this session only"
            widgets.file(asks, ENDINGS[kind], f"{kind}_file", most, lambda content: take(kind, content))
            sentence = st.session_state.get(TOLD, "")
            canvas.sheet("file_told", [sheet.notices([sentence] if sentence else [])])
    view.show({"own": visitor.given()}, _hear)


def _hear(event: Event) -> None:
    kind = event.get("reads")
    if kind in ALBUMS and kind != st.session_state.get(READS):
        st.session_state.update({READS: kind, TOLD: ""})


def take(kind: str, content: bytes | None) -> None:
    """Open a file as the visitor’s picture or sound, or say why it cannot be; None when it was removed."""
    st.session_state[TOLD] = ""
    if content is None:
        return
    try:
        visitor.open_given(kind, content)
    except HeadlightError as error:
        st.session_state[TOLD] = f"This file cannot be opened: {error}. The previous {kind} is still there."
