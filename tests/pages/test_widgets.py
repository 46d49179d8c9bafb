"""The bound controls, where a part of the page asks to run at the same time."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest


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
