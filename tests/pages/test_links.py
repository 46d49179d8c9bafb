"""What the browser sends is cut to its bounds before a page looks at it, and a link leaves out what makes it long."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.testing.v1.element_tree import ElementTree

from pages.kit.frame import links
from pages.kit.frame.links import LONGEST_LINK
from pages.kit.picture.fields import DEFAULTS, FIELDS
from pages.kit.picture.place import parse_look

from .conftest import app_at, payloads

HUGE = 200_000  # characters; Streamlit takes no message with more than 2 MB
LONG = 30_000  # Streamlit leaves a longer address alone
TEXTS = [  # pages and their bound texts; other words change the matrices "m"
    ("explore", ("s", "at", "look", "pin", "rule", "on", "p", "model")),
    ("compare", ("s", "s2", "order", "at", "look", "rule2", "on2", "p2")),
    ("masks", ("s", "pad", "at")),
    ("positions", ("s", "at")),
    ("implementations", ("s", "at")),
    ("by_hand", ("qw", "kw", "at")),
    ("by_hand", ("m",)),
]


@pytest.mark.parametrize(("page", "keys"), TEXTS)
def test_a_huge_text_in_a_field_is_cut_and_a_sentence_says_so(page: str, keys: tuple[str, ...]) -> None:
    app = app_at(page).run()
    usual = payloads(app)
    for number, key in enumerate(keys):
        letters = "ab_~"[number % 4]
        app.text_input(key=key).set_value(letters * (HUGE + number))
    app.run()
    told = payloads(app)
    for number, key in enumerate(keys):
        assert len(app.text_input(key=key).value or "") <= FIELDS[key].longest
        assert f"{HUGE + number:,} characters" in told
    assert len(told) < len(usual) + 20_000 * len(keys)
    app.run()
    assert all(len(app.session_state[key]) <= FIELDS[key].longest for key in keys)
    assert not app.exception


@pytest.mark.parametrize(("page", "keys"), TEXTS)
def test_a_huge_text_in_a_link_is_cut_and_a_sentence_says_so(page: str, keys: tuple[str, ...]) -> None:
    app = app_at(page, **{key: "x" * (LONG + number) for number, key in enumerate(keys)}).run()
    told = payloads(app)
    for number, key in enumerate(keys):
        assert len(app.text_input(key=key).value or "") <= FIELDS[key].longest
        assert len(app.query_params.get(key, "")) <= FIELDS[key].longest
        assert f"{LONG + number:,} characters" in told
    assert not app.run().exception


def test_a_huge_option_in_a_link_is_the_default() -> None:
    keys = ("pos", "off", "dev", "t", "w", "big")
    for asked in ({"mask": "window", **dict.fromkeys(keys, "x" * LONG)}, {"mask": "x" * LONG}):
        app = app_at(**asked).run()
        told = payloads(app)
        for key in set(asked) - ({"mask"} if len(asked) > 1 else set()):
            assert f"The link says {key}=xxx" in told
        assert f"{LONG:,} characters, too long to be used here" in told
        assert not app.run().exception


def test_many_values_of_a_key_are_cut_too() -> None:
    app = app_at(off=["L9 H9"] * 900).run()
    assert "The link says off=L9 H9" in payloads(app)
    assert len(app.query_params.get("off", ())) <= 1024


def test_what_is_typed_can_grow_beyond_what_is_used_and_be_shortened() -> None:
    app = app_at().run()
    app.text_input(key="s").set_value("it " * 1000).run()
    assert app.text_input(key="s").value == "it " * 1000
    assert "A sentence may have 2,000 characters, this one has 3,000" in payloads(app)


def test_a_look_that_is_cut_is_not_usable() -> None:
    text = "_".join(["root"] * HUGE)
    assert parse_look(text[: FIELDS["look"].longest], 6, 12) is None
    assert parse_look("_".join(["root"] * 100), 6, 12) is not None


@pytest.mark.parametrize("kind", ["string", "double", "bool", "int"])
def test_a_value_of_another_kind_is_the_default(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    keys = ("s", "at", "look", "pin", "rule", "p", "model")
    app = app_at().run()
    usual = payloads(app)
    wanted = {app.text_input(key=key).proto.id for key in keys}
    collect = ElementTree.get_widget_states

    def forged(tree: ElementTree) -> WidgetStates:
        states = collect(tree)
        for state in states.widgets:
            if state.id in wanted:
                name = state.id
                state.Clear()
                state.id = name
                values: dict[str, Any] = {"string": "x" * HUGE, "double": 3.1, "bool": True, "int": 7}
                setattr(state, f"{kind}_value", values[kind])
        return states

    monkeypatch.setattr(ElementTree, "get_widget_states", forged)
    app.run()
    assert not app.exception
    assert all(len(app.session_state[key]) <= FIELDS[key].longest for key in keys)
    monkeypatch.undo()
    for key in keys:
        app.text_input(key=key).set_value(DEFAULTS[key])
    app.run()
    assert len(payloads(app.run())) == len(usual)


def test_a_text_that_cannot_be_used_is_reset_where_no_view_answers() -> None:
    app = app_at("by_hand", ex="a real cell", at="9.9", model="nobody").run()
    assert "The link says at=9.9" in payloads(app)
    assert "The link says model=nobody" in payloads(app)
    app.run()
    assert "The link says" not in payloads(app)
    assert (app.session_state["at"], app.session_state["model"]) == (DEFAULTS["at"], "minilm")


# ---- what a link leaves out

texts = st.builds(str.__mul__, st.text("aж &/=\ud800😀~", min_size=1, max_size=9), st.integers(0, 400))
states = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("s", "s2", "order", "pin", "ask", "ask2", "longer", "rule", "qw", "p", "at"), texts),
        "off": st.lists(st.sampled_from(["L0 H1", "L3 H1", "L5 H11"]), unique=True),
        "t": st.floats(0.1, 5.0),
        "big": st.booleans(),
    },
)


@given(states)
def test_a_link_leaves_out_as_little_as_it_can(values: dict[str, Any]) -> None:
    with patch.object(streamlit, "session_state", values), patch.object(streamlit, "query_params", {}):
        links.remember({"at": "0.2"})
        every = tuple(links.LEFT_OUT)
        shorter = (every[:count] for count in range(len(every)) if len(links.query(every[:count])) <= LONGEST_LINK)
        assert links.too_long() == next(shorter, every)


@given(st.sampled_from(sorted(DEFAULTS)), st.none() | st.booleans() | st.floats() | st.text() | st.lists(st.text()))
def test_whatever_a_control_says_has_the_kind_and_the_length_of_its_key(key: str, sent: Any) -> None:
    with patch.object(streamlit, "session_state", {key: sent}):
        kept = links.value(key)
    assert kept is sent or kept == DEFAULTS[key] or (isinstance(sent, str) and sent.startswith(kept))
    if isinstance(kept, str):
        assert len(kept) <= FIELDS[key].longest
