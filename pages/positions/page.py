"""Positions: what each positional encoding is, drawn for the sentence's length, and two of them side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from mha_core.positions import NAMES
from pages.kit.draw import canvas, events, sheet
from pages.kit.frame import controls, layout, links
from pages.kit.frame.controls import whole
from pages.kit.frame.last_usable import or_last
from pages.kit.frame.layout import seen
from pages.kit.frame.links import BOUND, DEFAULTS
from pages.kit.picture import pictures
from pages.kit.picture import place as view
from pages.kit.picture.limits import (
    AMPLITUDES,
    FARTHEST,
    MOST_CHANNELS,
    MOST_HEADS,
    MOST_POSITIONS,
    MOST_TOKENS_AT_ONCE,
)
from pages.kit.picture.pictures import Settings

from . import encodings, portraits
from .encodings import Sizes
from .parts import Part, View
from .portraits import SLOTS

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
    with layout.page() as (rail, stage):
        model = pictures.model_on("auto")
        with stage:
            sentence = controls.sentence()
            top = st.container()
            names, place = chosen()
            with st.container(key="link_texts"):
                at_text = st.text_input("at", DEFAULTS["at"], key="at", bind=BOUND)
        parsed = view.parse_at(at_text, model.sizes.n_layers, model.sizes.n_heads)
        at = parsed or view.At.default()
        with rail:
            d_model, n_heads = whole("d_model", "d", 1, MOST_CHANNELS), whole("Heads, h", "h", 1, MOST_HEADS)
            channels, pair, head, far = looked_at(names)
            amplitude = st.slider("Amplitude of sinusoids", *AMPLITUDES, DEFAULTS["amp"], 0.01, key="amp", bind=BOUND)
            with seen(st.container(), "queries", "shaw" in names):
                controls.layer(at, model.sizes.n_layers)
            controls.large_type()
        with stage:
            theme = st.context.theme.type or "dark"
            found, settings, told = or_last(Settings(sentence), encodings.words, "Below is still")
            sizes = Sizes(len(found.tokens), d_model, n_heads)
            look = View(found.tokens, channels, pair, place, head, far, model.sizes.max_len, theme)
            drawn = []
            for name in names:
                encoding, why = encodings.made_or_default(name, sizes, amplitude, (settings, at.layer))
                drawn.append(portraits.portrait(encoding, look))
                told += [why] if why and why not in told else []
            show_portraits(drawn)
            show_part("both", portraits.amplitudes(found, amplitude, theme), wide=True)
            show_model(settings, len(found.tokens))
            with top:  # above the pictures, but known only when they have been made
                notices = sheet.notices(told + links.notices(at=parsed is not None))
                canvas.sheet("told", [notices, presets()], on_act)


def chosen() -> tuple[list[str], int]:
    """One or two encodings, and the position that the circles point at."""
    left, right, wide = st.columns([1, 1, 2])
    names = list(NAMES)
    with left:
        first = st.selectbox("Encoding", names, names.index(DEFAULTS["enc"]), key="enc", bind=BOUND)
    with right:
        second = st.selectbox("Beside it", names, names.index(DEFAULTS["enc2"]), key="enc2", bind=BOUND)
    shown = [first] if second in ("none", first) else [first, second]
    with seen(wide, "at_pos", bool(WAVES & set(shown))):
        label = "Position on the circles, counted from 0"
        place = st.slider(label, 0, MOST_POSITIONS - 1, DEFAULTS["at_pos"], key="at_pos", bind=BOUND)
    return shown, place


def looked_at(names: list[str]) -> tuple[list[int], int, int, int]:
    """Channels, pair, head, and how many positions are tried; what these encodings do not have is not shown."""
    with seen(st.container(), "waves", bool(WAVES & set(names))):
        every = [str(channel) for channel in range(MOST_CHANNELS)]
        channels = st.multiselect("Channels", every, DEFAULTS["ch"], key="ch", bind=BOUND, max_selections=6)
        pair = whole("Pair of channels", "pair", 0, MOST_CHANNELS // 2 - 1)
    with seen(st.container(), "biases", bool(BIASES & set(names))):
        head = whole("Head in sight", "hd", 0, MOST_HEADS - 1)
    return sorted(map(int, channels)), pair, head, whole("Positions to try", "far", 2, FARTHEST)


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


def show_portraits(drawn: list[list[Part]]) -> None:
    """The cards side by side, then two portraits slot by slot beside each other, or a single one in two columns."""
    show_row([parts[0] for parts in drawn])
    portraits_of = [parts[1:] for parts in drawn if parts[1:]]
    if len(portraits_of) == 2:
        by_slot = [{part.slot: part for part in parts} for parts in portraits_of]
        for slot in SLOTS[1:]:
            show_row([own.get(slot) for own in by_slot])
    for parts in portraits_of if len(portraits_of) == 1 else []:
        for at in range(0, len(parts), 2):
            show_row(parts[at : at + 2])


def show_row(parts: Sequence[Part | None]) -> None:
    """Parts side by side; one alone has the whole width."""
    if len(parts) == 1:
        show_part("0", parts[0], wide=True)
    elif any(parts):
        for side, (column, part) in enumerate(zip(st.columns(len(parts)), parts, strict=True)):
            with column:
                show_part(str(side), part)


def show_part(side: str, part: Part | None, *, wide: bool = False) -> None:
    """Words and numbers of a part, and its chart under them, or beside them where it has the whole width."""
    if part is None:
        return
    name = f"{side}_{part.slot}"
    with st.container(key=f"part_{name}", border=True, height="stretch"):
        left, right = st.columns([2, 3]) if wide and part.figure else (st.container(), st.container())
        with left:
            canvas.sheet(f"words_{name}", part.blocks)
        if part.figure is not None:
            with right:
                canvas.chart(f"chart_{name}", part.figure, part.alt)


def show_model(settings: Settings, n: int) -> None:
    """The sentence in the model under each position that Explore offers."""
    if n > MOST_TOKENS_AT_ONCE:
        told = f"Shown up to {MOST_TOKENS_AT_ONCE} tokens, here are {n}: the Explore page computes one at a time."
        canvas.sheet("in_the_model", [sheet.text(told)])
    else:
        canvas.sheet("in_the_model", [portraits.in_the_model(encodings.on_model(settings))])
