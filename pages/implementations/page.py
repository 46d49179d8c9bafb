"""Implementations: one set of weights in seven spellings, shown equal, timed against one another, and side by side."""

from __future__ import annotations

import inspect

import streamlit as st

from mha_core import IMPLEMENTATIONS
from mha_core.errors import HeadlightError
from pages.kit.draw import canvas, sheet
from pages.kit.draw.sheet import Block
from pages.kit.frame import controls, layout, links
from pages.kit.frame.about import show_about
from pages.kit.frame.last_usable import or_last
from pages.kit.frame.links import BOUND, DEFAULTS
from pages.kit.picture import pictures, place
from pages.kit.picture.pictures import Settings

from . import dialects, parity, timing_section
from .parity import Equality, Sizes


def show() -> None:
    """Controls, the seven on the sentence and on random input, the race, the sources, the dictionary."""
    with layout.page() as (rail, stage):
        model = pictures.model_on("auto")
        layers, heads = model.sizes.n_layers, model.sizes.n_heads
        with stage:
            top = st.container()
            sentence = controls.sentence()
            with st.container(key="link_texts"):
                parsed = place.parse_at(st.text_input("at", DEFAULTS["at"], key="at", bind=BOUND), layers, heads)
        at = parsed or place.At.default()
        with rail:
            controls.layer(at, layers)
            mask = controls.mask(paints=False)
            how = st.segmented_control(
                "Differences", ["relative", "largest"], default="relative", required=True, key="diff", bind=BOUND
            )
            sizes = random_sizes()
            device = controls.device()
            controls.large_type()
            about = st.popover("About this picture", width="stretch")
        with stage:
            asked = Settings(sentence, mask, device=device)
            picture, settings, told = or_last(asked, pictures.picture, "The tables below are still those of")
            told += picture.run.notices
            show_equality(settings, at.layer, sizes, largest=how == "largest")
            timing_section.show(sizes, device)
            show_sources()
            canvas.sheet("words", [sheet.panel("Same thing, other words", [dialects.dictionary()])])
            with top:  # at the top, but known only when every control has been made
                canvas.sheet("told", [sheet.notices(told + links.notices(at=parsed is not None))])
        with about:
            show_about(model, settings)


def random_sizes() -> Sizes:
    """Sizes of the random input, which the timing uses too."""
    left, right = st.columns(2)
    with left:
        b, d_model = controls.whole("Texts, b", "b", 1, 64), controls.whole("d_model", "d", 1, 1024)
    with right:
        n, n_heads = controls.whole("Tokens, n", "n", 1, 1024), controls.whole("Heads, h", "h", 1, 64)
    return Sizes(b, n, d_model, n_heads)


def show_equality(settings: Settings, layer: int, sizes: Sizes, *, largest: bool) -> None:
    """The differences on both inputs, and what each implementation is."""
    equality = parity.of_sentence(settings, layer)

    def tables(found: Equality) -> list[Block]:
        both = [parity.differences(found, dtype, largest=largest) for dtype in parity.DTYPES]
        return [*both, sheet.text(parity.key_bias(found))]

    d_model, n_heads = sizes.d_model, sizes.n_heads
    waiting = st.empty()
    try:
        found = parity.of_random(
            sizes, settings.mask, settings.device, lambda: waiting.caption("Waiting for the tables of others")
        )
        random, note = tables(found), f"normal numbers of seed 1, weights of seed 0: {found.sizes}"
    except HeadlightError as error:
        random, note = [sheet.notices([f"This cannot be computed: {error}."])], ""
        d_model, n_heads = equality.shape[-1], equality.n_heads
    waiting.empty()
    own_note = f"what enters MiniLM's layer {layer} (counted from 0), and its weights: {equality.sizes}"
    blocks = [
        sheet.text(parity.meaning()),
        sheet.row(
            [
                sheet.panel("On your sentence", tables(equality), own_note),
                sheet.panel("On random input", random, note),
            ],
            even=True,
        ),
        sheet.panel("The seven", [parity.kinds(d_model, n_heads)]),
    ]
    canvas.sheet("equality", blocks)


def show_sources() -> None:
    """The classes of two implementations, as they run."""
    canvas.sheet("sources", [sheet.title("Sources side by side", "the very classes that ran above")])
    for column, key in zip(st.columns(2), ("impl", "beside"), strict=True):
        names = list(IMPLEMENTATIONS)
        with column:
            label = "Implementation" if key == "impl" else "Beside it"
            name = st.selectbox(label, names, names.index(DEFAULTS[key]), key=key, bind=BOUND)
            st.code(inspect.getsource(IMPLEMENTATIONS[name or DEFAULTS[key]]), language="python", height=640)
