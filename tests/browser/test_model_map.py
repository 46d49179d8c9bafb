"""The diagram of a model, walked by keys and clicks, at every depth, and the ways on and back."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from headlight.link.presets import PRESETS

from .conftest import NewTab
from .explore_page import Explore
from .model_map_page import ModelMap

TIRED = PRESETS[0]
BOXES = [
    "tokens", "embedding", "positions", "embedding norm", "attention", "attention add", "attention norm", "mlp",
    "mlp add", "mlp norm", "pooling",
]  # fmt: skip


@pytest.fixture
def model_map(new_tab: NewTab) -> ModelMap:
    tab = new_tab(ModelMap).open()
    tab.shows(TIRED, "attention", "story")
    return tab


def test_keys_walk_up_the_diagram_and_enter_opens_the_page(model_map: ModelMap) -> None:
    tab, page = model_map, model_map.page
    assert tab.names == BOXES
    tab.box_named("tokens").click()
    tab.shows(TIRED, "tokens", "story")
    for name in BOXES[1:]:
        page.keyboard.press("ArrowUp")
        tab.walked_to(name)
        expect(tab.about.locator(".words").first).not_to_have_text("")
    page.keyboard.press("ArrowUp")
    tab.walked_to("pooling")
    page.keyboard.press("ArrowDown")
    tab.walked_to("mlp norm")
    tab.wait_for_query(box=["mlp norm"])
    page.keyboard.press("Home")
    tab.walked_to("tokens")
    page.keyboard.press("Enter")
    maps = tab.on(Explore).settled()
    assert maps.page.url.partition("?")[0].endswith("/")
    page.go_back()
    tab.shows(TIRED, "tokens")
    heights = tab.boxes.evaluate_all("boxes => boxes.map(box => box.getBoundingClientRect().bottom)")
    assert heights == sorted(heights, reverse=True)


def test_every_depth_the_layer_the_token_and_the_way_to_maps_and_back(model_map: ModelMap) -> None:
    tab = model_map
    tab.box_named("mlp add").click()
    for depth, part in (("numbers", "table"), ("formula", "math"), ("code", "pre .marked"), ("story", ".words")):
        tab.depth(depth).click()
        tab.shows(TIRED, "mlp add", depth)
        expect(tab.about.locator(part).first).to_be_visible()
    tab.depth("numbers").click()
    tab.view.get_by_role("button", name="layer 5", exact=True).click()
    tab.about.get_by_role("button", name="animal", exact=True).click()
    tab.wait_for_query(box=["mlp add"], depth=["numbers"], at=["5.1.2"])
    tab.shows(TIRED, "mlp add", "numbers")
    expect(tab.about.locator("caption")).to_contain_text("“animal”, row 2")
    link = tab.about.get_by_role("link", name="Open in Maps, residual stream")
    expect(link).to_have_attribute("href", "./?at=5.1.2&view=residual")
    link.click()
    tab.on(Explore).settled()
    assert "at=5.1.2" in tab.page.url
    tab.page.go_back()
    tab.shows(TIRED, "mlp add", "numbers")
    tab.page.go_back()
    tab.wait_for_query(box=["mlp add"], depth=["numbers"], at=["5.1"])


def test_a_typed_sentence_a_switch_and_another_model(model_map: ModelMap) -> None:
    tab = model_map
    tab.box.fill("The dog bit the man")
    tab.shows("The dog bit the man", "attention")
    expect(tab.view.locator(".diagram svg")).to_contain_text("7 × 384")
    tab.open(model="words-2layers-1", mask="window").shows(box="attention")
    assert tab.names[-1] == "probabilities"
    tab.open(model="dates-sinusoidal-1", box="decoder cross-attention").shows(box="decoder cross-attention")
    expect(tab.view.locator(".diagram .layer")).to_have_count(2)
    tab.open(s="").shows("")
    expect(tab.view.locator(".diagram svg")).to_contain_text("2 × 384")


def test_play_steps_to_the_end_unless_motion_is_reduced(model_map: ModelMap) -> None:
    tab = model_map
    expect(tab.view.get_by_role("button", name="play")).to_have_count(0)
    tab.page.emulate_media(reduced_motion="no-preference")
    tab.open(box="mlp add").shows(box="mlp add")
    tab.view.get_by_role("button", name="play").click()
    tab.shows(box="pooling")
    expect(tab.view.get_by_role("button", name="play")).to_have_attribute("aria-pressed", "false")
    tab.page.emulate_media(reduced_motion="reduce")
