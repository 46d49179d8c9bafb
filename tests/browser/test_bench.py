"""What `make bench` presses is there: a measurement that ends at a button that was renamed measures nothing."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.bench import frames

from .server import Server


def test_what_is_pressed_on_explore_is_there(
    browser: Browser, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(frames, "CLICKS", 1)
    monkeypatch.setattr(frames, "HOVERS", 1)
    frames.measure_maps(browser, server.url, 16)
    assert "solo among 72" in capsys.readouterr().out
