"""A run in a file of its own: opened from disk, with the network off."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import product
from pathlib import Path
from urllib.parse import urlencode

import pytest
import torch
from playwright.sync_api import Browser, Page, expect

from headlight.picture.settings import Settings
from mha_core import Run
from mha_core.show import standalone
from pages.explore import exports

from .axe import AXE, RUN, SERIOUS
from .conftest import OPTIONS
from .expected import TIRED, core, run_of, written
from .explore_page import Explore

Opens = Callable[[Run | str], AbstractContextManager[Page]]


@pytest.fixture
def opens(browser: Browser, tmp_path: Path) -> Opens:
    """A run's file, or the text of one, in a tab without a network; what it asks for beyond itself fails the test."""

    @contextmanager
    def in_a_tab(run: Run | str) -> Iterator[Page]:
        file = tmp_path / "heads.html"
        link = "http://example.org/?at=3.1.10"
        file.write_text(run if isinstance(run, str) else standalone(run, layer=3, head=1, row=10, link=link), "utf-8")
        context = browser.new_context(**OPTIONS, offline=True)
        page = context.new_page()
        requests, messages = list[str](), list[str]()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.goto(file.as_uri())
        expect(page.locator(".view.standalone")).to_be_visible()
        yield page
        assert [url for url in requests if not url.startswith(("file:", "blob:null/"))] == []
        assert messages == []
        context.close()

    return in_a_tab


class Standalone(Explore):
    """The file, which shows Explore's view."""

    VIEW = ".view.standalone"


def point(page: Page, row: int, key: int) -> str:
    """What is read out of a cell of the large map."""
    return Standalone(page, "").hover(row, key)


def colours_in(page: Page, row: int, key: int) -> int:
    """How many colours a cell of the large map has, the lines between cells left out."""
    view = Standalone(page, "")
    x, y, width, height = view.box_of(view.cell, row, key)
    points = [(x + 2 + at, y + 2 + at) for at in range(int(min(width, height)) - 4)]
    return len(set(map(tuple, view.pixels(view.view.locator(".large .map canvas").first, points))))


def test_the_file_shows_hover_heads_and_table(opens: Opens) -> None:
    run = run_of(Settings(TIRED))
    with opens(run) as page:
        tokens = run.tokens
        assert page.title().endswith(" · nothing changed")
        expect(page.locator(".top")).to_contain_text("nothing changed")
        expect(page.locator(".tile.off, .is-off, .off-note")).to_have_count(0)
        expect(page.locator(".legend")).not_to_contain_text("blocked")
        expect(page.locator("h2")).to_have_text("“it” attends most to “animal”: 0.64")
        assert point(page, 10, 2) == f"it → animal {written(float(run.weights[3, 1, 10, 2]))}"
        page.locator('[data-head="3.5"]').click()
        expect(page.locator(".view.standalone")).to_have_attribute("data-head", "5")
        assert point(page, 4, 9) == f"{tokens[4]} → {tokens[9]} {written(float(run.weights[3, 5, 4, 9]))}"
        page.get_by_role("button", name="table", exact=True).click()
        expect(page.locator(".table tbody td")).to_have_count(len(tokens) ** 2)
        expect(page.get_by_role("cell", name="blocked by the mask")).to_have_count(0)
        cells = page.locator(".table tbody td").all_inner_texts()
        assert cells == [f"{weight:.4f}" for weight in run.weights[3, 5].flatten().tolist()]
        page.get_by_role("button", name="map", exact=True).click()
        page.get_by_role("button", name="layer 5", exact=True).click()
        expect(page.locator(".subtitle")).to_contain_text("± 0.002")  # the farthest layer has a byte a weight
        told = re.search(r"[\d.]+$", point(page, 5, 4))
        assert told
        assert abs(float(told[0]) - float(run.weights[5, 5, 5, 4])) <= 1 / 510 + 0.005  # half a byte, half a digit
        page.get_by_role("button", name="all 72 heads", exact=True).click()
        expect(page.locator(".tile")).to_have_count(72)
        page.get_by_role("button", name="light theme", exact=True).click()
        expect(page.locator(".view.standalone")).to_have_attribute("data-theme", "light")
        expect(page.get_by_role("link")).to_have_attribute("href", "http://example.org/?at=3.1.10")

    allow = torch.ones(15, 15, dtype=torch.bool)
    allow[10] = False
    with opens(core().run(TIRED, mask=allow)) as page:
        expect(page.locator(".large h2")).to_have_text("“it” attends to no token: all its weights are 0")


