"""The address at which a class opens a link, and the same for the camera of a phone."""

from __future__ import annotations

import pytest
import streamlit as st
from streamlit import net_util

from pages.kit.server import addresses


@pytest.fixture
def serves(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A server that answers a network, on a machine with this address in it."""
    monkeypatch.setattr(st, "get_option", lambda name: "0.0.0.0")
    monkeypatch.setattr(net_util, "get_internal_ip", lambda: "192.168.1.7")
    return monkeypatch


def test_a_server_for_this_machine_alone_has_no_address_for_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "get_option", lambda name: "127.0.0.1")
    for url in ("http://localhost:8501/masks", "http://127.0.0.1:8501", ""):
        assert addresses.for_class(url) == ""


def test_who_sits_at_the_server_is_told_its_address_in_the_network(serves: pytest.MonkeyPatch) -> None:
    assert addresses.for_class("http://localhost:8501/masks") == "http://192.168.1.7:8501/masks"
    assert addresses.for_class("http://localhost/masks") == "http://192.168.1.7/masks"
    assert addresses.for_class("https://headlight.school/masks") == "https://headlight.school/masks"
    serves.setattr(net_util, "get_internal_ip", lambda: None)
    assert addresses.for_class("http://localhost:8501/masks") == ""


def test_the_code_is_an_image_of_exactly_this_link() -> None:
    first, second = (addresses.qr_code(f"http://192.168.1.7:8501/?s={word}") for word in ("a", "b"))
    assert first != second
    assert b"<svg xmlns=" in first
    assert addresses.qr_code("x" * addresses.LONGEST_QR)
