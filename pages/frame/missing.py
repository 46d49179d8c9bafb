"""One sentence in place of what cannot be drawn because a package is missing."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from headlight.server.missing import missing_package


@contextmanager
def package_error() -> Iterator[None]:
    """Says which package is missing where something needs it; a fragment, which nothing else surrounds, has its own."""
    try:
        yield
    except ImportError as error:
        package = missing_package(error)
        if package is None:
            raise
        st.error(f"The package {package} is missing. Set Headlight up again with `make run`, then reload this page.")
