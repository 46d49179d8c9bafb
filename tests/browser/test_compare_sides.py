"""Compare in the browser: what each side begins with, how one is set by the other, and which map is in front."""

from __future__ import annotations

from dataclasses import replace

from playwright.sync_api import expect

from pages.compare.orders import shuffled
from pages.kit.picture.settings import Settings

from .compare_page import Compare, read
from .conftest import NewTab
from .expected import TIRED, WIDE
from .tab import place_of


def test_from_explore_one_thing_differs_the_link_says_so_and_each_page_has_its_own_first_head(compare: Compare) -> None:
    compare.page.goto(f"{compare.url}/?mask=causal&off=L3+H5")
    expect(compare.page.locator(".tile.focused")).to_be_visible()
    compare.page.locator(".st-key-stage").wait_for(state="attached")  # a page that is left earlier is loaded anew
    compare.go("Compare")
    left = Settings(TIRED, "causal", heads_off=((3, 5),))
    right = replace(left, position="none")
    compare.shows(left, right)
    expect(compare.contrast).to_have_text("One thing differs: positions.")
    compare.wait_for_query(mask="causal", off="L3 H5", mask2="causal", off2="L3 H5", pos2=None)
    expect(compare.view).to_have_attribute("data-numbers", "0.2")  # each page has its own first head
    compare.go("Explore")
    expect(compare.page.locator(".tile.focused")).to_have_attribute("data-head", "3.1")
    compare.page.go_back()
    compare.shows(left, right)
    expect(compare.view).to_have_attribute("data-numbers", "0.2")
    compare.button("layer 3").click()
    compare.clicked("head 1")
    compare.page.wait_for_url("**at=3.1**")
    compare.go("Explore")
    expect(compare.page.locator(".tile.focused")).to_have_attribute("data-head", "3.1")
    compare.go("Compare")
    compare.shows(left, right)
    expect(compare.view).to_have_attribute("data-numbers", "3.1")


def test_right_becomes_left_and_both_change_places(compare: Compare) -> None:
    compare.open(s2=WIDE, mask2="window", w2="2", off2="L3 H5", t="0.5")
    left, right = Settings(TIRED, temperature=0.5), Settings(WIDE, "window:2", "none", heads_off=((3, 5),))
    compare.shows(left, right)
    compare.clicked("swap", right, left)
    compare.wait_for_query(s=WIDE, mask="window", pos="none", off="L3 H5", t2="0.5", pos2="as trained", mask2=None)
    compare.clicked("right = left", right, right)
    expect(compare.contrast).to_contain_text("Both sides are the same")
    expect(compare.button("swap")).to_be_disabled()
    compare.page.get_by_label("Right model").select_option("food-none-1")
    compare.wait_for_query(model2="food-none-1")
    other = replace(right, model="food-none-1", position="trained", heads_off=())
    compare.shows(right, other)
    compare.clicked("swap", other, right)
    compare.wait_for_query(model="food-none-1", model2="minilm", off=None, off2="L3 H5", s=WIDE)
    expect(compare.page.get_by_label("Model", exact=True)).to_have_value("food-none-1")


def test_every_control_of_the_right_side(compare: Compare) -> None:
    compare.open()
    left = Settings(TIRED)
    compare.set("Mask, right", "causal")
    right = Settings(TIRED, "causal", "none")
    compare.shows(left, right)
    compare.set("Position encoding, right", "sinusoidal")
    right = Settings(TIRED, "causal", "sinusoidal")
    compare.shows(left, right)
    compare.controls("Softmax temperature, right").get_by_role("slider").press("ArrowLeft")
    right = Settings(TIRED, "causal", "sinusoidal", 0.9)
    compare.shows(left, right)
    compare.controls("Heads off, right").get_by_role("button", name="layer 0 head 2", exact=True).click()
    right = Settings(TIRED, "causal", "sinusoidal", 0.9, ((0, 2),))
    compare.shows(left, right)
    compare.keys("Escape")
    expect(compare.view.get_by_role("button", name="Heads off, right: L0 H2 off")).to_be_focused()
    compare.other_box.fill(WIDE)
    right = Settings(WIDE, "causal", "sinusoidal", 0.9, ((0, 2),))
    compare.shows(left, right)
    assert compare.view.locator(".difference > .words").inner_text().startswith("The sentences differ at 1 position")
    expect(compare.contrast).to_contain_text("5 things differ: sentence, mask, positions, temperature and heads off.")
    assert compare.hover(0, 2, 7)[1].endswith("blocked by the mask")
    compare.page.wait_for_function("location.search.includes('s2=')")
    query = compare.query
    assert {key: query[key] for key in ("mask2", "pos2", "t2", "off2", "s2")} == {
        "mask2": ["causal"], "pos2": ["sinusoidal"], "t2": ["0.9"], "off2": ["L0 H2"], "s2": [WIDE],
    }  # fmt: skip
    back_shows_what_was_left(compare, left, right)

    compare.box.fill("how are you")
    compare.other_box.fill("")
    compare.shows(Settings("how are you"), replace(right, text="how are you"))
    compare.set("Mask, right", "combination")
    right = replace(right, text="how are you", mask="causal & window:4")
    compare.shows(Settings("how are you"), right)
    field = compare.view.get_by_role("textbox", name="Rules joined by & (and), | (or), ! (not), right", exact=True)
    field.fill("causal &")
    expect(compare.view.locator(".notices")).to_contain_text("Still using “causal & window:4”")
    expect(field).to_have_value("causal &")
    field.fill("causal & sinks:1")
    compare.shows(Settings("how are you"), replace(right, mask="causal & sinks:1"))
    expect(compare.view.locator(".notices p")).to_have_count(0)
    compare.wait_for_query(rule2="causal & sinks:1", mask2="combination")


