"""Trained models on Explore, Shapes, Compare and By hand: chosen, linked, kept from page to page, and refused."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

import torch
from playwright.sync_api import expect

from mha_core.pretrained.recordings import Group, Recording
from pages.explore import first_row
from pages.kit.picture import models, pictures, recordings
from pages.kit.picture.place import At
from pages.kit.picture.settings import Settings
from pages.kit.server import store

from .compare_page import Compare
from .expected import TIRED, largest
from .explore_page import Explore
from .form_pages import Positions
from .masks_page import Masks
from .shapes_page import Shapes

WHO, ORDERLESS, WORDS = "who-sinusoidal-1", "who-none-1", "words-2layers-1"
ASKED = {name: models.presets(name) for name in (WHO, ORDERLESS, WORDS)}


def choose(explore: Explore, name: str) -> None:
    """Chooses a model in the bar."""
    explore.page.get_by_role("combobox", name="Model", exact=True).select_option(name)


def first(text: str, name: str) -> int:
    """The row that Explore looks at first."""
    shown, at = pictures.picture(Settings(text, model=name)), At(0, 0)
    return first_row.on(at.on(shown.run.tokens), at, shown).row or 0


def a_model_is_chosen_and_its_first_question_asked(explore: Explore) -> None:
    choose(explore, WHO)
    run = explore.shows(ASKED[WHO][0], model=WHO)
    explore.wait_for_query(model=[WHO], s=None, at=None)
    assert explore.badges() == largest(run, 0, 0, first(ASKED[WHO][0], WHO))
    assert explore.place.inner_text().endswith(" · nothing changed, trained here weights")
    assert explore.figures()[0].split()[0] == "fox"
    assert len(explore.figures()) == 4
    explore.clicked(ASKED[WHO][1], ASKED[WHO][1], model=WHO)
    explore.clicked(explore.lamp(0, 2), ASKED[WHO][1], model=WHO, heads_off=((0, 2),))
    choose(explore, "minilm")
    explore.shows(TIRED, heads_off=((0, 2),))
    explore.wait_for_query(model=None, s=None, off=["L0 H2"])
    assert not explore.notices()


def test_a_link_opens_a_model(explore: Explore) -> None:
    explore.open(model=WORDS, at="1.2")
    run = explore.shows(ASKED[WORDS][0], model=WORDS)
    assert explore.badges() == largest(run, 1, 2, first(ASKED[WORDS][0], WORDS))
    assert "causal mask: built in" in explore.place.inner_text()
    assert explore.heads() == [f"1.{head}" for head in range(run.weights.shape[1])]
    explore.typed("zebra wolf", model=WORDS)
    assert explore.notices() == ["One word is not in this model’s vocabulary: “zebra”. The model reads [UNK] instead."]


def test_the_pages_keep_the_model_and_back_finds_it(explore: Explore) -> None:
    text = ASKED[ORDERLESS][0]
    explore.open(model=ORDERLESS)
    explore.shows(text, model=ORDERLESS)
    explore.go("Shapes")
    shapes = explore.on(Shapes)
    shapes.shows(text, model=ORDERLESS)
    assert shapes.label.inner_text().startswith("layer 0, trained here weights")
    explore.go("Compare")
    untouched = Settings(text, model=ORDERLESS)
    masked = replace(untouched, mask="causal")  # without positions the mask is what differs
    compare = explore.on(Compare)
    compare.shows(untouched, masked)
    explore.go("Masks")
    box = explore.page.get_by_role("textbox", name="Sentence", exact=True)
    expect(box).to_have_value(text)
    explore.on(Masks).settled()
    explore.go("Positions")  # which shows MiniLM alone
    expect(box).to_have_value(TIRED)
    explore.on(Positions).settled()  # its page links carry the model only when the whole page is there
    assert urlsplit(explore.page.url).path == "/positions"
    explore.go("Explore")
    explore.shows(text, model=ORDERLESS)  # the mask that Masks begins with is that page’s own, nobody chose it
    explore.wait_for_query(model=[ORDERLESS], s=None, mask=None)
    explore.page.evaluate("history.go(-3)")
    compare.shows(untouched, masked)
    explore.page.go_back()
    shapes.shows(text, model=ORDERLESS)
    explore.page.go_back()
    explore.shows(text, model=ORDERLESS)
    a_pinned_picture_names_its_model(explore)


def a_pinned_picture_names_its_model(explore: Explore) -> None:
    explore.clicked("pin")
    choose(explore, WHO)
    explore.shows(ASKED[WHO][0], model=WHO)
    expect(explore.view.locator(".view .label, .label").filter(has_text=models.title(ORDERLESS))).to_be_visible()
    explore.page.reload()
    explore.shows(ASKED[WHO][0], model=WHO)
    expect(explore.view.locator(".label").filter(has_text=models.title(ORDERLESS))).to_be_visible()
    assert not explore.notices()


def test_a_recording_is_walked_with_a_slider_and_nothing_in_it_can_be_changed(explore: Explore) -> None:
    maps = torch.eye(6).roll(1, 0).expand(3, 2, 2, 6, 6) * torch.tensor([1, 0.5, 0.25]).view(3, 1, 1, 1, 1)
    own = Group("layers.*.attn", ("layers.0.attn", "layers.1.attn"), list("abcdef"), None, maps.contiguous())
    cross = Group("cross", ("cross",), list("abcdef"), ["u", "v"], maps[:, :1, :, :, :2].contiguous())
    made = Recording((own, cross), (0, 100, 200), "Learns to look back")
    name = recordings.PREFIX + store.keep("data", made.to_bytes())
    explore.open(model=name)
    explore.settled(Settings("step 200", model=name).digest)
    view = explore.view
    assert "This is a recording" in view.locator(".recorded").inner_text()
    slider = view.get_by_role("slider", name="Step of the training")
    slider.press("ArrowLeft")
    explore.settled(Settings("step 100", model=name).digest)
    expect(view.locator(".recorded .count")).to_have_text("step 100, 2 of 3")
    explore.wait_for_query(model=[name], s=["step 100"])
    expect(explore.box).not_to_be_editable()
    expect(view.locator(".first-steps")).to_be_hidden()
    view.get_by_role("button", name="table", exact=True).click()
    assert "0.5000" in view.get_by_role("table").first.inner_text()
    view.get_by_role("button", name="cross", exact=True).click()
    explore.settled(Settings("step 100", model=f"{name}~1").digest)
    explore.button("map").click()
    choose(explore, "minilm")
    explore.shows(TIRED)
    a_model_is_chosen_and_its_first_question_asked(explore)
