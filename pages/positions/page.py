"""Positions: what each positional encoding is, drawn for the sentence's length, and two of them side by side."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.kit.draw import canvas, events, sheet
from pages.kit.frame import controls, widgets
from pages.kit.frame.about import show_about
from pages.kit.frame.picture_page import picture_page
from pages.kit.picture.fields import DEFAULTS
from pages.kit.picture.limits import MOST_TOKENS_AT_ONCE
from pages.kit.picture.settings import Settings

from . import cards, encodings, in_model, portraits
from .encodings import Sizes
from .parts import View

WAVES, BIASES = {"sinusoidal", "learned", "rotary"}, {"alibi", "t5", "shaw"}
# what a click on each of them sets
PRESETS: dict[str, dict[str, Any]] = {
    "waves and a trained table": {"enc": "sinusoidal", "enc2": "learned"},
    "waves and a rotation": {"enc": "sinusoidal", "enc2": "rotary"},
    "ALiBi and T5": {"enc": "alibi", "enc2": "t5"},
    "Shaw on real queries": {"enc": "shaw", "enc2": "none", "d": DEFAULTS["d"], "h": DEFAULTS["h"]},
    "past the trained length": {"enc": "learned", "enc2": "sinusoidal", "far": DEFAULTS["far"]},
}


def show() -> None:
    """Controls, one or two portraits, amplitudes, and the same sentence in the model."""
    with picture_page() as page:
        with page.stage:
            sentence = controls.sentence()
            top = st.container()
            names, place = chosen()
        with page.rail:
            d_model, n_heads = widgets.whole("d"), widgets.whole("h")
            channels, pair, head, far = looked_at(names)
            amplitude = widgets.slider("amp")
            with widgets.seen("queries", "shaw" in names):
                controls.layer(page)
        with page.stage:
            theme = st.context.theme.type or "dark"
            found, settings, notices = page.or_last(Settings(sentence), in_model.words, "Still showing")
            sizes = Sizes(len(found.tokens), d_model, n_heads)
            view = View(found.tokens, channels, pair, place, head, far, page.model.sizes.max_len, theme)
            drawn = []
            for name in names:
                encoding, why = encodings.build_or_default(name, sizes, amplitude, (settings, page.at.layer))
                drawn.append(portraits.portrait(encoding, view))
                notices += [why] if why and why not in notices else []
            cards.show(drawn)
            cards.show_part("both", in_model.amplitudes(found, amplitude, theme), wide=True)
            show_model(settings, len(found.tokens))
            with top:  # above the pictures, but known only when they have been made
                canvas.sheet("told", [sheet.notices(notices + page.answer_link()), presets()], on_act)
        with page.about:
            show_about(settings)


def chosen() -> tuple[list[str], int]:
    """One or two encodings, and the position that the circles point at."""
    left, right, wide = st.columns([1, 1, 2])
    with left:
        first = widgets.choice("enc")
    with right:
        second = widgets.choice("enc2")
    names = [first] if second in ("none", first) else [first, second]
    with wide, widgets.seen("at_pos", bool(WAVES & set(names))):
        return names, int(widgets.slider("at_pos"))


def looked_at(names: list[str]) -> tuple[list[int], int, int, int]:
    """Channels, pair, head, and how many positions are tried; what these encodings do not have is not shown."""
    with widgets.seen("waves", bool(WAVES & set(names))):
        channels = sorted(map(int, widgets.several("ch", max_selections=6)))
        pair = widgets.whole("pair")
    with widgets.seen("biases", bool(BIASES & set(names))):
        head = widgets.whole("hd")
    return channels, pair, head, widgets.whole("far")


def presets() -> sheet.Block:
    """Pairs that are one click away."""
    now = st.session_state
    choices = [
        (name, {"preset": name}, all(now.get(key) == value for key, value in values.items()))
        for name, values in PRESETS.items()
    ]
    return sheet.buttons("Try", choices)


def on_act(event: dict[str, Any]) -> None:
    """A preset was pressed."""
    st.session_state.update(PRESETS.get(events.text(event, "preset") or "", {}))


def show_model(settings: Settings, n: int) -> None:
    """The sentence in the model under each position that Explore offers."""
    if n > MOST_TOKENS_AT_ONCE:
        told = f"Shown up to {MOST_TOKENS_AT_ONCE} tokens, here are {n}: the Explore page computes one at a time."
        canvas.sheet("in_the_model", [sheet.text(told)])
    else:
        canvas.sheet("in_the_model", [in_model.table(in_model.on_model(settings))])