CAUSAL = Settings(TIRED, mask="causal", position="none", temperature=2, heads_off=((3, 2), (0, 5)), values_off=(0,))
CHANGED = "mask causal, no positions, temperature 2, 2 heads off, without the value of “[CLS]”"


@pytest.mark.thorough("pixels and axe of a changed run")
def test_the_file_says_what_is_changed(opens: Opens) -> None:
    """In the tab and on top; a head that is off is marked and dimmed, what is blocked is hatched."""
    run = run_of(CAUSAL)
    with opens(run) as page:
        assert page.title().endswith(f" · {CHANGED}")
        expect(page.locator(".top")).to_contain_text(CHANGED)
        off, on = page.locator('[data-head="3.2"]'), page.locator('[data-head="3.1"]')
        expect(off).to_have_attribute("aria-label", "layer 3 head 2, ablated")
        expect(on).to_have_attribute("aria-label", "layer 3 head 1")
        mark = "tile => getComputedStyle(tile.querySelector('.name'), '::after').content"
        assert (off.evaluate(mark), on.evaluate(mark)) == ('"off"', "none")
        for theme in ("light", "dark"):
            if page.locator(".view.standalone").get_attribute("data-theme") != theme:
                page.get_by_role("button", name=f"{theme} theme", exact=True).click()
            expect(page.locator(".view.standalone")).to_have_attribute("data-theme", theme)
            assert colours_in(page, 3, 13) > 1, "hatched"
            page.evaluate(AXE)
            options = {"resultTypes": ["violations"], "rules": {"region": {"enabled": False}}}
            found = page.locator("html").evaluate(RUN, options)
            assert [line for impact, line in found if impact in SERIOUS] == []
        expect(page.locator(".legend")).to_contain_text("blocked")
        assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")

        off.click()
        heading = page.locator(".large h2")
        expect(heading).to_contain_text("“it” attends")
        expect(heading).to_contain_text("ablated: its output counts as 0")
        expect(page.locator(".large.is-off")).to_be_visible()
        expect(page.locator(".aloud")).to_contain_text("Layer 3 head 2, ablated: its output counts as 0. “it” attends")
        on.click()
        expect(heading).not_to_contain_text("ablated")
        expect(page.locator(".large.is-off")).to_have_count(0)

        # so do the keyboard and the table
        assert point(page, 10, 12) == "it → too 0.00, blocked by the mask"
        assert "blocked" not in point(page, 10, 2)
        page.get_by_role("button", name="table", exact=True).click()
        blocked = page.get_by_role("cell", name="blocked by the mask")
        expect(blocked).to_have_count(15 * 14 // 2)
        assert set(blocked.all_inner_texts()) == {"—"}


def file_of(**query: str) -> str:
    """What Share saves of a model that fits a file."""
    page = exports.html(urlencode(query).encode())
    assert len(page) < 700_000
    return page.decode("utf-8")


def assert_shown(page: Page, run: Run) -> None:
    """The table of every head has the weights of a run."""
    page.get_by_role("button", name="table", exact=True).click()
    for layer, head in product(*map(range, run.weights.shape[:2])):
        if run.weights.shape[0] > 1:
            page.get_by_role("button", name=f"layer {layer}", exact=True).click()
        page.locator(f'[data-head="{layer}.{head}"]').click()
        expect(page.locator(".view.standalone")).to_have_attribute("data-head", str(head))
        expect(page.locator(".view.standalone")).to_have_attribute("data-layer", str(layer))
        cells = page.locator(".table tbody td").all_inner_texts()
        printed = torch.tensor([0.0 if cell == "—" else float(cell) for cell in cells])
        assert len(cells) == run.weights[layer, head].numel()
        assert (printed - run.weights[layer, head].flatten()).abs().max() <= 1e-4 + 5e-5  # the engine, and four digits
    page.get_by_role("button", name="map", exact=True).click()


def test_a_file_with_its_model_computes_what_one_types_and_changes(opens: Opens) -> None:
    saved, typed, name = "the fox visited the queen", "the dog saw the fox", "who-sinusoidal-1"
    model, view = core(name), "Change the model"
    with opens(file_of(model=name, s=saved)) as page:
        status, back = page.locator(".computed"), page.get_by_role("button", name="back to the saved picture")
        box = page.get_by_role("textbox", name="Sentence")
        expect(status).to_contain_text("This is the saved picture.")
        expect(back).to_be_hidden()
        assert_shown(page, model.run(saved))

        box.press("Control+a")
        box.press_sequentially(typed)
        expect(page.locator("h1")).to_have_text(f"{typed} · Who did what, sinusoidal")
        n = len(model.tokenize(typed)[0])
        expect(status).to_contain_text(f"4 maps of {n} × {n} weights, computed in this browser")
        expect(status).to_contain_text("is left out")
        assert_shown(page, model.run(typed))

        page.get_by_role("group", name=view).get_by_role("button", name="Mask").click()
        page.get_by_role("radio", name="window").check()
        page.get_by_role("spinbutton").fill("2")
        page.get_by_role("button", name="done").click()
        assert_shown(page, model.run(typed, mask="window:2"))
        page.get_by_role("button", name="Positional encoding").click()
        page.get_by_role("radio", name="no positional encoding").check()
        page.get_by_role("button", name="Temperature").click()
        page.get_by_role("slider").press("ArrowRight")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="layer 0 head 1 is on: ablate it").click()
        expect(page.locator(".model-changes")).to_have_text(
            "mask: window 2, no positional encoding, temperature 1.1, L0 H1 off"
        )
        assert_shown(page, model.run(typed, mask="window:2", position="none", temperature=1.1, heads_off=[(0, 1)]))

        back.click()
        expect(status).to_contain_text("This is the saved picture.")
        expect(box).to_have_value(saved)
        assert_shown(page, model.run(saved))


