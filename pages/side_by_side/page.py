"""Side by side: the same sentence in several maps with their numbers, of one head or of the mean over a layer's."""

from dataclasses import replace

import streamlit as st

from headlight.link.fields import DEFAULTS
from headlight.picture.settings import Settings
from headlight.registry import MINILM
from headlight.ui import sheet
from headlight.ui.sheet import Block
from pages.frame import canvas, controls, links, widgets
from pages.frame.form import Form, picture_page

from . import beside
from .beside import TWICE, Sides

MEAN = "mean of all"


def show() -> None:
    """The sentence, what is compared, and a map for each."""
    with picture_page("side_by_side", takes_model=True) as page, page.stage:
        sentence = controls.sentence(page.name, TWICE if page.name == MINILM else "")
        with st.container(horizontal=True, vertical_alignment="bottom", key="beside"):
            sides = sides_of(page, Settings(sentence, model=page.name))
            head = looked_at(page)

        def panels(first: Settings) -> tuple[list[Block], list[str]]:
            on_text = {name: replace(own, text=first.text) for name, own in sides.items()}
            return beside.panels(on_text, page.at.layer, head)

        (blocks, of_passes), shown, notices = page.or_last(next(iter(sides.values())), panels)
        told = sheet.notices([*notices, *of_passes, *page.answer_link()])
        note = f"{heading(page.at.layer, head)} · rows look at columns · counted from 0"
        canvas.sheet("side_by_side", [told, sheet.title(f"“{shown.text}”", note), sheet.pictures(blocks)])


def sides_of(page: Form, settings: Settings) -> Sides:
    """The pictures: the models that were trained with other positions, or this one under the chosen ones."""
    others = beside.siblings(page.name)
    with widgets.kept_mounted("kin", bool(others)):
        of_task = widgets.switch("kin") and bool(others)
    names = controls.positions_of(page.model)
    usual = [name for name in beside.USUAL if name in names]
    with widgets.kept_mounted("three", not of_task):
        chosen = widgets.several("three", names, max_selections=beside.MOST, placeholder=", ".join(usual))
    return beside.of_task(settings, others) if of_task else beside.under(settings, chosen or usual)


def looked_at(page: Form) -> int | None:
    """The head, or None for the mean over the layer's. Both are numbers of `at`, as on every page."""
    at, first = page.at, page.query.default("at")
    mean = page.query["mean"]
    before = MEAN if mean else str(at.head)

    def take() -> None:
        layer, head = (st.session_state[key] for key in ("layer_beside", "head_beside"))
        links.put("mean", str(head == MEAN).lower(), str(DEFAULTS["mean"]).lower())
        links.put("at", str(replace(at, layer=int(layer), head=at.head if head == MEAN else int(head))), first)

    layers, heads = page.query.sizes
    st.session_state.update(layer_beside=str(at.layer), head_beside=before)
    widgets.one_of("Layer", list(map(str, range(layers))), "layer_beside", take)
    widgets.one_of("Head", [MEAN, *map(str, range(heads))], "head_beside", take)
    return None if mean else at.head


def heading(layer: int, head: int | None) -> str:
    return f"layer {layer}, mean over its heads" if head is None else f"layer {layer}, head {head}"
