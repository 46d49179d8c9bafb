"""What `make bench` presses is there: a measurement that ends at a button that was renamed measures nothing."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.bench import chrome, screen
from tests.bench.acts import ACTS, KINDS, open_page
from tests.bench.visitors import PICTURES, Typist, sentence

from .conftest import NewTab
from .server import Server
from .tab import Tab

pytestmark = pytest.mark.thorough("the measurements of make bench, in their shortest form")


def test_what_is_pressed_and_timed_on_a_page_brings_a_picture(
    browser: Browser,
    server: Server,
    new_tab: NewTab,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(screen, "CLICKS", 1)
    monkeypatch.setattr(screen, "HOVERS", 1)
    screen.measure_maps(browser, server.url, 16)
    assert "solo among 72" in capsys.readouterr().out
    monkeypatch.setattr(chrome, "new_page", lambda _: new_tab(Tab).page)
    for name in KINDS:
        site = open_page(browser, server.url, name)
        own = {"Explore": ["lamp", "key", "Enter"], "Masks": ["painted cell"]}.get(name, [])  # the box is on all
        for act in (*own, "mask", "position", "temperature"):
            assert ACTS[act].time(site, 8) > 0, (name, act)
    for page in PICTURES:  # for a typist without a browser
        typist = Typist(server.url, page)
        assert typist.ask(sentence(8, page)).status == 200, page
        assert page != "compare" or typist.ask(sentence(8, page), "each").status == 200
        typist.close()
