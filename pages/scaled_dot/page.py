"""Scaled dot product: the one function that every head calls, on shapes of one's own, checked against torch's now."""

from typing import Any

import streamlit as st

from headlight.link.fields import DEFAULTS
from headlight.ui import events, sheet
from headlight.ui.numbers import cut
from mha_core.errors import DeviceError, SizeError
from pages.frame import canvas, widgets
from pages.frame.form import form

from . import case as cases
from . import parts, products
from .case import SOURCES, Case

Problems = dict[str, str]  # key of a control -> why what it says is not shown


def show() -> None:
    """The call with its controls, its source, the formulas, and products as loops."""
    problems: Problems = {}
    with form("scaled_dot") as here, here.stage:
        told, opening = st.container(), st.container()
        with st.container(key="call_panel", border=True):
            buttons = st.container()
            asked = case_of_link(problems)
        of_call = show_call(asked, here.query.device, problems, opening, buttons)
        show_products(asked.seed, problems)
        with told:  # at the top, but known only when every control has been made
            canvas.sheet("told", [sheet.notices([*here.answer_link(), *problems.values(), *of_call])])


def case_of_link(problems: Problems) -> Case:
    """The case that the controls say."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="call_sizes"):
        shape = shape_of("qs", cases.AXES, problems)
        source = widgets.segments("kv", list(SOURCES))
        with widgets.kept_mounted("nk", source != "both the queries"):
            keys = widgets.optional_number("nk", "as many as queries")
        with widgets.kept_mounted("wv", source == "both from elsewhere"):
            width = widgets.optional_number("wv", "as wide as keys")
        j, c = (None if number is None else int(number) for number in (keys, width))
        return Case(shape, source, j, c, widgets.whole("draw"))


def shape_of(key: str, axes: tuple[int, int], problems: Problems) -> tuple[int, ...]:
    """The shape that was typed; of one that cannot be read, the last one that could."""
    text = widgets.text(key)
    try:
        return cases.parse_shape(text, *axes)
    except SizeError as error:
        last: tuple[int, ...] = st.session_state.get(f"last_{key}") or cases.parse_shape(DEFAULTS[key], *axes)
        problems[key] = f"“{cut(text, 40)}” is not used: {error}. Still shown: {last}."
        return last


def show_call(case: Case, device: str, problems: Problems, opening: Any, buttons: Any) -> tuple[str, ...]:
    """What one call of the function gives, and its source; of one that is too large, the first case, wherever it fits.

    Returns what must be said of the call.
    """
    try:
        made = cases.checked(case, device)
        st.session_state["last_qs"] = case.queries
    except (SizeError, DeviceError) as error:
        case = Case(cases.parse_shape(DEFAULTS["qs"], *cases.AXES))
        problems["qs"] = f"This is not computed: {error}. Still shown: {case.queries}."
        made = cases.checked(case, "auto")
    with opening:
        canvas.sheet("opening", [parts.opening(case, made)])
    with buttons:
        canvas.sheet("cases", [parts.cases(case)], choose_case)
    numbers, code = st.columns([3, 2])
    with numbers:
        canvas.sheet("call", [parts.matrices(case, made), parts.comparison(made)])
    with code, st.container(key="call_code"):
        st.code(parts.source(), language="python", height=640, wrap_lines=True)
    canvas.sheet("formulas", [sheet.row([parts.formulas(case), parts.figures()], even=True)])
    return made.notices


def show_products(seed: int, problems: Problems) -> None:
    """A Aᵀ by @ and by the loops that it stands for."""
    canvas.sheet(
        "products_head", [sheet.title("A product of batches is a loop", "three axes: one loop; four axes: two")]
    )
    with st.container(key="product_panel", border=True):
        buttons = st.container()
        shape = shape_of("aat", products.AXES, problems)
        try:
            made = products.product(shape, seed)
            st.session_state["last_aat"] = shape
        except SizeError as error:
            shape = cases.parse_shape(DEFAULTS["aat"], *products.AXES)
            problems["aat"] = f"This is not computed: {error}. Still shown: {shape}."
            made = products.product(shape, seed)
        with buttons:
            canvas.sheet("product_cases", [parts.product_choices(shape)], choose_product)
    numbers, code = st.columns([3, 2])
    with numbers:
        canvas.sheet("products", [products.panel(made)])
    with code:
        st.code(products.source(shape), language="python", wrap_lines=True)


def choose_case(event: dict[str, Any]) -> None:
    case = cases.CASES.get(events.text(event, "case") or "")
    if case is not None:
        st.session_state.update(case.controls)


def choose_product(event: dict[str, Any]) -> None:
    text = events.text(event, "product")
    if text in products.CASES.values():
        st.session_state["aat"] = text
