"""Which model a page shows: what the link says, as far as this visitor may use it, and the control."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from mha_core.errors import HeadlightError
from mha_core.positions import Learned, is_altered
from pages.kit.jobs import visitor
from pages.kit.picture import models, pictures
from pages.kit.picture.limits import POSITIONS
from pages.kit.picture.models import MINILM, Own
from pages.kit.picture.place import parse_at, parse_look

from . import links, widgets

LOADS = (
    "SmolLM2 is being loaded: 135 million weights. The first time on a machine they are unpacked, which takes longer."
)


def enter() -> str:
    """Takes the link's model in and makes what the controls say fit another one, before there are any."""
    state = st.session_state
    if "refused_model" in state and state.get("model") == state["refused_model"]:
        state["model"] = MINILM
    with widgets.seen("model", shown=False):
        asked = widgets.text("model")
    offered = state["offered_models"] = _offered()
    name = asked if asked in offered else MINILM
    state["refused_model"] = None if asked in offered else asked
    before, state["chosen_model"] = state.get("chosen_model", name), name
    if before == asked != name:
        links.repeat("The trained model that was shown here is gone: MiniLM is shown instead.")
    _load(name)
    if before != name:
        _fit(before, name)
    return name


def usable() -> bool:
    """Tells whether the link's model can be used."""
    return st.session_state.get("refused_model") is None


def sizes_of(name: str) -> tuple[int, int] | None:
    """Layers and heads of a model that this visitor may choose, None of any other name. Raises what `model_on` does."""
    if name not in st.session_state["offered_models"]:
        return None
    sizes = pictures.model_on("auto", name).sizes
    return sizes.n_layers, sizes.n_heads


def control(name: str) -> None:
    """The list of the models that this visitor may choose; `name` is the present one."""

    def choose() -> None:
        st.session_state["model"] = st.session_state["model_choice"] or MINILM

    offered: dict[str, str] = st.session_state["offered_models"]
    st.session_state["model_choice"] = name
    st.selectbox("Model", list(offered), format_func=offered.__getitem__, key="model_choice", on_change=choose)


def _offered() -> dict[str, str]:
    own = {run.id: Own.of(run.label, run.folder, run.history) for run in visitor.own_runs().values()}
    if own:
        models.keep(own)
    return models.offered(own)


def _load(name: str) -> None:
    """Loads a large model, and says so meanwhile; why it cannot be loaded the page says."""
    place = st.empty()  # in every run: what follows would be another element in the next one, and lose its focus
    if pictures.is_loaded(name):
        return
    with place.container(key="loading"), st.spinner(LOADS), suppress(HeadlightError):
        pictures.model_on("auto", name)


def _fit(before: str, now: str) -> None:
    """Takes what only the model before could use out of the controls, before they are made."""
    state = st.session_state
    if state.get("s") in models.presets(before) and state["s"] not in models.presets(now):
        state["s"] = models.presets(now)[0]
    try:
        model = pictures.model_on("auto", now)
    except HeadlightError:  # the page says why
        return
    sizes = model.sizes.n_layers, model.sizes.n_heads
    if "at" in state and parse_at(state["at"], *sizes) is None:
        state["at"] = models.first_at(now)
    if "look" in state and parse_look(state["look"], *sizes) is None:
        state["look"] = ""
    heads = {f"L{layer} H{head}" for layer in range(sizes[0]) for head in range(sizes[1])}
    for key in {"off", "off2"} & set(state):
        state[key] = [head for head in state[key] if head in heads]
    has_table = isinstance(model.encoder.position, Learned)
    if "three" in state and not has_table:
        state["three"] = [name for name in state["three"] if not is_altered(POSITIONS.get(name, ""))]
    for key in ("pos", "pos2"):
        if is_altered(POSITIONS.get(state.get(key, ""), "")) and not has_table:
            state[key] = "as trained"
