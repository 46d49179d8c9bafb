"""An error message in place of content that needs a missing package."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from headlight.server.missing import missing_package


@contextmanager
def package_error() -> Iterator[None]:
    """Show which package is missing if the block raises an ImportError; a fragment needs a block of its own."""
    try:
        yield
    except ImportError as error:
        package = missing_package(error)
        if package is None:
            raise
        st.error(f"The package {package} is missing. Set Headlight up again with `make run`, then reload this page.")
