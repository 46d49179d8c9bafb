"""Take it along, in Share: pictures and numbers that read back as what the page shows, and sentences in their place."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import torch
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
from .tab import Tab
from .train_page import Train

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


def check_drawing(explore: Explore, drawing: ET.Element, run: Run, link: str) -> None:
    """Colours, numbers, tokens, caption and link are those of the head in focus."""
    n = len(run.tokens)
    weights = run.weights[3, 1].flatten()
    palette = explore.page.evaluate(PALETTE)
    for colour, weight in zip(colours_of(drawing, n), weights.tolist(), strict=True):
        near = {round(255 * weight + off) for off in (-0.01, 0, 0.01)}  # other threads may round otherwise
        assert colour in {palette[max(0, byte)] for byte in near}
    texts = ["".join(text.itertext()) for text in drawing.iter(f"{SVG}text")]
    wanted = [short(weight) for weight in weights.tolist()]
    numbers = [text for text in texts if re.fullmatch(r"\.\d\d|1", text)]
    assert numbers[: len([text for text in wanted if text])] == [text for text in wanted if text]
    assert all(texts.count(token) >= 2 for token in run.tokens)
    assert texts[-1] == link
    assert texts[-2] == f"Explore · Head in focus · {ODD}"


def check_paper(explore: Explore) -> None:
    """On paper stands the picture alone, on one page, with lines to write on; afterwards the page is as before."""
    page, paper = explore.page, explore.page.locator("#headlight-print")
    page.evaluate("window.print = () => {}")
    page.locator(".take-along [data-kind=print]").click()
    page.emulate_media(media="print")
    expect(paper.locator("svg text", has_text="Head in focus")).to_be_visible()
    expect(paper.locator("hr")).to_have_count(6)
    expect(page.locator("#headlight-bar")).to_be_hidden()
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) == 1
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(paper).to_have_count(0)
    expect(page.locator("#headlight-bar")).to_be_visible()


def test_a_picture_is_what_the_page_shows(explore: Explore) -> None:
    explore.open(s=ODD, at="3.1")
    run = explore.shows(ODD)
    before = explore.view.locator(".large").inner_text()
    open_share(explore)
    explore.page.get_by_label("Theme of the picture").select_option("light")
    svg = take(explore, "svg")
    drawing = ET.fromstring(svg)
    check_drawing(explore, drawing, run, explore.page.url[: len(explore.page.url)])

    png = Image.open(io.BytesIO(take(explore, "png")))
    assert png.size == tuple(round(2 * float(drawing.attrib[side])) for side in ("width", "height"))
    assert png.convert("RGB").getpixel((2, 2)) == GROUNDS["light"]
    explore.page.get_by_label("Theme of the picture").select_option("as shown")
    slide = Image.open(io.BytesIO(take(explore, "slide")))
    assert slide.size == (1920, 1080)
    assert slide.convert("RGB").getpixel((2, 2)) == GROUNDS["dark"]
    html = take(explore, "html").decode()
    assert len(html.encode()) <= 60_000 + 1.5 * run.weights.numel()
    assert explore.view.locator(".large").inner_text() == before, "the page stands as before"
    assert explore.theme == "dark"

    check_paper(explore)
    explore.view.evaluate("view => view.setAttribute('data-waiting', '')")
    assert refused(explore, "png") == "The picture is still being computed; try again in a moment."
    explore.view.evaluate("view => view.removeAttribute('data-waiting')")
    explore.page.evaluate("history.replaceState(history.state, '', `?s=${'x'.repeat(2001)}`)")
    assert refused(explore, "csv").startswith("A sentence may have 2,000 characters, this one has 2,001")


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
    compare.page.get_by_label("Picture", exact=True).select_option("All of these together")
    maps = [one for one in ET.fromstring(take(compare, "svg")).iter(f"{SVG}g") if one.get("class") == "map"]
    assert len(maps) >= 3


def test_sheets_and_charts_give_their_numbers(new_tab: NewTab) -> None:
    hand = new_tab(ByHand).open()
    open_share(hand)
    with np.load(io.BytesIO(take(hand, "npz")), allow_pickle=False) as arrays:
        scores = np.array([[0.5, 0.1, 0.4], [0.1, 0.8, 0.3], [0.4, 0.3, 0.1]], np.float32)
        assert np.array_equal(arrays["Inputs_scores"], scores)
        assert arrays["Inputs_scores_rows"].tolist() == ["how", "are", "you"]
        weights = torch.from_numpy(scores).softmax(-1).numpy()
        assert [
            name for name in arrays if arrays[name].shape == (3, 3) and np.allclose(arrays[name], weights, atol=1e-6)
        ]
    rows = list(csv.reader(io.StringIO(take(hand, "csv").decode("utf-8-sig"))))
    at = next(number for number, row in enumerate(rows) if row[:1] == ["Inputs, scores"])
    assert np.array_equal(np.array([row[1:] for row in rows[at + 1 : at + 4]], np.float32), scores)
    assert "makes no file of its own" in refused(hand, "html")

    train = new_tab(Train).open()
    open_share(train)
    drawn = train.page.evaluate("[...document.querySelector('.js-plotly-plot').data[0].y]")
    first = list(csv.reader(io.StringIO(take(train, "csv").decode("utf-8-sig"))))
    values = np.array([row[1] for row in first[1 : len(drawn) + 1]], np.float32)
    assert np.array_equal(values, np.array(drawn, np.float32))
    assert ET.fromstring(take(train, "svg")).find(f".//{SVG}path") is not None

    words = new_tab(Glossary).open()
    open_share(words)
    assert refused(words, "csv") == "This page shows no numbers that make a table."
