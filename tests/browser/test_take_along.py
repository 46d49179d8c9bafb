"""Take it along, in Share: pictures of what the page shows, numbers of the server, the page on paper, and sentences."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from mha_core import Run
from pages.kit.picture.settings import Settings

from .by_hand_page import ByHand
from .compare_page import Compare
from .conftest import NewTab
from .expected import run_of
from .explore_page import Explore
from .glossary_page import Glossary
from .modules import Modules
from .tab import Tab

ODD = 'say "=cmd", it @ 😀 & <b>'
SVG = "{http://www.w3.org/2000/svg}"
GROUNDS = {"dark": (0x0E, 0x13, 0x20), "light": (0xFB, 0xFA, 0xF6)}
# Of each cell of the map of a drawing, its colour: 256 of them, one a byte.
PALETTE = """async () => {
  const { palette } = await import(new URL("../base/colour.js", document.querySelector("link.house").href));
  return [...palette("light", "root", 255)];
}"""


def open_share(tab: Tab) -> None:
    tab.share()
    expect(tab.page.locator(".take-along")).to_be_visible()


def take(tab: Tab, kind: str) -> bytes:
    """The file that a button gives."""
    with tab.page.expect_download() as waiting:
        tab.page.locator(f".take-along [data-kind={kind}]").click()
    expect(tab.page.locator(".take-along [role=status]")).to_have_text(f"Saved as {waiting.value.suggested_filename}.")
    return Path(waiting.value.path()).read_bytes()


def refused(tab: Tab, kind: str) -> str:
    """What is said instead of giving a file."""
    said = tab.page.locator(".take-along [role=status]")
    tab.page.locator(f".take-along [data-kind={kind}]").click()
    expect(said).not_to_have_text("")
    return said.inner_text()


def colours_of(drawing: ET.Element, n: int) -> list[int]:
    """The colours of the one map of n by n cells in a drawing, as pixels."""
    (cells,) = [group for group in drawing.iter(f"{SVG}g") if group.get("class") == "map"]
    found = [0] * (n * n)
    for path in cells:
        red, green, blue = map(int, re.findall(r"\d+", path.attrib["fill"]))
        for column, row, width in re.findall(r"M(\d+) (\d+)h(\d+)", path.attrib["d"]):
            for j in range(int(column), int(column) + int(width)):
                found[int(row) * n + j] = 255 << 24 | blue << 16 | green << 8 | red
    return found


def short(weight: float) -> str:
    """The number in a cell, as words.js writes it."""
    return "" if weight < 0.005 else f"{weight:.2f}".removeprefix("0") if weight < 0.995 else "1"


def check_drawing(explore: Explore, drawing: ET.Element, run: Run) -> None:
    """Colours, numbers, tokens, caption and link are those of the head in focus."""
    n = len(run.tokens)
    weights = run.weights[3, 1].flatten()
    palette = explore.page.evaluate(PALETTE)
    for colour, weight in zip(colours_of(drawing, n), weights.tolist(), strict=True):
        near = {round(255 * weight + off) for off in (-0.01, 0, 0.01)}  # other threads may round otherwise
        assert colour in {palette[max(0, byte)] for byte in near}
    texts = ["".join(text.itertext()) for text in drawing.iter(f"{SVG}text")]
    wanted = [short(weight) for weight in weights.tolist()]
    assert [text for text in texts if re.fullmatch(r"\.\d\d|1", text)] == [text for text in wanted if text]
    assert all(texts.count(token) >= 2 for token in run.tokens)
    assert texts[-3] == f"Explore · Head in focus · {ODD}"
    assert texts[-2].startswith("layer 3, head 1 · ")
    assert texts[-1] == explore.page.url


def check_other_views(explore: Explore, run: Run) -> None:
    """The drawings of the other views are shapes and texts: a bar a channel, a point a head, a name a token."""
    choice = explore.page.get_by_label("Picture", exact=True)
    layers, heads = run.weights.shape[:2]
    for view, name, shape, least in (
        ("Flow", "Flow into “it” by rollout", "path", layers),
        ("Channels", "Channels of L3 H1, “it” → ", "rect", 3 * 32),
        ("All heads by a measure", "Heads by previous token and entropy", "path", layers * heads),
    ):
        explore.button(view).click()
        drawn = explore.view.locator(".other-views .drawn")
        expect(drawn).to_have_attribute("aria-label", re.compile(f"^{re.escape(name)}"))
        open_share(explore)  # what stands beside it closes it
        (shown,) = [text for text in choice.locator("option").all_text_contents() if text.startswith(name)]
        choice.select_option(shown)
        drawing = ET.fromstring(take(explore, "svg"))
        texts = ["".join(text.itertext()) for text in drawing.iter(f"{SVG}text")]
        assert texts[-2] == f"Explore · {shown} · {ODD}"
        assert len(list(drawing.iter(f"{SVG}{shape}"))) >= least
        assert view != "Flow" or all(text in texts for text in (*run.tokens, "input", f"layer {layers - 1}"))
    assert Image.open(io.BytesIO(take(explore, "png"))).width > 800


def test_a_picture_is_what_the_page_shows(explore: Explore) -> None:
    explore.open(s=ODD, at="3.1")
    run = explore.shows(ODD)
    on_paper_stands_the_whole_page_in_ink(explore)
    before = explore.view.locator(".large").inner_text()
    pixels = explore.view.locator(".large canvas").first.evaluate("canvas => canvas.toDataURL()")
    open_share(explore)
    explore.page.get_by_label("Theme of the picture").select_option("light")
    drawing = ET.fromstring(take(explore, "svg"))
    check_drawing(explore, drawing, run)

    png = Image.open(io.BytesIO(take(explore, "png"))).convert("RGB")
    assert png.getpixel((2, 2)) == GROUNDS["light"]
    palette = [tuple((colour >> shift) & 255 for shift in (0, 8, 16)) for colour in explore.page.evaluate(PALETTE)]
    seen = {colour for _, colour in png.getcolors(png.width * png.height) or []}
    drawn = {palette[round(255 * weight)] for weight in run.weights[3, 1].flatten().tolist()}
    assert len(drawn & seen) > 0.9 * len(drawn), "the cells have the colours of their weights"
    explore.page.get_by_label("Theme of the picture").select_option("as shown")
    slide = Image.open(io.BytesIO(take(explore, "slide")))
    assert slide.size == (1920, 1080)
    assert slide.convert("RGB").getpixel((2, 2)) == GROUNDS["dark"]
    html = take(explore, "html").decode()
    assert len(html.encode()) <= 60_000 + 1.5 * run.weights.numel()
    assert explore.view.locator(".large").inner_text() == before, "the page stands as before"
    assert explore.view.locator(".large canvas").first.evaluate("canvas => canvas.toDataURL()") == pixels
    assert explore.theme == "dark"
    explore.page.get_by_label("Picture", exact=True).select_option("Heads")
    assert refused(explore, "svg") == "Only a single map or drawing can be had as SVG: choose one."
    check_other_views(explore, run)

    explore.view.evaluate("view => view.setAttribute('data-waiting', '')")
    assert refused(explore, "png") == "The picture is still being computed; try again in a moment."
    explore.view.evaluate("view => view.removeAttribute('data-waiting')")
    explore.page.evaluate("history.replaceState(history.state, '', `?s=${'x'.repeat(12001)}`)")
    assert refused(explore, "csv").startswith("A sentence may have 12,000 characters, this one has 12,001")


def on_paper_stands_the_whole_page_in_ink(explore: Explore) -> None:
    """Share's Print and the browser's own give one paper: no bar, the views light, all of a long page."""
    page = explore.page
    open_share(explore)
    page.evaluate("window.print = () => { window.asked = true; }")
    page.locator(".take-along [data-kind=print]").click()
    assert page.evaluate("window.asked")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(explore.view).to_have_attribute("data-theme", "light")
    expect(page.locator("#headlight-bar")).to_be_hidden()
    main = page.locator("[data-testid='stMain']")
    assert main.evaluate("main => main.scrollHeight <= main.clientHeight"), "nothing is left behind a scroll"
    width = page.evaluate("innerWidth * getComputedStyle(document.documentElement).zoom")
    assert width == pytest.approx(718, abs=1), "as on the screen, and as wide as a sheet of A4 between its margins"
    expect(explore.view.locator(".large .map .over")).to_be_hidden()  # it would come out white
    expect(explore.view.locator(".large .map canvas:not(.over)")).to_be_visible()
    expect(explore.view.locator(".all-heads")).to_be_hidden()
    assert re.search(rb"/Type\s*/Page\b", page.pdf(format="A4"))
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(explore.view).to_have_attribute("data-theme", "dark")
    expect(page.locator("#headlight-bar")).to_be_visible()


def test_compare_gives_both_sides(compare: Compare) -> None:
    compare.open(s="can you can that", s2="can you see that", at="2.5")
    open_share(compare)
    with np.load(io.BytesIO(take(compare, "npz")), allow_pickle=False) as arrays:
        for side, text in (("left", "can you can that"), ("right", "can you see that")):
            run = run_of(Settings(text, position="trained" if side == "left" else "none"))
            assert np.allclose(arrays[side], run.weights[2, 5].numpy(), rtol=0, atol=1e-5), side  # other threads
            assert arrays[f"{side}_rows"].tolist() == run.tokens
    names = compare.page.get_by_label("Picture", exact=True).locator("option").all_text_contents()
    assert names[:3] == ["Left", "Right", "Right − left"]
    assert names[-1] == "All of these together"
    sizes = []
    for name in ("Left", "All of these together"):
        compare.page.get_by_label("Picture", exact=True).select_option(name)
        sizes.append(Image.open(io.BytesIO(take(compare, "png"))).size)
    assert sizes[1][0] > 1.5 * sizes[0][0]


def test_a_page_offers_what_it_has(new_tab: NewTab) -> None:
    hand = new_tab(ByHand).open()
    open_share(hand)
    scores = np.array([[0.5, 0.1, 0.4], [0.1, 0.8, 0.3], [0.4, 0.3, 0.1]], np.float32)
    with np.load(io.BytesIO(take(hand, "npz")), allow_pickle=False) as arrays:
        assert np.array_equal(arrays["Inputs, scores"], scores)
    expect(hand.page.locator(".take-along [data-kind=html]")).to_be_hidden()

    words = new_tab(Glossary).open()
    open_share(words)
    assert refused(words, "png") == "This page shows no picture that is drawn; Print has all of it."
    expect(words.page.locator(".take-along [data-kind=csv]")).to_be_hidden()


def test_what_xml_cannot_hold_is_marked(modules: Modules) -> None:
    texts = ["a\tb\nc", "😀", "\x01", "\ud800x", "<b>&"]
    made = modules.each("picture/map_svg.js", texts, "m.asXml(row)")
    assert made == ["a b c", "😀", "\ufffd", "\ufffdx", "<b>&"]
