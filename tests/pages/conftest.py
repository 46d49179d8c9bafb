"""MiniLM once for all tests of the pages, and the whole app without a browser."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from mha_core import Model
from pages.kit import cached

SHELL = Path(__file__).parents[2] / "pages" / "kit" / "shell.py"

OpenApp = Callable[..., AppTest]


@pytest.fixture(scope="session")
def model() -> Model:
    return cached.model_on("auto")


@pytest.fixture
def open_app() -> OpenApp:
    """Opens the app with the values of a link."""

    def open_with(**values: str | list[str]) -> AppTest:
        app = AppTest.from_file(str(SHELL), default_timeout=60)
        for key, value in values.items():
            app.query_params[key] = value
        return app.run()

    return open_with


def unpacked(packed: bytes) -> tuple[dict[str, Any], bytes]:
    """The header and the values of a message, read as the browser reads them."""
    (length,) = struct.unpack_from("<I", packed)
    return json.loads(packed[4 : 4 + length]), packed[4 + length :]


def messages(app: AppTest) -> tuple[bytes, bytes]:
    """The two messages of the map view: all maps, and the state with the maps in focus."""
    *_, maps, focus = (component.proto for component in app.get("bidi_component"))
    return maps.bytes, focus.bytes


def state(app: AppTest) -> dict[str, Any]:
    """The state that the map view was given."""
    assert not app.exception
    assert not app.error
    return unpacked(messages(app)[1])[0]
