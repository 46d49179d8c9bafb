"""What the browser sends is cut to its bounds before a page looks at it, and a link leaves out what makes it long."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ElementTree
from streamlit.util import calc_hash

from pages.kit.frame import links
from pages.kit.frame.links import DEFAULTS, LONGEST_LINK
from pages.kit.picture.limits import LONGEST, LONGEST_CHOICE
from pages.kit.picture.place import parse_look

from .conftest import SHELL

HUGE = 1_000_000
# a page -> its bound texts
TEXTS = {
    "explore": ("s", "at", "look", "pin", "rule", "on", "p", "model"),
    "shapes": ("s", "at", "step", "lesson"),
    "compare": ("s", "s2", "order", "at", "look", "rule2", "on2", "p2"),
    "masks": ("s", "pad", "at"),
    "positions": ("s", "at"),
    "implementations": ("s", "at"),
    "by-hand": ("qw", "kw", "m", "at"),
}
PLACES = [(page, key) for page, keys in TEXTS.items() for key in keys]


def opened(page: str, **values: str | list[str]) -> AppTest:
    app = AppTest.from_file(str(SHELL), default_timeout=60)
    for key, value in values.items():
        app.query_params[key] = value
    app._page_hash = "" if page == "explore" else calc_hash(page)  # switch_page takes no page whose address has a -
    return app.run()


def told(app: AppTest) -> str:
    """Everything that the page's views and sheets were given, as one text."""
    assert not app.exception
    assert not app.error
    parts = [one.proto for one in app.get("bidi_component")]
    return " ".join(part.json or part.bytes.decode("utf-8", "replace") for part in parts)


@pytest.mark.parametrize(
    ("page", "key", "letters"),
    [
        *((page, key, "x") for page, key in PLACES),
        ("explore", "s", "a "),
        ("by-hand", "qw", "a "),
        ("by-hand", "m", "_"),
    ],
)
def test_a_huge_text_in_a_field_is_cut_and_a_sentence_says_so(page: str, key: str, letters: str) -> None:
    app = opened(page)
    usual = told(app)
    app.text_input(key=key).set_value(letters * (HUGE // len(letters))).run()
    assert len(app.text_input(key=key).value or "") <= LONGEST[key]
    assert f"{HUGE:,} characters" in told(app)
    assert len(told(app)) < len(usual) + 20_000
    app.run()
    assert len(app.session_state[key]) <= LONGEST[key]
    assert not app.exception


@pytest.mark.parametrize(("page", "key"), PLACES)
def test_a_huge_text_in_a_link_is_cut_and_a_sentence_says_so(page: str, key: str) -> None:
    app = opened(page, **{key: "x" * 300_000})
    assert len(app.text_input(key=key).value or "") <= LONGEST[key]
    assert len(app.query_params.get(key, "")) <= LONGEST[key]
    assert "300,000 characters" in told(app)
    assert not app.run().exception


@pytest.mark.parametrize("key", ["mask", "pos", "off", "dev", "t", "w", "big"])
def test_a_huge_option_in_a_link_is_the_default(key: str) -> None:
    app = opened("explore", mask="window", **{} if key == "mask" else {key: "x" * 300_000})
    if key == "mask":
        app = opened("explore", mask="x" * 300_000)
    assert f"The link says {key}=xxx" in told(app)
    assert "300,000 characters, too long to be used here" in told(app)
    assert not app.run().exception


def test_many_values_of_a_key_are_cut_too() -> None:
    app = opened("explore", off=["L9 H9"] * 900)
    assert "The link says off=L9 H9" in told(app)
    assert len(app.query_params.get("off", ())) <= 1024


def test_what_is_typed_can_grow_beyond_what_is_used_and_be_shortened() -> None:
    app = opened("explore")
    app.text_input(key="s").set_value("it " * 1000).run()
    assert app.text_input(key="s").value == "it " * 1000
    assert "A sentence may have 2,000 characters, this one has 3,000" in told(app)


@pytest.mark.parametrize("key", sorted(LONGEST))
def test_a_text_at_its_bound_is_no_usable_one(key: str) -> None:
    assert key in DEFAULTS
    assert isinstance(DEFAULTS[key], str)


def test_a_look_that_is_cut_is_not_usable() -> None:
    text = "_".join(["root"] * HUGE)
    assert parse_look(text[: LONGEST["look"]], 6, 12) is None
    assert parse_look("_".join(["root"] * 100), 6, 12) is not None


@pytest.mark.parametrize("kind", ["string", "double", "bool", "int"])
@pytest.mark.parametrize("key", ["s", "at", "look", "pin", "rule", "p", "model"])
def test_a_value_of_another_kind_is_the_default(monkeypatch: pytest.MonkeyPatch, key: str, kind: str) -> None:
    app = opened("explore")
    usual = told(app)
    wanted = app.text_input(key=key).proto.id
    collect = ElementTree.get_widget_states

    def forged(tree: ElementTree) -> WidgetStates:
        states = collect(tree)
        own = next(state for state in states.widgets if state.id == wanted)
        own.Clear()
        own.id = wanted
        values: dict[str, Any] = {"string": "x" * HUGE, "double": 3.1, "bool": True, "int": 7}
        setattr(own, f"{kind}_value", values[kind])
        return states

    monkeypatch.setattr(ElementTree, "get_widget_states", forged)
    app.run()
    assert not app.exception
    assert len(app.session_state[key]) <= LONGEST[key]
    monkeypatch.undo()
    app.text_input(key=key).set_value(DEFAULTS[key]).run()
    assert len(told(app.run())) == len(usual)


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
    with patch.object(streamlit, "session_state", {**values, "own_defaults": {"at": "0.2"}}):
        every = tuple(links.LEFT_OUT)
        shorter = (every[:count] for count in range(len(every)) if len(links.query(every[:count])) <= LONGEST_LINK)
        assert links.too_long() == next(shorter, every)


@given(st.sampled_from(sorted(DEFAULTS)), st.none() | st.booleans() | st.floats() | st.text() | st.lists(st.text()))
def test_whatever_a_control_says_has_the_kind_and_the_length_of_its_key(key: str, sent: Any) -> None:
    with patch.object(streamlit, "session_state", {key: sent}):
        kept = links.value(key)
    assert kept is sent or kept == DEFAULTS[key] or (isinstance(sent, str) and sent.startswith(kept))
    if isinstance(kept, str):
        assert len(kept) <= LONGEST.get(key, LONGEST_CHOICE)
