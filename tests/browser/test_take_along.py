"""Take it along, in Share: pictures of what the page shows, its numbers and where they come from, the page on paper."""

from __future__ import annotations

import csv
import io
import re
from urllib.parse import parse_qs

import numpy as np
import pytest
import streamlit
import torch
from PIL import Image
from playwright.sync_api import expect

from mha_core.pretrained import MINILM_SHA256
from tests.closeness import identical

from .explore_page import Explore

FORMULAS = "=1+1 it @ home -x +y"
ODD = 'say "=cmd", it @ 😀 & <b>'
GROUNDS = {"dark": (0x0E, 0x13, 0x20), "light": (0xFB, 0xFA, 0xF6)}
# Of each cell of the map of a drawing, its colour: 256 of them, one a byte.
PALETTE = """async () => {
  const { palette } = await import(new URL("../base/colour.js", document.querySelector("link.house").href));
  return [...palette("light", "root", 255)];
}"""


@pytest.mark.thorough("every picture that Share gives of Explore, and the page on paper")
def test_a_picture_is_what_the_page_shows(explore: Explore) -> None:
    explore.open(s=ODD)
    run = explore.shows(ODD)
    on_paper_stands_the_whole_page_in_ink(explore)
    before = explore.view.locator(".large").inner_text()
    pixels = explore.view.locator(".large canvas").first.evaluate("canvas => canvas.toDataURL()")
    explore.share()
    explore.page.get_by_label("Theme of the picture").select_option("light")
    png = Image.open(io.BytesIO(explore.take("png"))).convert("RGB")
    assert png.getpixel((2, 2)) == GROUNDS["light"]
    palette = [tuple((colour >> shift) & 255 for shift in (0, 8, 16)) for colour in explore.page.evaluate(PALETTE)]
    seen = {colour for _, colour in png.getcolors(png.width * png.height) or []}
    drawn = {palette[round(255 * weight)] for weight in run.weights[3, 1].flatten().tolist()}
    assert len(drawn & seen) > 0.9 * len(drawn), "the cells have the colours of their weights"
    explore.page.get_by_label("Theme of the picture").select_option("as shown")
    slide = Image.open(io.BytesIO(explore.take("slide")))
    assert slide.size == (1920, 1080)
    assert slide.convert("RGB").getpixel((2, 2)) == GROUNDS["dark"]
    html = explore.take("html").decode()
    assert len(html.encode()) <= 60_000 + 1.5 * run.weights.numel()
    assert explore.view.locator(".large").inner_text() == before, "the page stands as before"
    assert explore.view.locator(".large canvas").first.evaluate("canvas => canvas.toDataURL()") == pixels
    assert explore.theme == "dark"
    explore.button("Trace a word through the layers").click()
    drawing = explore.view.locator(".other-views .drawn")
    expect(drawing).to_have_attribute("aria-label", re.compile("^Flow into"))  # Share lists what is drawn when it opens
    explore.share()  # what stands beside it closes it
    choice = explore.page.get_by_label("Picture", exact=True)
    (flow,) = [name for name in choice.locator("option").all_text_contents() if name.startswith("Flow into")]
    choice.select_option(flow)
    assert Image.open(io.BytesIO(explore.take("png"))).width > 800

    explore.view.evaluate("view => view.setAttribute('data-waiting', '')")
    assert explore.refused("png") == "The picture is still being computed; try again in a moment."
    explore.view.evaluate("view => view.removeAttribute('data-waiting')")
    explore.page.evaluate("history.replaceState(history.state, '', `?s=${'x'.repeat(12001)}`)")
    assert explore.refused("csv").startswith("A sentence may have at most 12,000 characters, and this one has 12,001")


def test_share_says_where_the_numbers_come_from_and_gives_them(explore: Explore) -> None:
    explore.open(s=FORMULAS, mask="causal", off=["L0 H1"], at="2.5")
    run = explore.shows(FORMULAS, mask="causal", heads_off=((0, 1),))
    panel = explore.share()
    panel.get_by_text("How was this computed?").click()
    expect(panel).to_contain_text(MINILM_SHA256)
    expect(panel).to_contain_text("minilm (pretrained weights)")
    expect(panel).to_contain_text(f"torch {torch.__version__}, streamlit {streamlit.__version__}")
    expect(panel).to_contain_text("float32")
    expect(panel).to_contain_text("threads")
    expect(panel).to_contain_text(f"mask causal, 1 head off; {len(run.tokens)} tokens")
    (link,) = [text for text in panel.locator("code").all_text_contents() if text.startswith("http")]
    assert parse_qs(link.split("?")[1]) == explore.query

    head, *rows = csv.reader(io.StringIO(explore.take("csv").decode("utf-8-sig")))
    quoted = [f"'{token}" if token[0] in "=+-@" else token for token in run.tokens]
    assert quoted != run.tokens
    assert head == ["layer 2 head 5: query / key", *quoted]
    assert [row[0] for row in rows] == quoted
    identical(torch.tensor(np.array([row[1:] for row in rows], np.float32)), run.weights[2, 5])

    with np.load(io.BytesIO(explore.take("npz")), allow_pickle=False) as arrays:
        identical(torch.from_numpy(arrays["weights"]), run.weights.cpu())
        identical(torch.from_numpy(arrays["hidden"]), run.hidden.cpu())
        assert arrays["tokens"].tolist() == run.tokens
        assert arrays["ids"].tolist() == run.ids


def on_paper_stands_the_whole_page_in_ink(explore: Explore) -> None:
    """Share's Print and the browser's own give one paper: no bar, the views light, all of a long page."""
    page = explore.page
    explore.share()
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
    assert round(width) in (717, 718, 719), "as on the screen, and as wide as a sheet of A4 between its margins"
    expect(explore.view.locator(".large .map .overlay")).to_be_hidden()  # it would come out white
    expect(explore.view.locator(".large .map canvas:not(.overlay)")).to_be_visible()
    expect(explore.view.locator(".all-heads")).to_be_hidden()
    assert re.search(rb"/Type\s*/Page\b", page.pdf(format="A4"))
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(explore.view).to_have_attribute("data-theme", "dark")
    expect(page.locator("#headlight-bar")).to_be_visible()
