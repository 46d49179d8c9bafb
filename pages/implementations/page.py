"""Implementations: one set of weights in seven spellings: shown equal, read, timed against one another."""

import inspect

import streamlit as st

from mha_core import IMPLEMENTATIONS
from mha_core.errors import HeadlightError
from pages.kit.draw import canvas, sheet
from pages.kit.draw.sheet import Block
from pages.kit.frame import controls, widgets
from pages.kit.frame.picture_page import PicturePage, picture_page
from pages.kit.picture import pictures
from pages.kit.picture.pictures import Picture
from pages.kit.picture.settings import Settings

from . import cases, dialects, parity, timing_section
from .parity import Equality, InputSizes
from .short_sources import label, short_source


def show() -> None:
    """One sentence and seven sources; the timing; the tables, the classes and the dictionary folded away."""
    with picture_page("implementations") as page, page.stage:
        told, opening, sources, race = (st.container() for _ in range(4))
        with sources:
            show_sources()
        with race, st.container(key="timing_panel", border=True):
            sizes, reported = timing_section.show(random_sizes, page.query.device)
        equalities, notices = show_equality(page, sizes)
        with reported:
            random = equalities[1] if len(equalities) > 1 else None
            canvas.sheet("reported", [sheet.text(text) for text in cases.reported(sizes, random)])
        show_side_by_side()
        with widgets.folded("words", "Same thing, other words: a dictionary of texts and libraries", "find"):
            found = dialects.dictionary(widgets.text("find", live=True, placeholder="any word of any column"))
            canvas.sheet("words", found)
        with opening:
            canvas.sheet("opening", [sheet.title(parity.opening(equalities))])
            canvas.sheet("opening_picture", [parity.picture(equalities)])
        with told:  # at the top, but known only when every control has been made
            canvas.sheet("told", [sheet.notices([*notices, *page.answer_link()])])


def show_sources() -> None:
    """What each implementation does, in its own lines."""
    names = list(IMPLEMENTATIONS)
    for pair in (names[at : at + 2] for at in range(0, len(names), 2)):  # row by row: a phone keeps their order
        for column, name in zip(st.columns(2), pair, strict=False):
            with column, widgets.folded(f"source_{name}", label(name)):
                st.code(short_source(name), language="python", wrap_lines=True)


def random_sizes() -> InputSizes:
    """Sizes of the random input, for the timing and for the tables."""
    b, n, d_model, n_heads = (widgets.whole(key) for key in ("b", "n", "d", "h"))
    return InputSizes(b, n, d_model, n_heads, widgets.segments("biases"))


def show_equality(page: PicturePage, sizes: InputSizes) -> tuple[list[Equality], list[str]]:
    """The differences on both inputs, and what each implementation is; folded, with the controls that act on them.

    Returns:
        the inputs that could be computed, and what must be said.
    """
    keys = ("mask", "rule", "diff")
    with widgets.folded("equality", "The numbers: how far each lies from the truth and from torch", *keys):
        sentence = controls.sentence()
        with st.container(horizontal=True, key="equality_controls"):
            controls.layer(page)
            differences = widgets.segments("diff")
        mask = controls.mask(page, paints=False)
        asked = Settings(sentence, mask, device=page.query.device)

        def compute(asked: Settings) -> tuple[Picture, Equality]:
            return pictures.picture(asked), parity.of_sentence(asked, page.at.layer)

        (picture, own), settings, notices = page.or_last(asked, compute, "The tables below are still those of")
        blocks, equalities = equality_blocks(settings, own, page.at.layer, sizes, largest=differences == "largest")
        canvas.sheet("equality", blocks)
    of_passes = [*picture.run.notices, *(said for one in equalities for said in one.notices)]
    return equalities, [*notices, *dict.fromkeys(of_passes)]


def equality_blocks(
    settings: Settings, own: Equality, layer: int, sizes: InputSizes, *, largest: bool
) -> tuple[list[Block], list[Equality]]:
    """The tables of both inputs, of which `own` is the sentence, and what could be computed."""
    equalities = [own]

    def tables(found: Equality) -> list[Block]:
        both = [parity.differences(found, dtype, largest=largest) for dtype in parity.DTYPES]
        effects = [parity.biases(found)] if found.effects else []
        return [*both, sheet.text(parity.key_bias(found)), *effects]

    d_model, n_heads = sizes.d_model, sizes.n_heads
    waiting = st.empty()
    try:
        found = parity.of_random(
            sizes, settings.mask, settings.device, lambda: waiting.caption("Waiting for the tables of others")
        )
        fewer = f" of the {sizes.b:,} that are timed" if found.shape[0] < sizes.b else ""
        random, note = tables(found), f"normal numbers of seed 1, weights of seed 0: {found.sizes}{fewer}"
        equalities.append(found)
    except HeadlightError as error:
        random, note = [sheet.notices([f"This cannot be computed: {error}."])], ""
        d_model, n_heads = own.shape[-1], own.n_heads
    waiting.empty()
    own_note = f"what enters MiniLM's layer {layer} (counted from 0), and its weights: {own.sizes}"
    panels = [sheet.panel("On your sentence", tables(own), own_note), sheet.panel("On random input", random, note)]
    kinds = sheet.panel("What each one is", [parity.kinds(d_model, n_heads, sizes.biases)])
    return [sheet.text(parity.meaning()), sheet.row(panels, even=True), kinds, sheet.text(parity.dropout())], equalities


def show_side_by_side() -> None:
    """The classes of two implementations, as they run."""
    with widgets.folded("classes", "Two classes side by side, as they run", "impl", "beside", lazy=True) as fold:
        for column, key in zip(st.columns(2), ("impl", "beside"), strict=True):
            with column:
                source = inspect.getsource(IMPLEMENTATIONS[widgets.choice(key)])
                if fold.open:
                    st.code(source, language="python", height=640, wrap_lines=True)
