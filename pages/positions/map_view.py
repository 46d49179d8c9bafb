"""View of one head under each encoding: small maps, one of them enlarged (assets/web/positions/encodings.js)."""

import base64
from typing import TypedDict

import streamlit as st

from headlight.link.fields import DEFAULTS
from headlight.link.limits import POSITIONS
from headlight.picture import pictures
from headlight.picture.words import position_title
from headlight.ui import events
from headlight.ui.numbers import number
from mha_core.models import interventions
from mha_core.positions import NAMES
from pages.frame.view import Event, View

from .in_model import OnModel


class EncodingTile(TypedDict):
    """Small map of one encoding in the message to the browser."""

    name: str  # in the control of Explore
    title: str
    figure: str  # the mean weight on the previous word
    sentence: str  # the same as a sentence
    note: str
    learnt: bool  # the model was trained with it


class EncodingsState(TypedDict):
    """State of the view in the message to the browser."""

    place: str  # the layer and head
    tokens: list[str]
    tiles: list[EncodingTile]
    maps: str  # base64 of float32 (i, j), one of each tile
    selection: str


VIEW = View("encodings_view", "encodings", "positions/encodings.js")
AS_TRAINED = "as trained"
# a position in Explore's control -> the encoding whose portrait this page has
ENCODING_OF = {name: core if core in NAMES else "learned" for name, core in POSITIONS.items()}


def show(tokens: list[str], on_model: OnModel) -> None:
    """Show one head's map under each encoding."""
    enlarged, figures = _enlarged(), {name: figure for name, _, _, figure in on_model.rows}
    place = f"Layer {on_model.layer} head {on_model.head}"
    model = pictures.model_on("auto")
    tiles: list[EncodingTile] = []
    for name, note, _, _ in on_model.rows:
        title, figure = position_title(name), number(figures[name])
        sentence = f"{title}: {place.lower()} has a mean weight of {figure} on the previous word"
        learnt = interventions.is_as_trained(POSITIONS[name], model)
        tiles.append(EncodingTile(name=name, title=title, figure=figure, sentence=sentence, note=note, learnt=learnt))
    values = b"".join(weights.float().contiguous().numpy().tobytes() for weights in on_model.maps)
    maps = base64.b64encode(values).decode("ascii")
    state = EncodingsState(place=place, tokens=tokens, tiles=tiles, maps=maps, selection=enlarged)
    VIEW.show(state, _on_click)


def _enlarged() -> str:
    """Return the name of the enlarged map: the last clicked one, unless another encoding was selected since."""
    now, pressed = st.session_state.get("enc", DEFAULTS["enc"]), st.session_state.get("encoding_map", AS_TRAINED)
    if ENCODING_OF[pressed] == now:
        return str(pressed)
    return AS_TRAINED if now in (DEFAULTS["enc"], "learned") and "encoding_map" not in st.session_state else str(now)


def _on_click(event: Event) -> None:
    """Handle a click on a map, which also selects its encoding."""
    name = events.text(event, "selection")
    if name in POSITIONS:
        st.session_state["encoding_map"], st.session_state["enc"] = name, ENCODING_OF[name]
