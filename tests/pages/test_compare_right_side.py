"""What the right side of Compare begins with: the left with one thing changed, whatever page one comes from."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from mha_core import Model
from pages.compare import contrasts, right_side
from pages.kit.picture.fields import DEFAULTS
from pages.kit.picture.query import Query

from .conftest import app_at, control, go_to

CHANGES: list[dict[str, Any]] = [
    {},
    {"mask": "causal", "off": ["L3 H5"]},
    {"mask": "dilated", "w": "2", "gap": "3"},
    {"mask": "combination", "rule": "causal & window:4 | sinks:1"},
    {"pos": "rotary", "t": "0.5"},
    {"pos": "none"},
]


def differing(app: AppTest, model: Model) -> list[str]:
    """The keys of what differs, as the view's query says it."""
    query = Query(control(app, "pair")["query"].encode())
    left = query.settings()
    return [one.key for one in contrasts.contrasts(left, query.settings("2", left.text), model)]


def right(app: AppTest) -> dict[str, Any]:
    return {key: app.session_state[f"{key}2"] for key in ("mask", "pos", "t", "off")}


@pytest.mark.parametrize("values", CHANGES, ids=str)
@pytest.mark.parametrize("page", ["explore", "shapes"])
def test_from_another_page_one_thing_differs(model: Model, page: str, values: dict[str, Any]) -> None:
    app = go_to(app_at(page, **values).run(), "compare").run()
    assert differing(app, model) == ["pos"]
    assert [app.session_state[key] for key in ("mask2", "off2")] == [app.session_state[key] for key in ("mask", "off")]
    before = right(app)
    assert right(app.run()) == before, "and stays so"
    for key in ("mask2", "off2", "t2"):
        said = app.query_params.get(key)
        assert (said is None) == (app.session_state[key] == DEFAULTS[key]), "the link says it"


def test_a_link_opens_what_it_always_did(model: Model) -> None:
    for values in CHANGES:
        app = app_at("compare", **values).run()
        assert right(app) == {"mask": "none", "pos": "none", "t": 1.0, "off": []}
    app = app_at("shapes", mask="causal", mask2="window", t2="0.5").run()
    go_to(app, "compare").run()
    assert right(app) == {"mask": "window", "pos": "none", "t": 0.5, "off": []}, "its keys keep their meaning"


def test_coming_back_it_follows_the_left_until_it_is_chosen(model: Model) -> None:
    app = go_to(app_at("shapes", mask="causal").run(), "compare").run()
    go_to(app, "shapes").run()
    app.session_state["mask"] = "window"
    go_to(app.run(), "compare").run()
    assert (right(app)["mask"], differing(app, model)) == ("window", ["pos"])
    app.session_state["t2"] = 0.5
    app.run()
    go_to(app, "shapes").run()
    app.session_state["mask"] = "causal"
    go_to(app.run(), "compare").run()
    assert (right(app)["mask"], right(app)["t"]) == ("window", 0.5), "the visitor's own"


def test_what_was_changed_on_the_left_here_is_no_reason_to_begin_again(model: Model) -> None:
    app = go_to(app_at("shapes").run(), "compare").run()
    app.session_state["mask"] = "causal"
    app.run()
    go_to(app, "shapes").run()
    go_to(app, "compare").run()
    assert (right(app)["mask"], differing(app, model)) == ("none", ["mask", "pos"])


def test_a_model_without_positions_differs_in_the_mask(shipped: object) -> None:
    app = go_to(app_at("shapes", model="who-none-1").run(), "compare").run()
    query = Query(control(app, "pair")["query"].encode())
    assert differing(app, query.model) == ["mask"]


def test_a_long_painting_is_not_said_twice(model: Model) -> None:
    left = {key: DEFAULTS[key] for key in right_side.SIDE} | {"mask": "painted", "on": "causal", "p": "x" * 2000}
    begun = right_side.one_change(left, model)
    assert (begun["mask"], begun["p"], begun["pos"]) == ("none", "", "as trained")
    short = right_side.one_change(left | {"p": "x"}, model)
    assert (short["mask"], short["p"], short["pos"]) == ("painted", "x", "none")
