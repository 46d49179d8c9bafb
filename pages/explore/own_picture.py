"""A picture of the visitor's own: a control over the view, from when that has shown a model which reads pictures."""

import streamlit as st

from mha_core.errors import HeadlightError
from pages.kit.draw import canvas, sheet
from pages.kit.draw.view import Event, View
from pages.kit.frame import widgets
from pages.kit.jobs import visitor
from pages.kit.picture import album

SEES, TOLD = "sees_pictures", "picture_told"
ASKS = f"A picture of your own: PNG, JPEG or WebP, at most {album.MEGABYTES} MB; it stays in this visit"


def show(view: View) -> None:
    """The control and the view, which is told the name of the picture that was brought."""
    with st.container(key="own_picture"):
        if st.session_state.get(SEES):
            widgets.file(ASKS, ["png", "jpg", "jpeg", "webp"], "picture_file", album.MEGABYTES, take)
            sentence = st.session_state.get(TOLD, "")
            canvas.sheet("picture_told", [sheet.notices([sentence] if sentence else [])])
    view.show({"own": visitor.picture()}, _hear)


def _hear(event: Event) -> None:
    st.session_state[SEES] = st.session_state.get(SEES) or event.get("sees") is True


def take(content: bytes | None) -> None:
    """Makes a file the visitor’s picture, or says why it cannot be; None: it was taken away."""
    st.session_state[TOLD] = ""
    if content is None:
        return
    try:
        visitor.open_picture(content)
    except HeadlightError as error:
        st.session_state[TOLD] = f"This file cannot be shown: {error}. The picture before is still there."
