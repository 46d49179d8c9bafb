"""The table of fields: the controls of every page, docs/links.md and what the browser is told of it say the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from mha_core import masks
from pages.kit.draw.pages import PAGES
from pages.kit.picture import facts
from pages.kit.picture.fields import DEFAULTS, FIELDS, MASKS, Field, table

from .conftest import app_at

# what must be chosen so that every control of a page is there
CHOSEN = {"side_by_side": {"s": "how are you"}}
FORMS = {"positions", "by_hand", "scaled_dot", "implementations", "train"}


def mounted(app: AppTest) -> dict[str, Any]:
    kinds = ("text_input", "number_input", "slider", "selectbox", "segmented_control", "pills", "multiselect", "toggle")
    return {control.key: control for kind in kinds for control in app.get(kind) if control.key in FIELDS}


def check(field: Field, control: Any) -> None:
    if field.key.rstrip("2") not in ("w", "first", "gap", "ask"):  # whose labels depend on another control
        assert control.label == field.label
    if field.kind == "number":
        least, most = control.min, control.max
        assert (least, most) == field.ends or field.key == "thr"  # a machine may have fewer threads
    if field.choices and field.key not in ("pos", "pos2"):  # a model without a learned table cannot alter it
        assert tuple(control.options) == field.choices


@pytest.mark.parametrize("page", PAGES)
def test_a_control_is_what_the_table_says(page: str) -> None:
    app = app_at(page, **CHOSEN.get(page, {})).run()
    assert not app.exception
    controls = mounted(app)
    assert (len(controls) > 3) == (page in FORMS), "of the others words and buttons are a sheet, or a view's own"
    for key, control in controls.items():
        check(FIELDS[key], control)
        assert app.session_state[key] == DEFAULTS[key] or key in ("at", "dev", "cand", *CHOSEN.get(page, {}))


def test_defaults_are_usable() -> None:
    for field in FIELDS.values():
        match field.kind:
            case "text":
                assert len(field.default) < field.longest
            case "number":
                assert field.default is None or field.ends[0] <= field.default <= field.ends[1]
            case "choice":
                assert field.default is None or not field.choices or field.default in field.choices
            case "choices":
                assert not field.choices or set(field.default) <= set(field.choices)
    assert {key for numbers in MASKS.values() for key in numbers} <= set(FIELDS)


def test_the_documented_table_is_this_one() -> None:
    written = (Path(__file__).parents[2] / "docs" / "links.md").read_text("utf-8")
    assert table() in written, "write pages.kit.picture.fields.table() into docs/links.md"
    assert table().count("\n") == len(FIELDS) + 1


# ---- what the browser is told


def test_the_browser_has_what_is_said_here() -> None:
    for file, text in facts.modules().items():
        assert file.read_text("utf-8") == text, "run python -m pages.kit.picture.facts"


def test_every_mask_with_numbers_and_every_encoding_is_described() -> None:
    table = facts.table()
    described = {mask["name"]: [key for key, *_ in mask["numbers"]] for mask in table["MASKS"][2]}
    assert described == {name: list(numbers) for name, numbers in MASKS.items() if name in described}
    assert set(MASKS) - set(described) == {"combination", "painted"}, "which are written out"
    assert set(table["POSITIONS"][2]) == set(FIELDS["pos"].choices)


@pytest.mark.parametrize("name", [mask["name"] for mask in facts.table()["MASKS"][2]])
def test_the_usual_numbers_are_a_mask(name: str) -> None:
    (numbers,) = (mask["numbers"] for mask in facts.table()["MASKS"][2] if mask["name"] == name)
    written = ":".join([name, *(str(usual) for *_, usual in numbers)])
    assert masks.allow(masks.parse(written), 4, 4).dtype == torch.bool


# ---- bound controls, where a part of the page asks to run at the same time


def page() -> None:
    import streamlit as st

    from pages.kit.frame import widgets

    def part() -> None:
        st.session_state["parts"] = st.session_state.get("parts", 0) + 1

    st.button("news", on_click=lambda: st.rerun("part"))
    widgets.switch("apart")
    opened, places = widgets.tabs("tab")
    with places[opened]:
        st.write(opened)
    st.fragment(part, key="part")()
    st.session_state["pages"] = st.session_state.get("pages", 0) + 1


@pytest.mark.parametrize("chosen", [True, False])
def test_what_is_chosen_while_a_part_of_the_page_asks_to_run_runs_the_page(*, chosen: bool) -> None:
    """Streamlit would run the part in its place, and what was chosen would be seen with the next choice only."""
    app = AppTest.from_function(page).run()
    app.button[0].click()
    if chosen:
        app.toggle[0].set_value(True)
    app.run()
    assert not app.exception
    assert (app.session_state["pages"], app.session_state["parts"]) == (2 if chosen else 1, 2)
