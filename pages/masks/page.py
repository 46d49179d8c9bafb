"""Masks: who may look at whom, as rules and painted by hand, with the weights before and after."""

from __future__ import annotations

import streamlit as st

from mha_core.errors import HeadlightError
from pages.kit.draw import canvas, sheet
from pages.kit.draw.sheet import Block
from pages.kit.frame import controls, layout, links
from pages.kit.frame.about import show_about
from pages.kit.frame.last_usable import or_last
from pages.kit.frame.links import BOUND, DEFAULTS
from pages.kit.picture import pictures, place, words
from pages.kit.picture.pictures import Picture, Settings

from . import effects, padding, painter


def show() -> None:
    """Controls, one pass with the mask and one without, the painter, the words."""
    with layout.page() as (rail, stage):
        model = pictures.model_on("auto")
        layers, heads = model.sizes.n_layers, model.sizes.n_heads
        with stage:
            sentence = controls.sentence()
            with st.container(key="link_texts"):
                at_text = st.text_input("at", DEFAULTS["at"], key="at", bind=BOUND)
        with rail:
            mask, position, temperature = controls.mask(), controls.position(model), controls.temperature()
            heads_off, device = controls.heads_off(layers, heads), controls.device()
            controls.large_type()
            about = st.popover("About this picture", width="stretch")
        parsed = place.parse_at(at_text, layers, heads)
        at = parsed or place.At.default()
        with stage:
            asked = Settings(sentence, mask, position, temperature, heads_off, device, controls.painted(model))
            picture, settings, notices = or_last(asked, both, "Everything below is still of")
            tokens = picture.run.tokens
            notices += picture.run.notices
            notices += links.notices(at=parsed is not None and parsed.fits(tokens))
            here = at.on(tokens)
            painter.show(model, picture, here, notices, chosen=at.row == here.row)
            said = sheet.text(effects.renormalised(settings, here))
            canvas.sheet("mask_outcomes", [said, effects.empty_rows(settings, here)])
            second = st.text_input("Another sentence in the same batch", DEFAULTS["pad"], key="pad", bind=BOUND)
            canvas.sheet("padding", padded(settings, second))
        with about:
            show_about(model, settings)


def both(settings: Settings) -> Picture:
    """The picture with the mask; the one that it is compared with is computed too."""
    pictures.picture(painter.before(settings))
    return pictures.picture(settings)


def padded(settings: Settings, second: str) -> list[Block]:
    """The batch of two, or why there is none."""
    try:
        controls.check_length(second)
        return padding.blocks(settings, second)
    except HeadlightError as error:
        return [sheet.notices([f"The other sentence: {words.sentence(error)}"])]