def back_shows_what_was_left(compare: Compare, left: Settings, right: Settings) -> None:
    """Also the order of the words that was asked for."""
    compare.shuffle.get_by_role("button", name="shuffle again").click()
    compare.wait_for_query(shuffle="2")
    compare.page.goto(f"{compare.url}/?s=how+are+you")
    expect(compare.page.locator(".tile.focused")).to_be_visible()
    compare.page.go_back()
    compare.shows(left, right)
    expect(compare.box).to_have_value(left.text)
    expect(compare.other_box).to_have_value(right.text)
    expect(compare.shuffle).to_contain_text(shuffled(left.text, 2))


def test_a_finger_on_a_phone(new_phone: NewTab) -> None:
    compare = new_phone(Compare)
    runs = compare.open(at="3.1").shows_default()
    box = place_of(compare.map(0).locator(".map"))
    assert box.bottom < 812, "the first map is on the first screen"
    title = place_of(compare.map(0).get_by_role("heading", name="Learned positions"))
    assert title.bottom <= box.y, "its title stands above it"
    compare.page.touchscreen.tap(*compare.cell(0, 10, 2))
    compare.wait_for_query(at="3.1.10.2")
    compare.settled()
    assert compare.readouts() == read(runs, 3, 1, 10, 2)
    card = place_of(compare.map(0))
    for number, name in enumerate(("Learned positions", "No positions", "Difference")):
        compare.button(name).tap()
        expect(compare.button(name)).to_have_attribute("aria-pressed", "true")
        assert place_of(compare.map(number))[:2] == card[:2], "at one place"
        assert [compare.map(other).is_visible() for other in range(3)] == [other == number for other in range(3)]
    compare.button("No positions").tap()
    compare.set("Mask, right", "causal")
    compare.shows(Settings(TIRED), Settings(TIRED, "causal", "none"))
    changed, sheet = place_of(compare.map(1).locator(".map")), place_of(compare.controls("Mask, right"))
    assert 0 <= changed.y < changed.y + 0.8 * changed.height < sheet.y, "it is seen above its controls"


def test_what_cannot_be_used_is_named_and_leaves_the_link_and_a_text_stays_typed(compare: Compare) -> None:
    compare.open(
        s="it " * 600, mask="bogus", pos2="elsewhere", t2="99", off2="L9 H9", shuffle="0", at="9.9",
        mask2="combination", rule2="causal &",
    )  # fmt: skip
    compare.shows(Settings(TIRED), Settings(TIRED, "causal & window:4", "none"))
    notices = compare.view.locator(".notices p")
    for key in ("mask", "pos2", "t2", "off2", "shuffle", "at"):
        expect(notices.filter(has_text=f"says {key}=")).to_have_count(1)
    expect(notices).to_have_count(8)
    compare.box.fill("how are you")
    compare.shows(Settings("how are you"), Settings("how are you", "causal & window:4", "none"))
    expect(notices).to_have_count(1)
    compare.wait_for_query(s="how are you", rule2="causal &", pos2=None, t2=None, off2=None, shuffle=None, at=None)
    compare.set("Mask, right", "causal")
    compare.shows(Settings("how are you"), Settings("how are you", "causal", "none"))
    expect(notices).to_have_count(0)
    compare.keys("Escape")

    compare.box.fill(TIRED)
    compare.button("layer 3").click()
    runs = compare.clicked("head 1", Settings(TIRED), Settings(TIRED, "causal", "none"))
    compare.page.mouse.click(*compare.cell(0, 4, 2))
    compare.wait_for_query(at="3.1.4.2")
    a_chosen_row_stays_while_the_sentence_has_it(compare, runs[0].tokens[4])


def a_chosen_row_stays_while_the_sentence_has_it(compare: Compare, token: str) -> None:
    compare.box.press("End")
    compare.page.keyboard.type(" it")
    longer = f"{TIRED} it"
    compare.shows(Settings(longer), Settings(longer, "causal", "none"))
    expect(compare.map(0).locator(".readout")).to_contain_text(f"{token} → ")
    expect(compare.view.locator(".vectors h2")).to_contain_text(f"“{token}”")
    compare.wait_for_query(at="3.1.4.2")
    compare.box.fill("it")
    compare.shows(Settings("it"), Settings("it", "causal", "none"))
    compare.wait_for_query(at="3.1")
    assert compare.notices() == []
