"""Other models in a browser: trained here, a recording, a decoder, and those of this machine's cache of the hub."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock
from playwright.sync_api import expect

from headlight.link.cursor import Cursor
from headlight.link.presets import NEXT_TOKEN_CURSORS
from headlight.picture import pictures, word_pairs
from headlight.picture.settings import Settings
from headlight.registry import get_source, models, recordings
from headlight.registry.album import SOUNDS
from headlight.server import store
from mha_core import load_model
from mha_core.pretrained.recordings import Group, Recording
from tests import hub_cache
from tests.closeness import quoted
from tests.core import pictures as picture_files
from tests.core import sounds
from tests.hub_cache import name_of

from .axe import nothing_serious
from .compare_page import Compare
from .expected import TIRED, largest, run_of
from .explore_page import Explore
from .masks_page import Masks
from .tab import place_of

WHO, ORDERLESS, WORDS = "who-sinusoidal-1", "who-none-1", "words-2layers-1"
ASKED = {name: get_source(name).presets for name in (WHO, ORDERLESS, WORDS)}
PRIVET, PLACE = next(iter(NEXT_TOKEN_CURSORS.items()))
FRANCE = "The capital of France is"
TEXT = "the quick brown fox sat on the mat"
SEES, HEARS = "dinov2_with_registers", "wav2vec2"
SHARES = "moments => moments.map((moment) => moment.style.getPropertyValue('--share'))"
DURATION = "player => new Promise((done) => { player.onloadedmetadata = () => done(player.duration); player.load(); })"


@pytest.fixture
def hub(common_folder: Path) -> Path:
    """The cache of the hub that the server has, with four models in it."""
    with FileLock(common_folder / "hf.lock"):
        if not (common_folder / "hf" / "hub").exists():
            hub_cache.fill(common_folder / "hf", "gpt2", "t5", SEES, HEARS)
    return common_folder / "hf" / "hub"


def size_of(tab: Explore | Compare | Masks, panel: str) -> tuple[str | None, str | None]:
    """Rows and columns of a map, as its grid says them."""
    grid = tab.view.locator(f"{panel} .map[role=grid]").first
    return grid.get_attribute("aria-rowcount"), grid.get_attribute("aria-colcount")


def choose(explore: Explore, name: str) -> None:
    """Chooses a model in the bar."""
    explore.page.get_by_role("combobox", name="Model", exact=True).select_option(name)


def looks_first(run_text: str, name: str, layer: int, head: int) -> list[str]:
    """What the row that Explore begins with looks at."""
    pairs = word_pairs.telling_pairs(pictures.picture(Settings(run_text, model=name)))
    row = word_pairs.follow(Cursor(layer, head, 1), pairs).row or 0
    return largest(run_of(Settings(run_text, model=name)), layer, head, row)


def test_a_model_trained_here_is_chosen_and_another_opened_by_its_link(explore: Explore) -> None:
    explore.open()
    choose(explore, WHO)
    explore.shows(ASKED[WHO][0], model=WHO)
    explore.wait_for_query(model=[WHO], s=None, at=None)
    assert explore.badges() == looks_first(ASKED[WHO][0], WHO, 0, 0)
    assert explore.place.inner_text().endswith(" · nothing changed, weights trained here")
    assert explore.figures()[0].split()[0] == "fox"
    explore.clicked(explore.lamp(0, 2), ASKED[WHO][0], model=WHO, heads_off=((0, 2),))
    choose(explore, "minilm")
    explore.shows(TIRED, heads_off=((0, 2),))
    explore.wait_for_query(model=None, s=None, off=["L0 H2"])

    explore.open(model=WORDS, at="1.2")
    run = explore.shows(ASKED[WORDS][0], model=WORDS)
    assert explore.badges() == looks_first(ASKED[WORDS][0], WORDS, 1, 2)
    assert "causal mask: built in" in explore.place.inner_text()
    explore.has_heads([f"1.{head}" for head in range(run.weights.shape[1])])
    explore.typed("zebra wolf", model=WORDS)
    assert explore.notices() == ["One word is not in this model’s vocabulary (“zebra”), so it reads [UNK] instead."]


@pytest.mark.thorough("A recording of a training is walked step by step.")
def test_a_recording_is_walked_with_a_slider(explore: Explore) -> None:
    maps = torch.eye(6).roll(1, 0).expand(3, 2, 2, 6, 6) * torch.tensor([1, 0.5, 0.25]).view(3, 1, 1, 1, 1)
    own = Group("layers.*.attn", ("layers.0.attn", "layers.1.attn"), list("abcdef"), None, maps.contiguous())
    made = Recording((own,), (0, 100, 200), "Learns to look back")
    name, view = recordings.PREFIX + store.put("data", made.to_bytes()), explore.view
    explore.open(model=name).settled(Settings("step 200", model=name).digest)
    assert "This is a recording" in view.locator(".recorded").inner_text()
    view.get_by_role("slider", name="Training step").press("ArrowLeft")
    explore.settled(Settings("step 100", model=name).digest)
    expect(view.locator(".recorded .count")).to_have_text("step 100, 2 of 3")
    explore.wait_for_query(model=[name], s=["step 100"])
    expect(explore.box).not_to_be_editable()
    expect(view.locator(".suggestions")).to_be_hidden()
    choose(explore, "minilm")
    explore.shows(TIRED)


@pytest.mark.thorough("A walk with SmolLM2, whose 270 heads take a second for each of its many pictures.")
def test_a_decoder_copies_by_seven_of_270_heads_and_writes_on(explore: Explore) -> None:
    view = explore.view
    bar = view.locator(".next-list").get_by_role("button", name="append Drive: ", exact=False).first.locator(".value")
    explore.open(model="smollm2")
    expect(explore.box).to_have_value(PRIVET)
    quoted(float(bar.inner_text()), "0.84")
    expect(explore.place).to_contain_text(f"layer {PLACE.replace('.', ', head ')} ")
    view.get_by_role("button", name="Ablate:").click()
    expect(view.locator(".lamps button")).to_have_count(9 + 2)  # those of one layer: 270 would help nobody
    expect(view.locator(".head-results button").first).to_contain_text("L18 H6")
    explore.button("the 7 strongest").click()
    expect(bar).to_contain_text("→")
    for value, written in zip(bar.inner_text().split(" → "), ("0.84", "0.02"), strict=True):
        quoted(float(value), written)
    explore.keys("Escape")
    explore.button("all 270 heads").click()
    expect(view.locator(".tile[data-column]")).to_have_count(30)

    # it writes on, and takes back
    explore.box.fill(FRANCE)
    explore.wait_for_query(s=FRANCE)
    explore.settled()
    view.locator(".next-list").get_by_role("button", name="append Paris: ", exact=False).first.click()
    expect(explore.box).to_have_value(f"{FRANCE} Paris")
    explore.settled()
    for place in (6, 7):
        explore.button("add a word").click()
        expect(view.locator(".chip").nth(place)).to_be_visible()
        explore.settled()
    written_on = explore.chips()
    assert written_on[:6] == [*FRANCE.split(), "Paris"]
    text = explore.box.input_value()
    explore.button("remove last").click()
    expect(explore.box).not_to_have_value(text)
    explore.settled()
    assert text.startswith(explore.box.input_value()), "what was written last is gone"
    assert explore.chips()[:-1] == written_on[: len(explore.chips()) - 1], "two line breaks are read as one token"

    # both sides of Compare say what comes next
    compare = explore.on(Compare).open(model="smollm2", s=FRANCE, pos2="none", word="Paris")
    expect(compare.view.locator(".next-list .next").filter(has_text="Paris")).to_contain_text("0.77 → 0.27")
    expect(compare.view.locator(".word-chance")).to_have_text(
        "“Paris” comes next with probability 0.7725 on the left, 0.2725 on the right."
    )


@pytest.mark.thorough(
    "Opens an encoder–decoder on four pages, and chooses good, damaged and missing models in the dialog."
)
def test_two_texts_and_another_model_is_chosen_and_a_bad_one_leaves_what_was_there(explore: Explore, hub: Path) -> None:
    explore.open(model=name_of("t5"), s=TEXT)
    assert size_of(explore, ".large") == ("9", "9")
    explore.group("Kind of attention").get_by_role("button", name="cross").click()
    expect(explore.view.locator(".notices")).to_contain_text("the columns are the sentence")
    explore.settled()
    expect(explore.view.locator(".suggestions")).to_be_hidden()
    rows, columns = size_of(explore, ".large")
    assert (rows, columns) == (str(len(explore.chips())), "9")
    expect(explore.view.locator(".switch", has_text="Mask")).to_have_attribute("title", models.TWO_TEXTS)
    explore.go("Compare")
    compare = explore.on(Compare).settled()
    assert size_of(compare, ".left") == (rows, columns)
    expect(compare.shuffle).to_be_hidden()
    compare.go("Masks")
    masks = compare.on(Masks).settled()
    assert size_of(masks, ".weights-before") == (rows, columns)
    expect(masks.view.locator(".gallery")).to_be_hidden()
    masks.clicked(masks.view.get_by_role("button", name="encoder"))
    expect(masks.view.locator(".gallery")).to_be_visible()
    assert size_of(masks, ".weights-after") == ("9", "9")
    masks.go("Shapes")
    expect(masks.page.locator(".view.steps .notices.bare")).to_contain_text("choose MiniLM in the bar")

    # another model by the dialog: a folder without one, one of the cache, a damaged one
    explore.open(s=TEXT)
    picker = explore.page.get_by_role("combobox", name="Model", exact=True)
    picker.select_option("your own")
    dialog = explore.page.get_by_role("dialog", name="Another model")
    expect(dialog.get_by_role("button", name="tiny/gpt2")).to_contain_text("gpt2, 2 × 4 heads")
    expect(dialog.locator(".leaves")).to_contain_text("sends the model’s name and your IP address")
    dialog.get_by_role("textbox", name="Folder").fill(str(hub.parent))
    dialog.get_by_role("button", name="Open", exact=True).click()
    expect(dialog.get_by_role("status")).to_contain_text("cannot be opened: cannot read config.json")
    dialog.get_by_role("button", name="tiny/gpt2").click()
    expect(dialog).to_be_hidden()
    explore.settled()
    expect(picker).to_have_value(name_of("gpt2"))
    assert (explore.chips(), size_of(explore, ".large")) == (TEXT.split(), ("8", "8"))
    damaged = shutil.copytree(hub / "models--tiny--gpt2", hub / "models--tiny--damaged")
    config = next(damaged.rglob("config.json"))
    config.write_text(json.dumps(json.loads(config.read_text("utf-8")) | {"n_embd": 64}), "utf-8")
    picker.select_option("your own")
    dialog.get_by_role("button", name="tiny/damaged").click()
    expect(explore.view.locator(".notices")).to_contain_text("tiny/damaged")
    explore.settled()
    assert len(explore.notices()) == 1
    assert explore.chips() == TEXT.split(), "the model before stays"
    expect(picker).to_have_value(name_of("gpt2"))
    explore.lamp(0, 0).click()  # the model before can be used
    expect(explore.view.locator(".notices")).not_to_contain_text("tiny/damaged")
    explore.settled()
    with explore.page.expect_response("**/api/machine/cached*"):  # the list of this opening, not the one before
        picker.select_option("your own")
    expect(dialog.get_by_role("button", name="tiny/damaged")).to_be_visible()
    shutil.rmtree(damaged)
    dialog.get_by_role("button", name="tiny/damaged").click()
    expect(explore.view.locator(".notices")).to_contain_text("is not in this machine’s cache")
    explore.settled()
    expect(picker).to_have_value(name_of("gpt2"))
    assert "off=L0+H0" in explore.page.url, "what was changed stays"
    picker.select_option("minilm")
    explore.settled()
    assert explore.notices() == []


@pytest.mark.thorough("Opens models of pictures and sounds, with files of one's own, good and bad.")
def test_a_picture_and_its_patches_and_a_sound_and_its_moments(explore: Explore, hub: Path) -> None:
    explore.open(model=name_of(SEES))
    page, view = explore.page, explore.view
    expect(view.get_by_role("heading", level=1)).to_have_text("Which patches does each patch attend to?")
    expect(explore.box).to_be_hidden()
    assert size_of(explore, ".large") == ("21", "21")
    patches = view.get_by_role("group", name="a ball and a box: patches").get_by_role("button")
    expect(patches).to_have_count(16)
    expect(patches.nth(10)).to_have_attribute("aria-pressed", "true")
    patches.nth(10).press("ArrowRight")
    explore.keys("ArrowUp", "Enter")
    expect(patches.nth(7)).to_have_attribute("aria-pressed", "true")
    expect(view.locator(".large h2")).to_contain_text("“1,3” attends")
    patches.nth(2).click()
    expect(view.locator(".large h2")).to_contain_text("“0,2” attends")
    view.get_by_role("button", name="[REG1]").click()
    expect(view.locator(".large h2")).to_contain_text("“[REG1]” attends")
    explore.button("table").click()
    cell = view.locator(".large .table tbody tr").nth(2).locator("td").nth(5).inner_text()  # [REG1] → 0,0
    quoted(float(cell), str(patches.nth(0).get_attribute("title")).removeprefix("row 0, column 0: "))
    explore.button("map").click()
    nothing_serious(explore)
    file = page.locator(".st-key-own_file input[type=file]")
    file.set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": picture_files.file("JPEG")})
    own = view.get_by_role("button", name="your own picture")
    expect(own).to_have_attribute("aria-pressed", "true")
    explore.settled()
    expect(view.locator(".board img")).to_have_js_property("naturalWidth", 32)
    file.set_input_files({"name": "b.png", "mimeType": "image/png", "buffer": picture_files.png_of(10_000, 10_000)})
    expect(page.locator(".st-key-own_file")).to_contain_text("The previous picture is still there.")
    choose(explore, "minilm")
    explore.settled()
    assert explore.notices() == []
    expect(explore.box).to_be_visible()
    expect(file).to_be_hidden()

    # a sound
    explore.open(model=name_of(HEARS))
    expect(view.get_by_role("heading", level=1)).to_have_text("Which moments does each moment attend to?")
    assert size_of(explore, ".large") == ("74", "74")
    moments = view.get_by_role("slider", name="Moment")
    expect(moments).to_have_attribute("aria-valuenow", "37")
    moments.press("ArrowRight")
    expect(view.locator(".large h2")).to_contain_text("“0.76 s” attends")
    explore.keys("End")
    expect(moments).to_have_attribute("aria-valuetext", re.compile(r"^1\.46 s attends most to \d\.\d\d s: 0\.\d\d$"))
    moments.click(position={"x": place_of(moments).width * 10.5 / 74, "y": 30})
    explore.wait_for_query(at="0.0.10")
    explore.settled()
    folder = next((hub / f"models--tiny--{HEARS}" / "snapshots").iterdir())
    heard: Any = next(iter(SOUNDS.values()))
    row = load_model(str(folder), device="cpu").run(heard).weights[0, 0, 10]
    shares = view.locator(".wave g rect:not(.place)").evaluate_all(SHARES)
    for share, wanted in zip(shares, (100 * (row / row.max()).sqrt()).tolist(), strict=True):
        quoted(wanted, share.rstrip("%")[:6])
    quoted(view.locator("audio").evaluate(DURATION), "1.50")
    file.set_input_files({"name": "a.wav", "mimeType": "audio/wav", "buffer": sounds.file()})
    own = view.get_by_role("button", name="your own sound")
    expect(own).to_have_attribute("aria-pressed", "true")
    explore.settled()
    assert size_of(explore, ".large") == ("29", "29")
    file.set_input_files({"name": "b.wav", "mimeType": "audio/wav", "buffer": b"ID3 and no sound"})
    expect(page.locator(".st-key-own_file")).to_contain_text("The previous sound is still there.")
    nothing_serious(explore)
