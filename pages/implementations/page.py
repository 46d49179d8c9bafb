"""Implementations page: one set of weights in seven implementations, compared, read and timed."""

import inspect
from collections.abc import Sequence

import streamlit as st

from headlight.picture import pictures
from headlight.picture.pictures import Picture
from headlight.picture.settings import Settings
from headlight.ui import pages, sheet
from headlight.ui.phrases import WORDS
from headlight.ui.sheet import Block
from mha_core import IMPLEMENTATIONS
from mha_core.errors import HeadlightError
from pages.frame import canvas, controls, links, widgets
from pages.frame.form import Form, picture_page

from . import cases, dialects, missing_maps, parity, timing
from .parity import Equality, InputSizes
from .sources import FORMS, differences, label


def show() -> None:
    """Show two sources side by side, the differences, the timing, and folded tables, classes and dictionary."""
    with picture_page("implementations") as page, page.stage:
        notices_place, opening, pair, bars, race = (st.container() for _ in range(5))
        with pair:
            names = show_pair()
        with race, st.container(key="timing_panel", border=True):
            plan, reported, result = timing.show(page.query.device)
        sizes = plan.sizes
        equalities, notices, picture = show_equality(page, sizes)
        with reported:
            random = equalities[1] if len(equalities) > 1 else None
            canvas.sheet("reported", [sheet.text(text) for text in cases.reported(sizes, random)])
        show_classes(names)
        with widgets.fold("words", "One concept, many names: a dictionary of tutorials and libraries", "find"):
            matches = dialects.dictionary(widgets.text("find", live=True, placeholder="search all columns"))
            canvas.sheet("words", matches)
        with widgets.fold("no_maps", WORDS["no maps"]["title"], "find"):
            canvas.sheet("no_maps", missing_maps.blocks(picture, page.cursor.layer))
        with opening:
            canvas.sheet("opening", [sheet.title(parity.opening(equalities))])
        with bars:
            canvas.sheet("opening_picture", [parity.picture(equalities)])
        with notices_place:  # at the top, but known only after all controls
            canvas.sheet("notices", [sheet.notices([*notices, *page.link_warnings()])])
        timing.show_result(plan, result)  # last, because it takes seconds


def show_pair() -> list[str]:
    """Show the plain forms of two implementations with differing lines marked; return their names."""
    with st.container(horizontal=True, key="chosen_pair"):
        names = [widgets.segments(key) for key in ("impl", "beside")]
    sources = [FORMS[name] for name in names]
    panels = [
        sheet.panel(label(name), [sheet.code(source, differences(source, other), f"{name}_attention.py")])
        for name, source, other in zip(names, sources, reversed(sources), strict=True)
    ]
    note = (
        "Each runs as it stands: self-attention without mask, positions and dropout. The other form has no line "
        "like the marked ones, even under other names. Comments name the axes of a line’s result."
    )
    bare = sheet.links([("The formula alone, as a function", pages.link("by_hand", ("ex", "scaled dot product")))])
    canvas.sheet("two_forms", [sheet.row(panels, even=True), sheet.row([sheet.text(note, muted=True), bare])])
    return names


def show_equality(page: Form, sizes: InputSizes) -> tuple[list[Equality], list[str], Picture]:
    """Show the differences on both inputs and the properties of each implementation, folded, with their controls.

    Returns:
        the inputs that could be computed, the notices to show, and the picture of the sentence.
    """
    label = "The numbers: how far is each from the exact result and from torch?"
    with widgets.fold("equality", label, "mask", "rule", open_now="learn" in st.query_params):
        requested = controls.model_controls(page, "mask", has_layer=True)
        if links.value("mask") == "painted":
            page.notices.append("Painted cells are ignored on this page; only the mask’s rule applies.")

        def compute(settings: Settings) -> tuple[Picture, Equality]:
            return pictures.picture(settings), parity.compare_sentence(settings, page.cursor.layer)

        (picture, equality), settings, notices = page.or_last_valid(requested, compute)
        blocks, equalities = equality_blocks(settings, equality, page.cursor.layer, sizes)
        canvas.sheet("equality", blocks)
    run_notices = [*picture.run.notices, *(notice for equality in equalities for notice in equality.notices)]
    return equalities, [*notices, *dict.fromkeys(run_notices)], picture


def equality_blocks(
    settings: Settings, equality: Equality, layer: int, sizes: InputSizes
) -> tuple[list[Block], list[Equality]]:
    """Return the tables for the sentence and the random input, and the inputs that could be computed."""
    equalities = [equality]

    def tables(result: Equality) -> list[Block]:
        effects = [parity.biases(result)] if result.effects else []
        return [*(parity.differences(result, dtype) for dtype in parity.DTYPES), *effects]

    d_model, n_heads = sizes.d_model, sizes.n_heads
    waiting = st.empty()
    try:
        result = parity.compare_random(
            sizes, settings.mask, settings.device, lambda: waiting.caption("Waiting for other users’ tables")
        )
        fewer = f" of the {sizes.b:,} that are timed" if result.shape[0] < sizes.b else ""
        random, note = (
            tables(result),
            f"normally distributed numbers of seed 1, weights of seed 0: {result.sizes}{fewer}",
        )
        equalities.append(result)
    except HeadlightError as error:
        random, note = [sheet.notices([f"This cannot be computed: {error}."])], ""
        d_model, n_heads = equality.shape[-1], equality.n_heads
    waiting.empty()
    origin = f"the input of MiniLM’s layer {layer} (counted from 0), and its weights: {equality.sizes}"
    panels = [sheet.panel("On your sentence", tables(equality), origin), sheet.panel("On random input", random, note)]
    blocks = [table(d_model, n_heads, sizes.biases) for table in (parity.counts, parity.kinds)]
    kinds = sheet.panel("The implementations", blocks)
    return [sheet.text(parity.meaning()), sheet.row(panels, even=True), kinds], equalities


def show_classes(names: Sequence[str]) -> None:
    """Show the full classes of two implementations, folded."""
    with widgets.fold("classes", "The complete classes, as they run here", "impl", "beside", lazy=True) as fold:
        for column, name in zip(st.columns(2), names, strict=True):
            if fold.open:
                column.code(inspect.getsource(IMPLEMENTATIONS[name]), language="python", height=640, wrap_lines=True)
