"""Implementations: one set of weights in seven spellings: shown equal, read, timed against one another."""

import inspect
from collections.abc import Sequence

import streamlit as st

from headlight.picture import pictures
from headlight.picture.pictures import Picture
from headlight.picture.settings import Settings
from headlight.ui import sheet
from headlight.ui.sheet import Block
from mha_core import IMPLEMENTATIONS
from mha_core.errors import HeadlightError
from pages.frame import canvas, controls, widgets
from pages.frame.form import Form, picture_page

from . import cases, dialects, parity, timing
from .parity import Equality, InputSizes
from .short_sources import different, label, short_source


def show() -> None:
    """One sentence and two sources; how far all lie apart; the timing; tables, classes and a dictionary folded away."""
    with picture_page("implementations") as page, page.stage:
        told, opening, pair, bars, race = (st.container() for _ in range(5))
        with pair:
            names = show_pair()
        with race, st.container(key="timing_panel", border=True):
            plan, reported, result = timing.show(page.query.device)
        sizes = plan.sizes
        equalities, notices = show_equality(page, sizes)
        with reported:
            random = equalities[1] if len(equalities) > 1 else None
            canvas.sheet("reported", [sheet.text(text) for text in cases.reported(sizes, random)])
        show_classes(names)
        with widgets.folded("words", "One concept, many names: a dictionary of tutorials and libraries", "find"):
            found = dialects.dictionary(widgets.text("find", live=True, placeholder="search all columns"))
            canvas.sheet("words", found)
        with opening:
            canvas.sheet("opening", [sheet.title(parity.opening(equalities))])
        with bars:
            canvas.sheet("opening_picture", [parity.picture(equalities)])
        with told:  # at the top, but known only when every control has been made
            canvas.sheet("told", [sheet.notices([*notices, *page.link_warnings()])])
        timing.show_result(plan, result)  # last: it takes seconds


def show_pair() -> list[str]:
    """Two implementations in their own lines, with a mark where the other one has no such line; their names."""
    with st.container(horizontal=True, key="chosen_pair"):
        names = [widgets.segments(key) for key in ("impl", "beside")]
    sources = [short_source(name).split("\n") for name in names]
    panels = [
        sheet.panel(label(name), [sheet.code(own, different(own, other))])
        for name, own, other in zip(names, sources, reversed(sources), strict=True)
    ]
    note = "Marked lines have no counterpart on the other side. Comments name the axes of a line’s result."
    canvas.sheet("two_forms", [sheet.row(panels, even=True), sheet.text(note, muted=True)])
    return names


def show_equality(page: Form, sizes: InputSizes) -> tuple[list[Equality], list[str]]:
    """The differences on both inputs, and what each implementation is; folded, with the controls that act on them.

    Returns:
        the inputs that could be computed, and what must be said.
    """
    with widgets.folded(
        "equality", "The numbers: how far is each from the exact result and from torch?", "mask", "rule"
    ):
        sentence = controls.sentence()
        controls.layer(page)
        mask = controls.mask(page, paints=False)
        asked = Settings(sentence, mask, device=page.query.device)

        def compute(asked: Settings) -> tuple[Picture, Equality]:
            return pictures.picture(asked), parity.of_sentence(asked, page.at.layer)

        (picture, own), settings, notices = page.or_last_valid(asked, compute)
        blocks, equalities = equality_blocks(settings, own, page.at.layer, sizes)
        canvas.sheet("equality", blocks)
    of_passes = [*picture.run.notices, *(said for one in equalities for said in one.notices)]
    return equalities, [*notices, *dict.fromkeys(of_passes)]


def equality_blocks(
    settings: Settings, own: Equality, layer: int, sizes: InputSizes
) -> tuple[list[Block], list[Equality]]:
    """The tables of both inputs, of which `own` is the sentence, and what could be computed."""
    equalities = [own]

    def tables(found: Equality) -> list[Block]:
        both = [parity.differences(found, dtype) for dtype in parity.DTYPES]
        effects = [parity.biases(found)] if found.effects else []
        return [*both, *effects]

    d_model, n_heads = sizes.d_model, sizes.n_heads
    waiting = st.empty()
    try:
        found = parity.of_random(
            sizes, settings.mask, settings.device, lambda: waiting.caption("Waiting for other users’ tables")
        )
        fewer = f" of the {sizes.b:,} that are timed" if found.shape[0] < sizes.b else ""
        random, note = tables(found), f"normally distributed numbers of seed 1, weights of seed 0: {found.sizes}{fewer}"
        equalities.append(found)
    except HeadlightError as error:
        random, note = [sheet.notices([f"This cannot be computed: {error}."])], ""
        d_model, n_heads = own.shape[-1], own.n_heads
    waiting.empty()
    own_note = f"the input of MiniLM’s layer {layer} (counted from 0), and its weights: {own.sizes}"
    panels = [sheet.panel("On your sentence", tables(own), own_note), sheet.panel("On random input", random, note)]
    kinds = sheet.panel("The implementations", [parity.kinds(d_model, n_heads, sizes.biases)])
    return [sheet.text(parity.meaning()), sheet.row(panels, even=True), kinds], equalities


def show_classes(names: Sequence[str]) -> None:
    """The whole classes of two implementations."""
    with widgets.folded("classes", "The complete classes, as they run here", "impl", "beside", lazy=True) as fold:
        for column, name in zip(st.columns(2), names, strict=True):
            if fold.open:
                column.code(inspect.getsource(IMPLEMENTATIONS[name]), language="python", height=640, wrap_lines=True)
