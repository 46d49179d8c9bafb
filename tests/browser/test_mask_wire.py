"""What is painted and clicked on the Masks page goes over the wire at once, and each picture is asked for once."""

from __future__ import annotations

from playwright.sync_api import expect

from pages.kit.picture.settings import Settings

from .held import begins_with_its_picture, holds_back, say
from .masks_page import WORDS, Masks
from .tab import TWO_FRAMES
from .test_masks import check_weights, painting

# How many pictures were asked for.
ASKED = 'performance.getEntriesByType("resource").filter(({ name }) => name.includes("/api/masked")).length'
# Every answer of the wire comes late.
SLOW = """(late) => {
  const real = window.fetch;
  window.fetch = async (input, options) => {
    const answer = await real(input, options);
    if (String(input).includes("/api/")) await new Promise((done) => setTimeout(done, late));
    return answer;
  };
}"""


def test_each_stroke_and_each_click_is_asked_once_and_joins_may_be_fast(masks: Masks) -> None:
    long = " & ".join(f"!sinks:{number}" for number in range(10, 26))
    what_a_link_says_and_cannot_be_used_is_told_and_leaves_it(masks)
    masks.clicked("all on", "causal & window:2")
    masks.enter(masks.rule, long)
    masks.shows(long)
    masks.button("or").click()
    masks.card("dilated 3 2").click()
    expect(masks.view.locator(".notices")).to_contain_text("takes more than 200 characters as a rule")
    masks.shows(long)
    masks.clicked(masks.card("causal"), "causal")
    expect(masks.view.locator(".notices p")).to_have_count(0)
    each_is_asked_once(masks)


def what_a_link_says_and_cannot_be_used_is_told_and_leaves_it(masks: Masks) -> None:
    masks.open(mask="combination", rule="causal & (", t="99", w="0", off=["L0 H2", "L9 H9"], at="9.9")
    masks.settled(
        Settings(WORDS, "causal & window:4", heads_off=((0, 2),)).digest
    )  # as long as nothing else was usable
    masks.wait_for_query(mask="combination", t=None, w=None, off="L0 H2", at=None)
    expect(masks.view.locator(".notices p")).to_have_count(5)
    said = {said.split("=")[0].removeprefix("The link says ") for said in masks.notices() if "says" in said}
    assert said == {"t", "w", "off", "at"}
    expect(masks.view.locator(".notices")).to_contain_text("Not a valid rule")
    expect(masks.rule).to_have_value("causal & (")
    masks.wait_for_query(rule="causal & (")
    masks.enter(masks.rule, "causal & window:2")
    masks.settled(Settings(WORDS, "causal & window:2", heads_off=((0, 2),)).digest)
    expect(masks.view.locator(".notices p")).to_have_count(0)


def each_is_asked_once(masks: Masks) -> None:
    asked = masks.page.evaluate(ASKED)
    masks.click(4, 0)
    painted = masks.shows("causal", painting([(4, 0)]))
    assert masks.page.evaluate(ASKED) == asked + 1
    masks.clicked("undo", "causal")
    masks.button("combine").click()
    masks.button("or").click()
    masks.clicked(masks.card("window 3"), "causal | window:3")
    expect(masks.card("painted")).to_be_disabled()  # what was undone is nothing
    asked = masks.page.evaluate(ASKED)
    masks.clicked(masks.card("causal"), "causal")
    masks.click(4, 0)
    masks.shows("causal", painted.painted)
    masks.cell.focus()
    masks.keys("ArrowDown")
    masks.settled()
    assert masks.page.evaluate(ASKED) == asked + 2, "another cell in focus needs nothing"

    masks.clicked(masks.card("causal"), "causal")
    masks.button("and").click()
    masks.card("window 3").click()
    expect(masks.rule).to_have_value("causal & window:3")
    masks.button("or").click()
    masks.clicked(masks.card("sinks 1"), "causal & window:3 | sinks:1")
    masks.wait_for_query(mask="combination", rule="causal & window:3 | sinks:1")


def test_the_newest_holds_and_no_stroke_is_lost(masks: Masks) -> None:
    the_newest_of_the_view_and_of_the_controls_below_holds(masks)
    strokes_faster_than_their_answers_and_one_that_goes_on_are_not_lost(masks)


def the_newest_of_the_view_and_of_the_controls_below_holds(masks: Masks) -> None:
    masks.open(pos="none")  # so the controls are unfolded
    masks.card("window 3").click()
    masks.settled(Settings(WORDS, "window:3", position="none").digest)
    masks.position("rotary").click()
    masks.settled(Settings(WORDS, "window:3", position="rotary").digest)
    masks.view.get_by_role("button", name="layer 0 head 2", exact=True).click()
    masks.wait_for_query(off="L0 H2", pos="rotary")
    masks.button("all on").click()
    masks.card("prefix 2").click()
    masks.clicked(masks.position("as trained"), "prefix:2")
    masks.click(5, 5)
    masks.shows("prefix:2", painting([(5, 5)]))
    masks.button("combine").click()
    masks.enter(masks.view.get_by_role("textbox", name="Painted on the rule"), "causal")
    check_weights(masks, masks.shows("causal", painting([(5, 5)])))
    masks.wait_for_query(mask="painted", on="causal", p=painting([(5, 5)]), pos=None)


def strokes_faster_than_their_answers_and_one_that_goes_on_are_not_lost(masks: Masks) -> None:
    masks.button("clear").click()
    masks.clicked(masks.card("full"), "none", "")
    masks.page.evaluate(SLOW, 300)
    masks.click(0, 0)
    masks.page.mouse.move(*masks.place(2, 0))
    masks.page.mouse.down()
    masks.page.mouse.move(*masks.place(2, 2))
    expect(masks.view).not_to_have_attribute("data-pending", "")  # the first one is answered
    masks.page.evaluate(TWO_FRAMES)
    expect(masks.counted).to_have_text("4 of 36 blocked")
    masks.page.mouse.move(*masks.place(2, 3))
    masks.page.mouse.up()
    expect(masks.counted).to_have_text("5 of 36 blocked")
    settings = masks.shows("none", painting([(0, 0), (2, 0), (2, 1), (2, 2), (2, 3)]))
    check_weights(masks, settings)
    masks.wait_for_query(p=settings.painted)

    masks.clicked("clear", "none", "")
    cells = [(row, key) for row in range(3) for key in range(3)]
    for number, (row, key) in enumerate(cells, 1):
        masks.click(row, key)
        expect(masks.counted).to_have_text(f"{number} of 36 blocked")
    masks.shows("none", painting(cells))
    for _ in cells[4:]:
        masks.button("undo").click()
    check_weights(masks, masks.shows("none", painting(cells[:4])))


def test_what_is_painted_on_the_first_picture_is_kept(masks: Masks) -> None:
    holds_back(masks, from_the_start=True)
    begins_with_its_picture(masks, f"{masks.url}/masks?s=can+you+can+that&at=0.3")
    masks.click(1, 2)
    expect(masks.counted).to_have_text("1 of 36 blocked")
    say(masks)
    masks.page.wait_for_selector("#headlight-early", state="detached")
    settings = masks.shows("none", painting([(1, 2)]))
    check_weights(masks, settings)
    masks.wait_for_query(mask="painted", p=settings.painted)
