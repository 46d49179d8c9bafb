"""Explore: type a sentence, see every head of a real model, and switch one thing at a time."""

from __future__ import annotations

from dataclasses import replace

from pages.kit.frame import controls, model_picker, widgets
from pages.kit.frame.picture_page import picture_page
from pages.kit.frame.share import show_about
from pages.kit.picture import pictures, place

from . import map_view, pins


def show() -> None:
    """The controls, the view with the picture, how its numbers came about."""
    with picture_page("explore", takes_model=True) as page:
        with page.bar:
            model_picker.control(page.name)
        with page.rail:  # for the link: the view holds them
            switches = controls.switches(page)
        with page.bar if controls.several_devices() else page.rail:
            device = controls.device()
        with page.stage:
            with page.hidden:
                sentence = controls.sentence_of_view(page.name)
                look_text, pin_text = widgets.text("look"), widgets.text("pin")
                controls.sampling()
            asked = replace(switches, text=sentence, device=device)
            tokens, settings, notices = page.or_last(asked, pictures.tokens, "The maps below still show")
            (at, chosen), look = page.look_at(tokens), place.parse_look(look_text, *page.sizes)
            pin_is_usable = pins.usable(pin_text, device, model_picker.sizes_of)
            notices += page.answer_link(look=look is not None, pin=pin_is_usable)
            map_view.show(
                page.model,
                settings,
                at if chosen else replace(at, row=None, key=None),
                look or place.Look(),
                pin_text if pin_is_usable else "",
                box=sentence,
                notices=notices,
                unusable=page.unusable,
            )
        with page.about:
            show_about(settings)
