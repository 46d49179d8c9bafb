"""What the browser still says of a control that an event has set does not undo the event."""

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
    echoes.told()


def says(app: AppTest, **controls: str) -> str:
    """What holds after a run in which the browser says this."""
    for key, text in controls.items():
        app.text_input(key).set_value(text)
    app.run()
    assert not app.exception
    return str(app.text[0].value)


@pytest.fixture
def app() -> AppTest:
    return AppTest.from_function(script).run()


def test_what_an_event_has_set_holds_until_the_browser_has_heard_of_it(app: AppTest) -> None:
    assert says(app, chosen="causal") == "causal"
    assert says(app, mask="none") == "causal", "an echo"
    assert says(app, mask="none") == "causal", "and another one"
    assert says(app, mask="causal") == "causal"
    assert says(app, mask="none") == "none", "the browser had heard of it: this is the visitor's"


def test_two_events_are_held_against_both_older_words(app: AppTest) -> None:
    says(app, chosen="causal")
    assert says(app, chosen="window", mask="none") == "window"
    assert says(app, mask="causal") == "window"
    assert says(app, mask="none") == "window"
    assert says(app, mask="window") == "window"
    assert says(app, mask="none") == "none"


def test_what_nobody_has_said_before_is_the_visitors(app: AppTest) -> None:
    says(app, chosen="causal")
    assert says(app, mask="prefix") == "prefix"


def test_an_echo_comes_soon_or_not_at_all(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    says(app, chosen="causal")
    monkeypatch.setattr(echoes, "SECONDS", -1.0)
    assert says(app, mask="none") == "none"
