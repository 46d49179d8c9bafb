"""Masks: who may look at whom, as rules and painted by hand, with the weights before and after."""

from __future__ import annotations

from dataclasses import replace

from mha_core.errors import HeadlightError
from pages.kit.draw import canvas, sheet
from pages.kit.draw.sheet import Block
from pages.kit.frame import controls, widgets
from pages.kit.frame.about import show_about
from pages.kit.frame.picture_page import picture_page
from pages.kit.picture import pictures, words
from pages.kit.picture.limits import check_length
from pages.kit.picture.pictures import Picture
from pages.kit.picture.settings import Settings

from . import effects, padding, painter


def show() -> None:
    """Controls, one pass with the mask and one without, the painter, the words."""
    with picture_page() as page:
        with page.stage:
            sentence = controls.sentence()
        with page.rail:
            asked = replace(controls.switches(page), text=sentence, device=controls.device())
        with page.stage:
            picture, settings, notices = page.or_last(asked, both, "Everything below is still of")
            at, chosen = page.look_at(picture.run.tokens)
            notices += [*picture.run.notices, *page.answer_link()]
            painter.show(page.model, picture, at, notices, chosen=chosen)
            said = sheet.text(effects.renormalised(settings, at))
            canvas.sheet("mask_outcomes", [said, effects.empty_rows(settings, at)])
            canvas.sheet("padding", padded(settings, widgets.text("pad")))
        with page.about:
            show_about(settings)


def both(settings: Settings) -> Picture:
    """The picture with the mask; the one that it is compared with is computed too."""
    pictures.picture(painter.before(settings))
    return pictures.picture(settings)


def padded(settings: Settings, second: str) -> list[Block]:
    """The batch of two, or why there is none."""
    try:
        check_length(second)
        return padding.blocks(settings, second)
    except HeadlightError as error:
        return [sheet.notices([f"The other sentence: {words.sentence(error)}"])]
