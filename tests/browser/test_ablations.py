"""MLPs and whole layers, ablated by clicks on Maps and Compare."""

import re
from itertools import product

import torch
from playwright.sync_api import Locator, expect

from headlight.picture.settings import Settings

from .compare_page import Compare
from .conftest import NewPage
from .expected import TIRED
from .explore_page import Explore

WITHOUT_MLPS = "who-rotary-1"


def lamp(panel: Locator, name: str) -> Locator:
    return panel.get_by_role("button", name=name, exact=True)


def test_an_mlp_and_a_layer_by_click_their_effect_and_the_way_back(explore: Explore) -> None:
    panel = explore.open().change("Ablate")
    lamp(panel, "layer 2 MLP").click()
    explore.shows(mlps_off=(2,))
    explore.wait_for_query(off=["L2 MLP"])
    expect(explore.button("undo: L2 MLP off")).to_be_visible()
    expect(explore.view.get_by_role("button", name=re.compile("Largest change: layer [345], head"))).to_be_visible()
    lamp(panel, "whole layer 3").click()
    run = explore.shows(mlps_off=(2,), layers_off=(3,))
    explore.wait_for_query(off=["L2 MLP", "L3"])
    assert torch.equal(run.hidden[4], run.hidden[3])
    title = explore.view.locator(".large h2")
    expect(title).to_contain_text("layer ablated: it hands on its input unchanged")
    assert explore.figures()[1:4] == ["0 of 72", "1 of 6", "1 of 6"]
    lamp(panel, "layer 2 MLP").click()
    explore.shows(layers_off=(3,))
    explore.page.go_back()
    explore.shows(mlps_off=(2,), layers_off=(3,))
    explore.page.go_back()
    explore.page.go_back()
    explore.shows()


def test_everything_off_gives_the_embeddings_and_says_so(new_page: NewPage) -> None:
    heads, layers = tuple(product(range(6), range(12))), tuple(range(6))
    names = [f"L{layer} H{head}" for layer, head in heads]
    names += [f"L{layer}{part}" for layer in layers for part in (" MLP", "")]
    explore = new_page(Explore).open(off=names)
    run = explore.shows(heads_off=heads, mlps_off=layers, layers_off=layers)
    assert torch.equal(run.hidden[-1], run.hidden[0])
    assert any(notice.endswith("so the last one gives the embeddings.") for notice in explore.notices())
    explore.button("undo: 72 heads, 6 MLPs, 6 layers off").click()
    explore.shows()


def test_the_right_side_of_compare_and_a_model_without_mlps(new_page: NewPage) -> None:
    compare = new_page(Compare).open(pos2="as trained")
    panel = compare.controls("Ablate, right")
    lamp(panel, "layer 1 MLP").click()
    compare.shows(Settings(TIRED), Settings(TIRED, mlps_off=(1,)))
    expect(compare.contrast).to_contain_text("ablated parts")
    explore = new_page(Explore).open(s="how are you", model=WITHOUT_MLPS, off=["L0 MLP", "L0"])
    explore.shows("how are you", model=WITHOUT_MLPS, layers_off=(0,))
    assert any("attention alone, without an MLP" in notice for notice in explore.notices())
    panel = explore.change("Ablate")
    expect(panel).to_contain_text("attention alone, without an MLP")
    expect(lamp(panel, "layer 0 MLP")).to_have_count(0)
    expect(lamp(panel, "whole layer 0")).to_have_attribute("aria-pressed", "false")
