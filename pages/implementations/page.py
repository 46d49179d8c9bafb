"""Implementations: one set of weights in seven spellings, shown equal, timed against one another, and side by side."""

from __future__ import annotations

import inspect

import streamlit as st

from mha_core import IMPLEMENTATIONS
from mha_core.errors import HeadlightError
from pages.kit.draw import canvas, sheet
from pages.kit.draw.sheet import Block
from pages.kit.frame import controls, widgets
from pages.kit.frame.about import show_about
from pages.kit.frame.picture_page import picture_page
from pages.kit.picture import pictures
from pages.kit.picture.settings import Settings

from . import dialects, parity, timing_section
from .parity import Equality, Sizes


def show() -> None:
    """Controls, the seven on the sentence and on random input, the timing, the sources, the dictionary."""
    with picture_page() as page:
        with page.stage:
            top = st.container()
            sentence = controls.sentence()
        with page.rail:
            controls.layer(page)
            mask, differences = controls.mask(page, paints=False), widgets.segments("diff")
            sizes, device = random_sizes(), controls.device()
        with page.stage:
            asked = Settings(sentence, mask, device=device)
            picture, settings, notices = page.or_last(asked, pictures.picture, "The tables below are still those of")
            show_equality(settings, page.at.layer, sizes, largest=differences == "largest")
            timing_section.show(sizes, device)
            show_sources()
            canvas.sheet("words", [sheet.panel("Same thing, other words", [dialects.dictionary()])])
            with top:  # at the top, but known only when every control has been made
                notices += [*picture.run.notices, *page.answer_link()]
                canvas.sheet("told", [sheet.notices(notices)])
        with page.about:
            show_about(settings)


def random_sizes() -> Sizes:
    """Sizes of the random input, which the timing uses too."""
    left, right = st.columns(2)
    with left:
        b, d_model = widgets.whole("b"), widgets.whole("d")
    with right:
        n, n_heads = widgets.whole("n"), widgets.whole("h")
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
        with column:
            st.code(inspect.getsource(IMPLEMENTATIONS[widgets.choice(key)]), language="python", height=640)
