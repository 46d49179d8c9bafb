"""Compare: one sentence under two settings, or two sentences, with the difference and what it says."""

from __future__ import annotations

from dataclasses import replace

from pages.kit.frame import controls, model_picker, widgets
from pages.kit.frame.picture_page import PicturePage, picture_page
from pages.kit.frame.share import show_about
from pages.kit.picture import pictures, place
from pages.kit.picture.fitting import within
from pages.kit.picture.settings import Settings

from . import each_head, pair_view, right_side, shuffle
from .tries import FIRST_AT


def show() -> None:
    """The maps with the controls of both sides, the shuffle test, the heads one at a time."""
    with picture_page("compare", takes_model=True, minilm_at=FIRST_AT) as page:
        with page.bar:
            model_picker.control(page.name)
        with page.rail:  # for the link: the view holds them
            switches = both_sides(page)
        with page.hidden:
            boxes = controls.sentence_of_view(page.name), widgets.text("s2")
            look_text, seed = widgets.text("look"), widgets.whole("shuffle")
            widgets.text("word")
        with page.bar if controls.several_devices() else page.rail:
            device = controls.device()
        with page.stage:
            asked = replace(switches[0], text=boxes[0], device=device)
            tokens, left, notices = page.or_last(asked, pictures.tokens, "The left map still shows")
            other = replace(switches[1], text=boxes[1] or left.text, device=device)
            _, right, of_the_right = page.or_last(other, pictures.tokens, "The right map still shows", "2")
            (at, chosen), look = page.look_at(tokens), place.parse_look(look_text, *page.sizes)
            pair_view.show(
                page.model,
                left,
                right,
                at if chosen else replace(at, row=None, key=None),
                look or place.Look(),
                boxes=boxes,
                notices=notices + of_the_right + page.answer_link(look=look is not None),
                unusable=page.unusable,
            )
            shuffle.show(left, within(replace(right, text=left.text))[0], seed)
            each_head.show(left, at, len(tokens), page.sizes)
        with page.about:
            show_about(left, right, sides=("left", "right"))


def both_sides(page: PicturePage) -> tuple[Settings, Settings]:
    """The controls of both sides; what the right ones begin with follows from the left ones."""
    left = controls.switches(page)
    right_side.begin(page.model)
    right = controls.switches(page, "2")
    right_side.keep()
    return left, right
