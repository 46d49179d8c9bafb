"""The table of fields: what the controls of every page show is what the table says, and docs/links.md has all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.kit.draw.pages import PAGES
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
