"""Models of this machine in the browser: an encoder, a decoder and an encoder–decoder on Explore, Compare and Masks."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from playwright.sync_api import expect

from mha_core import load_model
from pages.kit.picture import abilities
from pages.kit.picture.album import SOUNDS
from tests import hub_cache
from tests.core import pictures, sounds
from tests.hub_cache import name_of

from .axe import nothing_serious
from .compare_page import Compare
from .explore_page import Explore
from .masks_page import Masks
from .tab import place_of

TEXT = "the quick brown fox sat on the mat"
SEES, HEARS = "dinov2_with_registers", "wav2vec2"
SHARES = "moments => moments.map((moment) => parseFloat(moment.style.getPropertyValue('--share')))"
DURATION = """player => new Promise((done) => {
  player.onloadedmetadata = () => done(player.duration);
  player.load();
})"""


@pytest.fixture(scope="module", autouse=True)
def cache(common_folder: Path) -> None:
    """The cache of the hub that the server has, with five models in it."""
    with FileLock(common_folder / "hf.lock"):
        if not (common_folder / "hf" / "hub").exists():
            hub_cache.fill(common_folder / "hf", "distilbert", "gpt2", "t5", SEES, HEARS)


def size_of(tab: Explore | Compare | Masks, panel: str) -> tuple[str | None, str | None]:
    """Rows and columns of a map, as its grid says them."""
    grid = tab.view.locator(f"{panel} .map[role=grid]").first
    return grid.get_attribute("aria-rowcount"), grid.get_attribute("aria-colcount")


def test_one_text_on_three_pages(explore: Explore) -> None:
    explore.open(model=name_of("distilbert"), s=TEXT)
    expect(explore.page.get_by_role("combobox", name="Model", exact=True)).to_have_value(name_of("distilbert"))
    three_pages_show(explore, "9")


def three_pages_show(explore: Explore, n: str) -> None:
    """A map of so many rows and columns each, of one text."""
    assert size_of(explore, ".large") == (n, n)
    explore.layer(0).click()
    explore.clicked(explore.lamp(0, 1))
    expect(explore.view.locator(".changed .list")).to_contain_text("L0 H1 off")
    explore.go("Compare")
    compare = explore.on(Compare).settled()
    assert size_of(compare, ".right") == (n, n)
    compare.go("Masks")
    masks = compare.on(Masks).settled()
    assert size_of(masks, ".after") == (n, n)
    expect(masks.view.locator(".card").first).to_be_visible()


def test_two_texts_on_three_pages(explore: Explore) -> None:
    explore.open(model=name_of("t5"), s=TEXT)
    assert size_of(explore, ".large") == ("9", "9")
    attention = explore.group("Kind of attention")
    attention.get_by_role("button", name="cross").click()
    expect(explore.view.locator(".notices")).to_contain_text("the columns are the sentence")
    explore.settled()
    expect(explore.view.locator(".first-steps")).to_be_hidden()
    rows, columns = size_of(explore, ".large")
    assert (rows, columns) == (str(len(explore.chips())), "9")
    grid = explore.view.locator(".large .map[role=grid] .cell")
    grid.focus()
    explore.keys("End", "ArrowRight", "ArrowDown")  # from the last column there is no way on
    expect(grid).to_have_attribute("aria-colindex", "9")
    tile = explore.view.locator(".switch", has_text="Hide words")
    expect(tile).to_have_attribute("title", abilities.TWO_TEXTS)
    explore.button("table").click()
    expect(explore.view.locator(".large .table")).to_contain_text("[SEP]")
    explore.clicked("map")
    explore.go("Compare")
    compare = explore.on(Compare).settled()
    assert size_of(compare, ".left") == (rows, columns)
    expect(compare.shuffle).to_be_hidden()
    compare.go("Masks")
    masks = compare.on(Masks).settled()
    assert size_of(masks, ".before") == (rows, columns)
    expect(masks.view.locator(".gallery")).to_be_hidden()
    masks.clicked(masks.view.get_by_role("button", name="encoder"))
    expect(masks.view.locator(".gallery")).to_be_visible()
    assert size_of(masks, ".after") == ("9", "9")
    masks.go("Shapes")
    expect(masks.page.locator(".view.steps .notices.bare")).to_contain_text("choose MiniLM in the bar, the link stays")


def test_another_model_is_chosen_and_a_bad_one_leaves_what_was_there(explore: Explore, common_folder: Path) -> None:
    explore.open(s=TEXT)
    picker = explore.page.get_by_role("combobox", name="Model", exact=True)
    picker.select_option("your own")
    dialog = explore.page.get_by_role("dialog", name="Another model")
    expect(dialog.get_by_role("button", name="tiny/gpt2")).to_contain_text("gpt2, 2 × 4 heads")
    expect(dialog.locator(".leaves")).to_contain_text("the address of this machine, leave it")
    dialog.get_by_role("textbox", name="Folder").fill(str(common_folder))
    dialog.get_by_role("button", name="Open", exact=True).click()
    expect(dialog.get_by_role("status")).to_contain_text("cannot be opened: cannot read config.json")
    dialog.get_by_role("button", name="tiny/gpt2").click()
    expect(dialog).to_be_hidden()
    explore.settled()
    expect(picker).to_have_value(name_of("gpt2"))
    assert explore.chips() == TEXT.split()
    three_pages_show(explore, "8")
    explore.go("Explore")
    explore.clicked(explore.lamp(0, 1))
    hub = common_folder / "hf" / "hub"
    damaged = shutil.copytree(hub / "models--tiny--gpt2", hub / "models--tiny--damaged")
    config = next(damaged.rglob("config.json"))
    config.write_text(json.dumps(json.loads(config.read_text("utf-8")) | {"n_embd": 64}), "utf-8")
    picker.select_option("your own")
    dialog.get_by_role("button", name="tiny/damaged").click()
    expect(explore.view.locator(".notices")).to_contain_text("tiny/damaged")
    explore.settled()
    assert len(explore.notices()) == 1
    assert explore.chips() == TEXT.split(), "the model before stays"
    picker.select_option("minilm")
    explore.settled()
    assert explore.notices() == []


def test_a_picture_and_its_patches(explore: Explore) -> None:
    explore.open(model=name_of(SEES))
    page, view = explore.page, explore.view
    expect(view.get_by_role("heading", level=1)).to_have_text("Which patches does each patch look at?")
    expect(page.locator(".question")).to_be_hidden()
    expect(explore.box).to_be_hidden()
    assert size_of(explore, ".large") == ("21", "21")
    patches = view.get_by_role("group", name="a ball and a box: patches").get_by_role("button")
    expect(patches).to_have_count(16)
    expect(patches.nth(10)).to_have_attribute("aria-pressed", "true")
    patches.nth(10).press("ArrowRight")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(patches.nth(7)).to_have_attribute("aria-pressed", "true")
    expect(view.locator(".large h2")).to_contain_text("“1,3” puts")
    patches.nth(2).click()
    expect(view.locator(".large h2")).to_contain_text("“0,2” puts")
    view.get_by_role("button", name="[REG1]").click()
    expect(view.locator(".large h2")).to_contain_text("“[REG1]” puts")
    explore.button("table").click()
    cell = view.locator(".large .table tbody tr").nth(2).locator("td").nth(5)  # [REG1] → 0,0
    written = float(str(patches.nth(0).get_attribute("title")).removeprefix("row 0, column 0: "))
    assert abs(written - float(str(cell.text_content()))) <= 0.005
    explore.button("map").click()
    page.keyboard.press("p")
    explore.wait_for_query(big="true")
    shown = place_of(view.locator(".board .picture"))
    assert shown.x >= place_of(view.locator(".large .map")).right, "beside the map"
    assert shown.bottom <= 900
    page.keyboard.press("p")
    explore.wait_for_query(big=None)
    nothing_serious(explore)
    file = page.locator(".st-key-own_file input[type=file]")
    file.set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": pictures.file("JPEG")})
    own = view.get_by_role("button", name="your own picture")
    expect(own).to_have_attribute("aria-pressed", "true")
    explore.settled()
    expect(view.locator(".board img")).to_have_js_property("naturalWidth", 32)
    file.set_input_files({"name": "b.png", "mimeType": "image/png", "buffer": pictures.png_of(10_000, 10_000)})
    expect(page.locator(".st-key-own_file")).to_contain_text("The picture before is still there.")
    expect(own).to_have_attribute("aria-pressed", "true")
    page.get_by_role("combobox", name="Model", exact=True).select_option("minilm")
    explore.settled()
    assert explore.notices() == []
    expect(explore.box).to_be_visible()
    expect(page.locator(".question")).to_be_visible()
    expect(file).to_be_hidden()


def test_a_sound_and_its_moments(explore: Explore, common_folder: Path) -> None:
    explore.open(model=name_of(HEARS))
    page, view = explore.page, explore.view
    expect(view.get_by_role("heading", level=1)).to_have_text("Which moments does each moment look at?")
    expect(explore.box).to_be_hidden()
    assert size_of(explore, ".large") == ("74", "74")
    moments = view.get_by_role("slider", name="Moment")
    expect(moments).to_have_attribute("aria-valuenow", "37")
    moments.press("ArrowRight")
    expect(view.locator(".large h2")).to_contain_text("“0.76 s” puts")
    page.keyboard.press("End")
    expect(view.locator(".large h2")).to_contain_text("“1.46 s” puts")
    expect(moments).to_have_attribute("aria-valuetext", re.compile(r"^1\.46 s looks most at \d\.\d\d s: 0\.\d\d$"))
    moments.click(position={"x": place_of(moments).width * 10.5 / 74, "y": 30})
    explore.wait_for_query(at="0.0.10")
    explore.settled()
    folder = next((common_folder / "hf" / "hub" / f"models--tiny--{HEARS}" / "snapshots").iterdir())
    heard: Any = next(iter(SOUNDS.values()))
    row = load_model(str(folder), device="cpu").run(heard).weights[0, 0, 10]
    shares = view.locator(".wave g rect:not(.place)").evaluate_all(SHARES)
    assert shares == pytest.approx((100 * (row / row.max()).sqrt()).tolist(), abs=0.01)
    assert view.locator("audio").evaluate(DURATION) == pytest.approx(1.5)
    page.keyboard.press("p")
    explore.wait_for_query(big="true")
    expect(moments).to_be_visible()
    expect(view.get_by_role("heading", level=1)).to_be_hidden()
    page.keyboard.press("p")
    explore.wait_for_query(big=None)
    file = page.locator(".st-key-own_file input[type=file]")
    file.set_input_files({"name": "a.wav", "mimeType": "audio/wav", "buffer": sounds.file()})
    own = view.get_by_role("button", name="your own sound")
    expect(own).to_have_attribute("aria-pressed", "true")
    explore.settled()
    assert size_of(explore, ".large") == ("29", "29")
    file.set_input_files({"name": "b.wav", "mimeType": "audio/wav", "buffer": b"ID3 and no sound"})
    expect(page.locator(".st-key-own_file")).to_contain_text("The sound before is still there.")
    expect(own).to_have_attribute("aria-pressed", "true")
    nothing_serious(explore)
    explore.go("Glossary")
    expect(page.locator(".question")).to_contain_text("What does this word mean?")
    expect(page.locator(".question")).to_be_visible()
    page.go_back()
    expect(moments).to_be_visible()
    expect(page.locator(".question")).to_be_hidden()
    expect(page.locator(".st-key-own_file")).to_be_visible()
