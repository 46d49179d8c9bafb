"""What surrounds every page: its configuration, the list of pages, and one sentence when the model cannot be loaded."""

from __future__ import annotations

import streamlit as st

PAGES = [st.Page("../explore.py", title="Explore", url_path="explore", default=True)]

st.set_page_config(page_title="Headlight", layout="wide", initial_sidebar_state="collapsed")
page = st.navigation(PAGES, position="hidden")
try:
    from mha_core.errors import HeadlightError, WeightsFileError

    try:
        page.run()
    except WeightsFileError as error:
        st.error(f"The model cannot be loaded: {error}.")
    except HeadlightError as error:
        st.error(f"This cannot be shown: {error}.")
except ImportError as error:
    st.error(f"The package {error.name} is missing. Set Headlight up again with `make run`, then reload this page.")
