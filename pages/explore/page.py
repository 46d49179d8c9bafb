"""Explore: type a sentence, see every head of a real model, and switch one thing at a time."""

from __future__ import annotations

import streamlit as st

from mha_core import Model
from mha_core.errors import HeadlightError
from pages.kit.draw import tables
from pages.kit.frame import controls, layout, links, model_picker
from pages.kit.frame.about import show_about
from pages.kit.frame.last_usable import or_last
from pages.kit.picture import models, pictures, place
from pages.kit.picture.pictures import Picture, Pinned, Settings

from . import map_view, pins


def show() -> None:
    """Controls, one pass, the pictures, the words."""
    name = model_picker.enter()
    with layout.page(**models.defaults(name)) as (rail, stage):
        with rail:
            model_picker.control()
        model = pictures.model_on("auto", name)
        layers, heads = model.sizes.n_layers, model.sizes.n_heads
        with rail:
            mask, position, temperature = controls.mask(), controls.position(model), controls.temperature()
            heads_off, device = controls.heads_off(layers, heads), controls.device()
            controls.large_type()
            about = st.popover("About this picture", width="stretch")
        with stage:
            sentence, cells = controls.sentence(name), controls.painted(model)
            asked = Settings(sentence, mask, position, temperature, heads_off, device, cells, name)
            at_text, look_text, pin_text = controls.hidden_texts(models.first_at(name))
            picture, settings, notices = or_last(asked, pictures.picture, "The maps below still show")
            notices += [*picture.run.notices, *models.unknown(model, settings.text)]
            tokens = picture.run.tokens
            parsed_at = place.parse_at(at_text, layers, heads)
            asked_at = parsed_at or place.At.of(models.first_at(name))
            at = asked_at.on(tokens)
            parsed_look = place.parse_look(look_text, layers, heads)
            look = parsed_look or place.Look()
            pinned = pinned_picture(pin_text, device)
            notices += links.notices(
                model=model_picker.usable(),
                at=parsed_at is not None and parsed_at.fits(tokens),
                look=parsed_look is not None,
                pin=not pin_text or pinned is not None,
            )
            map_view.show(model, picture, at, look, pinned, notices, chosen=asked_at.row == at.row)
        with about:
            show_numbers(model, picture, at)


def pinned_picture(pin_text: str, device: str) -> tuple[Pinned, place.At] | None:
    """The pinned map and what is looked at in it, None when there is none or the link's cannot be used."""
    try:
        parsed = pins.parse_pin(pin_text, device, model_picker.sizes_of)
        if parsed is None:
            return None
        settings, at = parsed
        found = pictures.pinned(settings, at.layer, at.head)
    except HeadlightError:
        return None
    return found, at.on(found.tokens)


def show_numbers(model: Model, picture: Picture, at: place.At) -> None:
    """How to get these numbers again, and the numbers."""
    show_about(model, picture.settings)
    settings, name = picture.settings, f"headlight-layer{at.layer}-head{at.head}.csv"
    # the picture is asked for again, so that a button does not keep it in memory
    with st.container(horizontal=True):
        st.download_button(
            "This map, CSV",
            lambda: tables.csv_of(pictures.picture(settings).run, at.layer, at.head),
            name,
            "text/csv",
            on_click="ignore",
        )
        st.download_button(
            "All maps, NPZ",
            lambda: tables.npz_of(pictures.picture(settings).run),
            "headlight.npz",
            "application/octet-stream",
            on_click="ignore",
        )
