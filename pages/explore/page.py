"""Explore: type a sentence, see every head of a real model, and switch one thing at a time."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from mha_core.errors import HeadlightError
from pages.kit.draw import tables
from pages.kit.frame import controls, model_picker, widgets
from pages.kit.frame.about import show_about
from pages.kit.frame.picture_page import picture_page
from pages.kit.picture import models, pictures, place
from pages.kit.picture.pictures import Pinned
from pages.kit.picture.settings import Settings

from . import map_view, pins


def show() -> None:
    """Controls, one pass, the pictures, the words."""
    with picture_page(takes_model=True) as page:
        with page.rail:
            model_picker.control(page.name)
            switches = controls.switches(page)
            device = controls.device()
        with page.stage:
            asked = replace(switches, text=controls.sentence(page.name), device=device)
            with page.hidden:
                look_text, pin_text = widgets.text("look"), widgets.text("pin")
            picture, settings, notices = page.or_last(asked, pictures.picture, "The maps below still show")
            notices += [*picture.run.notices, *models.unknown(page.model, settings.text)]
            at, chosen = page.look_at(picture.run.tokens)
            look = place.parse_look(look_text, *page.sizes)
            pinned = pinned_picture(pin_text, device)
            notices += page.answer_link(look=look is not None, pin=not pin_text or pinned is not None)
            look = look or place.Look()
            map_view.show(page.model, picture, at, look, pinned, notices, unusable=page.unusable, chosen=chosen)
        with page.about:
            show_numbers(settings, at)


def pinned_picture(pin_text: str, device: str) -> tuple[Pinned, place.At] | None:
    """The pinned map and what is looked at in it, None when there is none or the link's cannot be used."""
    try:
        parsed = pins.parse_pin(pin_text, device, model_picker.sizes_of)
        if parsed is None:
            return None
        settings, at = parsed
        pinned = pictures.pinned(settings, at.layer, at.head)
    except HeadlightError:
        return None
    return pinned, at.on(pinned.tokens)


def show_numbers(settings: Settings, at: place.At) -> None:
    """How to get these numbers again, and the numbers."""
    show_about(settings)
    name = f"headlight-layer{at.layer}-head{at.head}.csv"
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
