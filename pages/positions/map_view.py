"""One head of the model under each encoding: small maps, one enlarged (assets/web/positions/encodings.js)."""

import base64
from typing import TypedDict

import streamlit as st

from headlight.link.fields import DEFAULTS
from headlight.link.limits import POSITIONS
from headlight.picture import pictures
from headlight.picture.words import position_title
from headlight.ui import events
from headlight.ui.numbers import number
from mha_core.models import changes
from mha_core.positions import NAMES
from pages.frame.view import Event, View

from .in_model import OnModel


class EncodingTile(TypedDict):
    name: str  # in the control of Explore
    title: str
    figure: str  # the mean weight on the word before
    told: str  # the same as a sentence
    note: str
    learnt: bool  # the model learnt with it


class EncodingsState(TypedDict):
    place: str  # the layer and head
    tokens: list[str]
    tiles: list[EncodingTile]
    maps: str  # base64 of float32 (i, j), one of each tile
    chosen: str


VIEW = View("encodings_view", "encodings", "positions/encodings.js")
AS_TRAINED = "as trained"
# in Explore's control -> the encoding that has a portrait here
ENCODING_OF = {name: core if core in NAMES else "learned" for name, core in POSITIONS.items()}


def show(tokens: list[str], found: OnModel) -> None:
    chosen, before = _chosen(), {name: figure for name, _, _, figure in found.rows}
    place = f"Layer {found.layer} head {found.head}"
    model = pictures.model_on("auto")
    tiles: list[EncodingTile] = []
    for name, note, _, _ in found.rows:
        title, figure = position_title(name), number(before[name])
        told = f"{title}: {place.lower()} has a mean weight of {figure} on the previous word"
        learnt = changes.as_trained(POSITIONS[name], model)
        tiles.append({"name": name, "title": title, "figure": figure, "told": told, "note": note, "learnt": learnt})
    values = b"".join(one.float().contiguous().numpy().tobytes() for one in found.maps)
    maps = base64.b64encode(values).decode("ascii")
    state = EncodingsState(place=place, tokens=tokens, tiles=tiles, maps=maps, chosen=chosen)
    VIEW.show(state, _take)


def _chosen() -> str:
    """The map that is enlarged: the one that was pressed last, while its encoding's portrait is shown."""
    now, pressed = st.session_state.get("enc", DEFAULTS["enc"]), st.session_state.get("encoding_map", AS_TRAINED)
    if ENCODING_OF[pressed] == now:
        return str(pressed)
    return AS_TRAINED if now in (DEFAULTS["enc"], "learned") and "encoding_map" not in st.session_state else str(now)


def _take(event: Event) -> None:
    """A map was pressed: its encoding's portrait comes too."""
    name = events.text(event, "chosen")
    if name in POSITIONS:
        st.session_state["encoding_map"], st.session_state["enc"] = name, ENCODING_OF[name]
