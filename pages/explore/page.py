"""Maps: type a sentence, see every head of a real model, and switch one thing at a time."""

import streamlit as st

from headlight.registry.album import ALBUMS
from headlight.ui import sheet
from mha_core.errors import HeadlightError
from pages.frame import canvas, user, view_page, widgets
from pages.frame.view import Event, View

from . import data_tables

VIEW = View("maps", "maps", "explore/explore.js")
MEDIUM, ERROR = "reads_files", "file_notice"
ENDINGS = {"picture": ["png", "jpg", "jpeg", "webp"], "sound": ["wav"]}
FORMATS = {"picture": "PNG, JPEG or WebP", "sound": "WAV, at most 30 s"}


def show() -> None:
    """Draw the page."""
    view_page.show("explore", VIEW, _show)


def _show(view: View) -> None:
    """Draw the upload for models of pictures or sounds, the view with the uploaded files' names, and the tables."""
    with st.container(key="own_file"):
        if kind := st.session_state.get(MEDIUM):
            max_megabytes = min(ALBUMS[kind].megabytes, st.get_option("server.maxUploadSize"))  # Streamlit's own limit
            label = f"Your own {kind} ({FORMATS[kind]}, at most {max_megabytes} MB); it is kept for this session only"
            widgets.file(label, ENDINGS[kind], f"{kind}_file", max_megabytes, lambda content: open_file(kind, content))
            sentence = st.session_state.get(ERROR, "")
            canvas.sheet("file_notice", [sheet.notices([sentence] if sentence else [])])
    view.show({"media": user.media()}, _on_event)
    data_tables.show()


def _on_event(event: Event) -> None:
    kind = event.get("reads")
    if kind in ALBUMS and kind != st.session_state.get(MEDIUM):
        st.session_state.update({MEDIUM: kind, ERROR: ""})


def open_file(kind: str, content: bytes | None) -> None:
    """Open a file as the session's picture or sound, or record the error; None if the file was removed."""
    st.session_state[ERROR] = ""
    if content is None:
        return
    try:
        user.open_media(kind, content)
    except HeadlightError as error:
        st.session_state[ERROR] = f"This file cannot be opened: {error}. The previous {kind} is still there."
