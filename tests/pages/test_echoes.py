"""What the browser still says of a control that an event has set does not undo the event; the visitor does."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from pages.kit.draw import echoes


def script() -> None:
    """A control, an event of a view that sets it, and another control beside it."""
    import streamlit as st

    from pages.kit.draw import echoes

    def take() -> None:
        with echoes.holding():
            st.session_state["mask"] = st.session_state["chosen"]

    echoes.answer()
    st.text_input("mask", "none", key="mask")
    st.text_input("chosen", "", key="chosen", on_change=take)
    st.text(st.session_state["mask"])
    echoes.tell()


def says(app: AppTest, heard: int | str, **controls: str) -> str:
    """What holds after a run in which the browser says this, having heard of so many values that code has set."""
    for key, text in ({echoes.HEARD: str(heard)} | controls).items():
        app.text_input(key).set_value(text)
    app.run()
    assert not app.exception
    return str(app.text[0].value)


@pytest.fixture
def app() -> AppTest:
    return AppTest.from_function(script).run()


def test_what_an_event_has_set_holds_until_the_browser_has_heard_of_it(app: AppTest) -> None:
    assert says(app, 0, chosen="causal") == "causal"
    assert says(app, 0, mask="none") == "causal", "an echo"
    assert says(app, 0, mask="none") == "causal", "and another one, however late"
    assert says(app, 1) == "causal"
    assert says(app, 1, mask="none") == "none", "the browser had heard of it: this is the visitor's"


def test_a_deliberate_return_holds_at_once(app: AppTest) -> None:
    assert says(app, 0, chosen="causal") == "causal"
    assert says(app, 1, mask="none") == "none"
    assert says(app, 1) == "none"


def test_two_events_are_held_against_both_older_words(app: AppTest) -> None:
    says(app, 0, chosen="causal")
    assert says(app, 0, chosen="window", mask="none") == "window"
    assert says(app, 1, mask="causal") == "window"
    assert says(app, 0, mask="none") == "window"
    assert says(app, 1, mask="none") == "none", "it had heard of the first: back from there is the visitor's"


def test_an_event_that_takes_an_earlier_one_back_holds_too(app: AppTest) -> None:
    says(app, 0, chosen="causal")
    assert says(app, 0, chosen="none") == "none"
    assert says(app, 1, mask="causal") == "none"
    assert says(app, 2, mask="causal") == "causal"


def test_what_nobody_has_said_before_is_the_visitors(app: AppTest) -> None:
    says(app, 0, chosen="causal")
    assert says(app, 0, mask="prefix") == "prefix"


def test_a_browser_that_hears_of_nothing_is_remembered_only_so_far(app: AppTest) -> None:
    for number in range(echoes.MOST + 5):
        says(app, 0, chosen=f"window:{number}")
    assert len(app.session_state["values_set_by_code"].of["mask"]) == echoes.MOST


@pytest.mark.parametrize("heard", ["", "-1", "1e9", "²", "9" * 5000])
def test_a_number_that_is_none_says_that_nothing_was_heard(app: AppTest, heard: str) -> None:
    says(app, 0, chosen="causal")
    assert says(app, heard, mask="none") == "causal"
