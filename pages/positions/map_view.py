"""View of one head under each encoding: small maps, one of them enlarged (assets/web/positions/encodings.js)."""

import base64
from dataclasses import replace
from functools import partial
from typing import TypedDict

import streamlit as st

from headlight.link.cursor import Cursor
from headlight.link.limits import POSITIONS
from headlight.picture.words import position_title
from headlight.ui import events
from headlight.ui.numbers import weight
from mha_core.models import interventions
from mha_core.positions import NAMES
from pages.frame import links
from pages.frame.form import Form
from pages.frame.view import Event, View

from .in_model import OnModel


class EncodingTile(TypedDict):
    """Small map of one encoding in the message to the browser."""

    name: str  # in the control of Maps
    title: str
    figure: str  # the mean weight on the previous token
    sentence: str  # the same as a sentence
    note: str
    learnt: bool  # the model was trained with it


class EncodingsState(TypedDict):
    """State of the view in the message to the browser."""

    layers: int
    heads: int
    layer: int
    head: int
    tokens: list[str]
    keys: list[str]  # of the columns
    forbidden: list[str]  # cells that the model’s own mask forbids
    tiles: list[EncodingTile]
    maps: str  # base64 of float32 (i, j), one of each tile
    selection: str


VIEW = View("encodings_view", "encodings", "positions/encodings.js")
AS_TRAINED = "as trained"
# a position in the control of Maps -> the encoding whose portrait this page has
ENCODING_OF = {name: core if core in NAMES else "learned" for name, core in POSITIONS.items()}


def show(page: Form, tokens: list[str], on_model: OnModel) -> None:
    """Show one head's map under each encoding."""
    model, place = page.model, f"layer {on_model.layer} head {on_model.head}"
    tiles: list[EncodingTile] = []
    for name, note, _, value in on_model.rows:
        title, figure = position_title(name), weight(value)
        sentence = f"{title}: {place} has a mean weight of {figure} on the previous token"
        learnt = interventions.is_as_trained(POSITIONS[name], model)
        tiles.append(EncodingTile(name=name, title=title, figure=figure, sentence=sentence, note=note, learnt=learnt))
    values = b"".join(values.float().contiguous().numpy().tobytes() for values in on_model.maps)
    maps = base64.b64encode(values).decode("ascii")
    layers, heads = page.query.sizes
    state = EncodingsState(
        layers=layers,
        heads=heads,
        layer=on_model.layer,
        head=on_model.head,
        tokens=tokens,
        keys=on_model.keys,
        forbidden=on_model.forbidden,
        tiles=tiles,
        maps=maps,
        selection=_enlarged(page, [tile["name"] for tile in tiles]),
    )
    VIEW.show(state, partial(_on_event, page.cursor))


def _enlarged(page: Form, names: list[str]) -> str:
    """Return the name of the enlarged map: the link's positional encoding, unless it names another portrait."""
    now, name = links.value("enc"), page.query["pos"]
    if "enc" in st.query_params and ENCODING_OF[name] != now:
        name = now
    return name if name in names else AS_TRAINED


def _on_event(cursor: Cursor, event: Event) -> None:
    """Handle the choice of a head, or of a map, which also selects the encoding of the portrait."""
    layer, head, name = events.integer(event, "layer"), events.integer(event, "head"), events.text(event, "selection")
    if layer is not None and head is not None:
        links.set_param("at", str(replace(cursor, layer=layer, head=head)), "")
    if name in POSITIONS:
        links.set_param("pos", name, AS_TRAINED)
        st.session_state["enc"] = ENCODING_OF[name]