def test_strokes_on_the_map_of_a_file_paint_the_mask(opens: Opens) -> None:
    text, name = "a b c a b", "words-2layers-1"
    model = core(name)
    n = len(model.tokenize(text)[0])
    allow = torch.ones(4, n, n, dtype=torch.bool)
    with opens(file_of(model=name, s=text, at="0.0")) as page:
        file = Standalone(page, "")
        page.get_by_role("button", name="paint the mask").click()
        page.mouse.move(*file.middle(file.cell, 2, 0))
        page.mouse.down()
        page.mouse.move(*file.middle(file.cell, 4, 0), steps=4)
        page.mouse.up()
        allow[:, 2:5, 0] = False
        expect(page.locator(".model-changes")).to_contain_text("mask: painted")
        assert_shown(page, model.run(text, mask=allow[0]))
        page.locator('[data-head="1.0"]').click()
        page.get_by_role("button", name="layer 0", exact=True).click()
        page.get_by_role("button", name="this head").click()
        file.click_cell(3, 2)
        for key in ("ArrowLeft", "Space", "ArrowDown", "Space"):
            page.keyboard.press(key)
        allow[0, 3, 1:3] = False
        allow[0, 4, 1] = False
        assert_shown(page, model.run(text, mask=allow))
        page.get_by_role("button", name="clear").click()
        assert_shown(page, model.run(text))


def test_words_that_a_file_cannot_use_get_a_sentence(opens: Opens) -> None:
    page_text = file_of(model="names-none-1")
    with opens(page_text) as page:
        box, notices = page.get_by_role("textbox", name="Sentence"), page.locator(".notices")
        box.fill("")
        expect(notices).to_have_text("Type a sentence; until then the last maps stay.")
        box.fill("qqq zzz")
        expect(notices).to_contain_text("tokens and reads [UNK].")
        box.fill("tom " * 300)
        expect(notices).to_contain_text("tokens")
        expect(page.locator(".tile")).not_to_have_count(0)
        page.get_by_role("button", name="back to the saved picture").click()
        expect(notices).to_be_empty()
    block = re.search(r'id="headlight-model">([^<]*)<', page_text)
    assert block
    cut = base64.b64encode(zlib.compress(zlib.decompress(base64.b64decode(block[1]))[:-8])).decode()
    with opens(page_text.replace(block[1], cut)) as page:  # the recorded picture is still there
        expect(page.get_by_role("alert")).to_contain_text("cut off")
        expect(page.locator("h2")).to_contain_text("attends most to")
        expect(page.get_by_role("textbox")).to_have_count(0)
