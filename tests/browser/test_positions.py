"""The Positions page as a visitor meets it: encodings by mouse and keyboard, sliders, presets, the link, a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from pages.positions.parts import TITLES

from .conftest import WAIT_MS, NewPage
from .helpers import WIDE, Server
from .test_phone_and_themes import CONTRASTS, SMALL_TARGETS


class Positions:
    """The page in one tab."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url

    def open(self, **values: Any) -> Positions:
        query = urlencode(values, doseq=True)
        self.page.goto(f"{self.url}/positions" + (f"?{query}" if query else ""))
        return self.settled()

    def settled(self) -> Positions:
        """Waits for the last part of the page and for the server to be at rest."""
        last = self.page.get_by_role("heading", name="On MiniLM: this sentence, everything else being equal")
        expect(last).to_be_attached(timeout=WAIT_MS)
        expect(self.page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")).to_be_visible()
        return self

    def heading(self, name: str) -> Locator:
        return self.page.get_by_role("heading", name=name, exact=True)

    def part(self, heading: str) -> Locator:
        """The framed part with this heading: words, numbers and chart."""
        return self.page.locator("[class*='st-key-part_']", has=self.heading(heading))

    def row(self, heading: str) -> list[str]:
        """The first row of numbers of a part."""
        return self.part(heading).locator("tbody tr").first.locator("th, td").all_inner_texts()

    def choose(self, label: str, option: str) -> None:
        """A select box by keyboard alone."""
        box = self.page.get_by_role("combobox", name=label)
        box.focus()
        box.press("Enter")
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.type(option)
        self.page.get_by_role("option", name=option, exact=True).wait_for()
        self.page.keyboard.press("Enter")

    def notices(self) -> list[str]:
        return self.page.locator(".st-key-told .notices p").all_text_contents()

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.page.url).query)


@pytest.fixture
def tab(desktop: BrowserContext, server: Server, watched: Callable[[Page, str], Page]) -> Iterator[Positions]:
    """The page, not yet opened, in a new tab."""
    server.check()
    page = watched(desktop.new_page(), server.url)
    yield Positions(page, server.url)
    page.close()


def test_two_encodings_side_by_side(tab: Positions) -> None:
    tab.open()
    left, right = (tab.part(f"{TITLES[name]}: picture").bounding_box() for name in ("sinusoidal", "learned"))
    assert left is not None
    assert right is not None
    assert right["x"] >= left["x"] + left["width"]
    assert abs(right["y"] - left["y"]) < 2
    assert abs(right["height"] - left["height"]) < 2
    expect(tab.page.locator(".js-plotly-plot")).to_have_count(11)
    first = tab.page.locator(".js-plotly-plot").first
    expect(first.locator(".ytick text").first).to_have_text("0 [CLS]")
    assert tab.notices() == []
    assert "NaN" not in tab.page.locator("body").inner_text()


def test_encodings_by_keyboard(tab: Positions) -> None:
    tab.open()
    tab.choose("Encoding", "rotary")
    expect(tab.heading(TITLES["rotary"])).to_be_visible()
    tab.choose("Beside it", "t5")
    expect(tab.heading("T5's relative bias: buckets")).to_be_attached()
    tab.settled()
    assert tab.query == {"enc": ["rotary"], "enc2": ["t5"]}
    expect(tab.page.get_by_role("spinbutton", name="Head in sight")).to_be_visible()


def test_the_position_moves_by_keyboard(tab: Positions) -> None:
    tab.open(enc="rotary", enc2="none")
    heading = "Rotary (RoPE): pair 0, position by position"
    assert tab.row(heading)[:2] == ["1", "1.0000"]
    tab.page.get_by_role("slider", name="Position on the circles").focus()
    for _ in range(2):
        tab.page.keyboard.press("ArrowRight")
    expect(tab.part(heading).locator("tbody th").first).to_have_text("3")
    assert tab.row(heading)[1:3] == ["3.0000", "0.4775"]
    tab.settled()
    assert tab.query["at_pos"] == ["3"]
    pair = tab.page.get_by_role("spinbutton", name="Pair of channels")
    pair.fill("4")
    pair.press("Enter")
    # 10000^(−8/32) is 0.1
    moved = "Rotary (RoPE): pair 4, position by position"
    expect(tab.heading(moved)).to_be_attached()
    assert tab.row(moved)[1] == "0.3000"


def test_presets(tab: Positions) -> None:
    tab.open()
    tab.page.get_by_role("button", name="ALiBi and T5").click()
    expect(tab.heading("ALiBi: all heads")).to_be_attached()
    tab.settled()
    assert tab.query == {"enc": ["alibi"], "enc2": ["t5"]}
    expect(tab.page.get_by_role("slider", name="Position on the circles")).to_be_hidden()
    tab.page.get_by_role("button", name="waves and a trained table").click()
    expect(tab.heading("Sinusoids: picture")).to_be_attached()
    tab.settled()
    assert tab.query == {}


def test_the_sentence_is_live(tab: Positions) -> None:
    tab.open(enc="alibi", enc2="none")
    tab.page.get_by_role("textbox", name="Sentence", exact=True).fill("how are <b>you</b>")
    expect(tab.part("ALiBi: picture").locator(".ytick text").nth(3)).to_have_text("3 <")
    assert tab.page.locator(".js-plotly-plot b").count() == 0


def test_the_link_opens_the_same_elsewhere(tab: Positions, new_page: NewPage) -> None:
    wanted = {"s": WIDE, "enc": "shaw", "enc2": "rotary", "hd": "5", "pair": "3", "at_pos": "20", "far": "700"}
    wanted |= {"amp": "0.05", "at": "1.0"}
    tab.open(**wanted, ch=["2", "9"])
    other = Positions(new_page().page, tab.url)
    other.page.goto(tab.page.url)
    other.settled()
    assert other.query == tab.query == {key: [value] for key, value in wanted.items()} | {"ch": ["2", "9"]}
    assert other.notices() == []
    for page in (tab, other):
        assert page.row("Rotary (RoPE): pair 3, position by position")[0] == "20"
        expect(page.page.get_by_text("the queries of this sentence in MiniLM's layer 1")).to_be_attached()
        expect(page.page.get_by_text("head 5 of 0 to 11, 15 queries × 15 keys")).to_be_attached()
    texts = [page.page.locator(".sheet").all_inner_texts() for page in (tab, other)]
    assert texts[0] == texts[1]


def test_sizes_that_do_not_go_leave_the_picture(tab: Positions) -> None:
    tab.open(enc="rotary", enc2="sinusoidal", d="51", h="3")
    assert [notice.split(":")[0] for notice in tab.notices()] == [
        f"The {name} encoding cannot be made" for name in ("rotary", "sinusoidal")
    ]
    expect(tab.page.locator(".js-plotly-plot")).to_have_count(11)


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_on_a_phone_in_both_themes(new_page: NewPage, scheme: str) -> None:
    explore = new_page(viewport={"width": 375, "height": 812}, color_scheme=scheme)
    phone = Positions(explore.page, explore.url).open(enc="t5", enc2="rotary")
    expect(phone.page.locator(".js-plotly-plot")).to_have_count(12)
    assert phone.page.evaluate("() => document.documentElement.scrollWidth") <= 375
    above, below = (phone.part(f"{TITLES[name]}: picture").bounding_box() for name in ("t5", "rotary"))
    assert above is not None
    assert below is not None
    assert below["y"] >= above["y"] + above["height"]
    assert phone.page.evaluate(SMALL_TARGETS) == []
    assert [found for found in phone.page.evaluate(CONTRASTS) if found[1] < 4.5] == []
