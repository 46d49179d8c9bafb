"""The table of fields: the controls of every page, docs/links.md and what the browser has of it agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from headlight.api import facts
from headlight.link.fields import DEFAULTS, FIELDS, MASKS, Field, table
from headlight.ui.pages import PAGES
from mha_core import masks

from .conftest import app_at

FORMS = {"positions", "by_hand", "implementations", "train"}
KINDS = ("text_input", "number_input", "slider", "selectbox", "segmented_control", "pills", "multiselect", "toggle")


def check(field: Field, control: Any) -> None:
    if field.key.rstrip("2") not in ("w", "first", "gap", "ask"):  # whose labels depend on another control
        assert control.label == field.label
    if field.kind == "number":
        assert (control.min, control.max) == field.range or field.key == "thr"  # a machine may have fewer threads
    if field.choices and field.key not in ("pos", "pos2"):  # a model without a learned table cannot alter it
        assert tuple(control.options) == field.choices


def test_each_control_of_each_page_is_the_one_of_the_table() -> None:
    for page in PAGES:
        app = app_at(page).run()
        assert not app.exception, page
        controls = {control.key: control for kind in KINDS for control in app.get(kind) if control.key in FIELDS}
        assert (len(controls) > 3) == (page in FORMS), "of the others words and buttons are a sheet, or a view's own"
        for key, control in controls.items():
            check(FIELDS[key], control)
            assert app.session_state[key] == DEFAULTS[key] or key in ("at", "dev", "cand")


def test_documented_table_and_the_browsers_are_this_one() -> None:
    document = (Path(__file__).parents[2] / "docs" / "links.md").read_text("utf-8")
    assert table() in document, "write headlight.link.fields.table() into docs/links.md"
    assert table().count("\n") == len(FIELDS) + 1
    for file, text in facts.modules().items():
        assert file.read_text("utf-8") == text, "run python -m headlight.api.facts"
    of_browser = facts.table()
    numbers = {mask["name"]: mask["numbers"] for mask in of_browser["MASKS"][2]}
    for name, described in numbers.items():
        assert [key for key, *_ in described] == list(MASKS[name])
        rule = ":".join([name, *(str(usual) for *_, usual in described)])
        assert masks.allow(masks.parse(rule), 4, 4).dtype == torch.bool, "the usual numbers are a mask"
    assert set(MASKS) - set(numbers) == {"combination", "painted"}, "which are written out"
    assert set(of_browser["POSITIONS"][2]) == set(FIELDS["pos"].choices)
