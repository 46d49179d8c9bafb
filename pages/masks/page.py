"""Masks: who may look at whom, as rules and painted by hand, with the weights before and after."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from mha_core.errors import HeadlightError
from pages.kit.draw import canvas, sheet
from pages.kit.draw.sheet import Block
from pages.kit.frame import controls, model_picker, widgets
from pages.kit.frame.picture_page import PicturePage, picture_page
from pages.kit.frame.share import show_about
from pages.kit.picture import fitting, pictures, words
from pages.kit.picture.limits import check_length
from pages.kit.picture.settings import Settings

from . import beginning, effects, padding, painter


def show() -> None:
    """Controls, the painter, one pass with the mask and one without, the words."""
    with picture_page("masks", takes_model=True) as page:
        with page.bar:
            model_picker.control(page.name)
        beginning.begin(page.model.own_mask)
        with page.hidden:  # the gallery sets them
            sentence = controls.sentence_of_view(page.name)
            rule, cells = controls.mask(page), controls.painted(page)
            beginning.end(page.model.own_mask)
        with page.stage:
            view = st.container()
            switches = also(page)
        asked = replace(switches, text=sentence, mask=rule, painted=cells, model=page.name)
        with view:
            # what is painted stays in the view's link, whatever the length: the wire says what is left out
            tokens, last, notices = page.or_last(asked.unpainted, pictures.tokens, "Everything below is still of")
            asked = replace(asked, text=last.text)
            settings, _ = fitting.within(asked)
            at, chosen = page.look_at(tokens)
            notices += page.answer_link()
            painter.show(
                page.model,
                asked,
                at if chosen else replace(at, row=None, key=None),
                box=sentence,
                notices=notices,
                unusable=page.unusable,
            )
        with page.stage:
            said = sheet.text(effects.renormalised(settings, at))
            canvas.sheet("mask_outcomes", [said, *effects.empty_rows(settings, at)])
            canvas.sheet("padding", padded(settings, widgets.text("pad")))
        with page.about:
            show_about(settings)


def also(page: PicturePage) -> Settings:
    """What can be changed beside the mask: position, temperature, heads off, and the device where there is a choice."""
    with widgets.folded("also", "Also change: position encoding, temperature, heads", "pos", "t", "off"):
        one, two, three = st.columns(3, gap="medium")
        with one:
            position = controls.position(page)
        with two:
            degrees = controls.temperature()
        with three:
            off = controls.heads_off(page)
        with widgets.seen("dev", controls.several_devices()):
            device = controls.device()
    unheard = controls.values_off(page)
    return Settings("", position=position, temperature=degrees, heads_off=off, device=device, values_off=unheard)


def padded(settings: Settings, second: str) -> list[Block]:
    """The batch of two, or why there is none."""
    try:
        check_length(second)
        return padding.blocks(settings, second)
    except HeadlightError as error:
        return [sheet.notices([f"The other sentence: {words.sentence(error)}"])]
