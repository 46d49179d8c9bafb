"""Compare: one sentence under two settings, or two sentences, with the difference and what it says."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.kit.draw import tables
from pages.kit.frame import controls, model_picker, widgets
from pages.kit.frame.about import show_about
from pages.kit.frame.last_usable import within
from pages.kit.frame.picture_page import PicturePage, picture_page
from pages.kit.picture import models, pictures, place
from pages.kit.picture.settings import Settings

from . import each_head, pair_view, shuffle
from .pairs import Pair


def show() -> None:
    """Controls of both sides, a pass each, the maps, the shuffle test, the heads one at a time."""
    with picture_page(takes_model=True, minilm_at=pair_view.FIRST_AT) as page:
        with page.rail:
            model_picker.control(page.name)
        with page.stage:
            left_text, right_text = sentences(page.name)
        with page.hidden:
            look_text, seed = widgets.text("look"), widgets.whole("shuffle")
        with page.rail:
            switches = [side(page, name, key) for name, key in (("Left", ""), ("Right", "2"))]
            device = controls.device()
        with page.stage:
            asked = replace(switches[0], text=left_text, device=device)
            left, _, notices = page.or_last(asked, pictures.picture, "The left map still shows")
            other = replace(switches[1], text=right_text or left.settings.text, device=device)
            right, _, of_the_right = page.or_last(other, pictures.picture, "The right map still shows", "2")
            notices += [*of_the_right, *dict.fromkeys(left.run.notices + right.run.notices)]
            missing = [models.unknown(page.model, picture.settings.text) for picture in (left, right)]
            notices += dict.fromkeys(missing[0] + missing[1])
            at, chosen = page.look_at(left.run.tokens)
            look = place.parse_look(look_text, *page.sizes)
            pair = Pair(left, right, at.layer, at.head)
            notices += page.answer_link(look=look is not None)
            pair_view.show(pair, at, look or place.Look(), notices, model=page.model, chosen=chosen)
            shuffle.show(left.settings, within(replace(right.settings, text=left.settings.text))[0], seed)
            each_head.show(left.settings, at, len(left.run.tokens))
        with page.about:
            show_numbers(pair)


def sentences(model: str) -> tuple[str, str]:
    """The sentence of the left, and that of the right; empty is the same one."""
    left, right = st.columns(2)
    with left:
        sentence = controls.sentence(model)
    with right:
        placeholder = "Right: the same sentence, or type another"
        return sentence, widgets.text("s2", live=True, label_visibility="collapsed", placeholder=placeholder)


def side(page: PicturePage, name: str, key: str) -> Settings:
    """The controls of one side."""
    with st.container(border=True, key=f"side{key or 1}"):
        st.markdown(f"**{name}**")
        return controls.switches(page, key)


def show_numbers(pair: Pair) -> None:
    """How to get these numbers again, and the numbers."""
    sides = {"left": pair.left.settings, "right": pair.right.settings}
    show_about(*sides.values(), sides=tuple(sides))
    with st.container(horizontal=True):
        for name, settings in sides.items():
            download(name, settings, pair)


def download(name: str, settings: Settings, pair: Pair) -> None:
    """The map of one side as a file; the picture is asked for again, so that a button does not keep it in memory."""
    layer, head = pair.layer, pair.head
    st.download_button(
        f"The {name} map, CSV",
        lambda: tables.csv_of(pictures.picture(settings).run, layer, head),
        f"headlight-{name}-layer{layer}-head{head}.csv",
        "text/csv",
        on_click="ignore",
    )
