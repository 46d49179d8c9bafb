"""What the browser sends is cut to its bounds before a page looks at it, and a link leaves out what makes it long."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st

from headlight.link.fields import DEFAULTS, DROP_ORDER, FIELDS
from pages.frame import links

from .conftest import app_at, go_to, payloads

HUGE = 200_000  # characters; Streamlit takes no message with more than 2 MB
LONG = 30_000  # Streamlit leaves a longer address alone
# pages, and their bound texts; other words change the matrices "m"
BY_HAND = [("by_hand", ("s", "qw", "kw", "rule", "on")), ("by_hand", ("m", "qs", "aat"))]


@pytest.mark.parametrize(("page", "keys"), BY_HAND)
def test_huge_text_in_a_field_is_cut_and_a_sentence_says_so(page: str, keys: tuple[str, ...]) -> None:
    app = app_at(page).run()
    usual = payloads(app)
    for number, key in enumerate(keys):
        app.text_input(key=key).set_value("ab_~"[number % 4] * HUGE)
    app.run()
    text = payloads(app)
    for key in keys:
        assert len(app.text_input(key=key).value or "") <= FIELDS[key].max_length
    assert text.count(f"{HUGE:,} characters; the first") == len(set(keys) - {"m"})  # the last answered one stays
    assert len(text) < len(usual) + 20_000 * len(keys)
    app.run()
    assert all(len(app.session_state[key]) <= FIELDS[key].max_length for key in keys)
    assert not app.exception


def test_huge_text_in_a_link_is_cut_and_a_sentence_says_so() -> None:
    keys = ("s", "qw", "rule", "on", "m", "at", "model", "p", "unheard")
    app = app_at(
        "by_hand", ex="a real cell", mask="painted", **{key: "x" * (LONG + number) for number, key in enumerate(keys)}
    ).run()
    text = payloads(app)
    for number, key in enumerate(keys):
        assert key not in app.session_state or len(app.session_state[key]) <= FIELDS[key].max_length
        assert f"The link says {key}=xxx" in text
        assert f"{LONG + number:,} characters, too long to be used here" in text
    assert not app.run().exception


def test_huge_options_and_many_values_in_a_link_are_cut() -> None:
    huge = dict.fromkeys(("mask", "pos", "dev", "t", "w"), "x" * LONG)
    app = app_at("by_hand", ex="a real cell", off=["L9 H9"] * 900, **huge).run()
    text = payloads(app)
    assert [key for key in huge if f"The link says {key}=xxx" not in text] == ["w"], "of a mask that there is not"
    assert "The link says off=L9 H9" in text
    assert not app.run().exception


def test_unusable_values_are_named_until_the_next_choice() -> None:
    app = app_at("by_hand", ex="a real cell", at="9.9", model="nobody", pos="nowhere").run()
    for _ in range(2):
        text = payloads(app)
        for value in ("at=9.9", "model=nobody", "pos=nowhere"):
            assert f"The link says {value}, which cannot be used here" in text
        assert '"unusable": "model at"' in text
        app.run()
    app.selectbox(key="pos").set_value("none").run()
    assert "The link says pos" not in payloads(app)
    go_to(app, "glossary").run()
    assert "The link says" not in payloads(app)
    assert "This link is of version 7" in payloads(app_at("glossary", v="7").run())


# ---- what a link leaves out

texts = st.builds(str.__mul__, st.text("aж &/=\ud800😀~", min_size=1, max_size=9), st.integers(0, 400))
states = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("s", "ask", "ask2", "longer", "rule", "qw", "p", "m"), texts),
        "off": st.lists(st.sampled_from(["L0 H1", "L3 H1", "L5 H11"]), unique=True),
        "t": st.floats(0.1, 5.0),
        "sqrt": st.booleans(),
    },
)


@given(states)
def test_link_leaves_out_as_little_as_it_can(values: dict[str, Any]) -> None:
    with patch.object(streamlit, "session_state", values):
        left_out = links.dropped_keys()
        rest = {key: value for key, value in values.items() if key not in left_out}
        with patch.object(streamlit, "session_state", rest):
            assert links.dropped_keys() == () or left_out == DROP_ORDER
        if left_out:
            one_more = rest | {left_out[-1]: values[left_out[-1]]} if left_out[-1] in values else values
            with patch.object(streamlit, "session_state", one_more):
                assert links.dropped_keys() or left_out[-1] not in values


@given(st.sampled_from(sorted(DEFAULTS)), st.none() | st.booleans() | st.floats() | st.text() | st.lists(st.text()))
def test_sent_value_has_the_type_and_bound_of_its_key(key: str, sent: Any) -> None:
    with patch.object(streamlit, "session_state", {key: sent}):
        kept = links.value(key)
    assert kept is sent or kept == DEFAULTS[key] or (isinstance(sent, str) and sent.startswith(kept))
    if isinstance(kept, str):
        assert len(kept) <= FIELDS[key].max_length
