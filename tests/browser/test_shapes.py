"""Shapes in a browser: every step by mouse and keyboard, two implementations side by side, any number, its lesson."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, expect

from headlight.picture.settings import Settings
from pages.shapes.exercise import GAPS, QUESTION
from pages.shapes.reshape_lessons import LESSONS

from .expected import TIRED, WIDE
from .shapes_page import Shapes, check_readout, check_side, listed, read, step_of, steps_of
from .tab import place_of

PIXELS = "canvas => canvas.toDataURL()"


def test_steps_heads_and_numbers_by_mouse_and_keyboard(shapes: Shapes) -> None:
    shapes.open(step="x")
    first, second, *_ = steps_of("efficient")
    # on, back, and by the list
    expect(shapes.button("◀ back")).to_be_disabled()
    shapes.button("next ▶").click()
    shapes.drawn(second.name)
    check_side(shapes.says(), "efficient", second)
    shapes.lines.focus()
    shapes.keys("Home")
    shapes.drawn(first.name)
    shapes.to_step("q.transpose")
    check_side(shapes.says(), "efficient", step_of("efficient", "q.transpose"))

    # a head, and a number by mouse and by keyboard
    shapes.clicked(shapes.head(7))
    check_readout(shapes.hover(2, 17), "q.transpose", (0, 7, 2, 17))
    shapes.click_cell(13, 31)
    shapes.page.mouse.move(5, 5)
    shapes.settled("q.transpose")
    cell = shapes.side().locator(".plane .cell")
    cell.focus()
    for key, row, column in (("ArrowDown", 14, 31), ("ArrowLeft", 14, 30)):
        shapes.keys(key)
        expect(cell).to_have_attribute("aria-colindex", str(column + 1))
        expect(cell.locator("..")).to_have_attribute("aria-rowindex", str(row + 1))
        check_readout(shapes.readout(), "q.transpose", (0, 7, row, column))
    shapes.wait_for_query(at="3.7.14", f="30")

    # another implementation beside it, and the link once more
    shapes.choose("Compare with", "sequence_first")
    expect(shapes.view).to_have_attribute("data-shown", "efficient sequence_first")
    shapes.settled("q.transpose")
    check_side(shapes.says(1), "sequence_first", step_of("sequence_first", "q"))
    check_readout(shapes.readout(1), "q", (14, 0, 7, 30), implementation="sequence_first")
    shapes.visit(shapes.page.url)
    check_readout(shapes.readout(1), "q", (14, 0, 7, 30), implementation="sequence_first")


@pytest.mark.thorough("A walk over every step of an implementation, a mask and memory.")
def test_every_step_its_heads_its_memory_and_its_code(shapes: Shapes) -> None:
    shapes.open(step="q.transpose", at="3.1.10", f="0")

    # every step by keyboard, under a mask; what it forbids is no number
    shapes.choose("Implementation", "sequence_first")
    expect(shapes.view).to_have_attribute("data-shown", "sequence_first")
    shapes.clicked(shapes.controls("Mask").get_by_role("radio", name="causal", exact=True), mask="causal")
    shapes.keys("Escape")
    shapes.option("x").click()
    made = {step.name: step for step in steps_of("sequence_first", settings=Settings(TIRED, "causal"))}
    steps = [made[name] for name in listed(tuple(made.values()))]
    shapes.lines.focus()
    for number, made_step in enumerate(steps):
        shapes.drawn(made_step.name)
        check_side(shapes.says(), "sequence_first", made_step)
        expect(shapes.view.locator(".count")).to_have_text(f"step {number + 1} of {len(steps)}")
        assert shapes.chosen() == [str(number + 1), made_step.name]
        expect(shapes.lines).to_have_attribute("aria-activedescendant", f"step-{number}")
        shapes.keys("ArrowDown")
    for key, name in (("Home", "x"), ("ArrowUp", "x"), ("End", "out"), ("ArrowUp", "out.project")):
        shapes.keys(key)
        shapes.drawn(name)
    shapes.settled("out.project")
    expect(shapes.lines).to_be_focused()
    shapes.to_step("masked")
    shapes.click_cell(2, 9)
    assert ": −∞: not allowed · [2, 9, 0, 1] lies at place " in shapes.readout()  # of this layout

    # strides: pointed at or focused, the memory lights up
    shapes.open(step="q.transpose", at="3.1.10", f="0")
    strides, jumped = shapes.side().locator(".strides button"), shapes.side().locator(".jump-note")
    batch, head, query, feature = step_of("efficient", "q.transpose").value.stride()
    assert strides.all_inner_texts() == [f"batch {batch:,}", f"heads {head}", f"queries {query}", f"features {feature}"]
    memory = shapes.side().locator(".tensor-flow > .pictures").last.locator(".memory canvas")
    at_rest, place = memory.evaluate(PIXELS), head + 10 * query
    strides.nth(1).focus()
    expect(jumped).to_have_text(
        f"From head 1 to head 2 is a step of {head} places in memory, from place {place:,} to {place + head:,}."
    )
    assert memory.evaluate(PIXELS) != at_rest, "they are lit"
    strides.nth(0).hover()
    expect(jumped).to_have_text(f"There is only one text here; the next would be {batch:,} places away.")


@pytest.mark.thorough("A walk over lessons at their step, and their link.")
def test_a_lesson_opens_at_its_step_and_a_link_opens_all_of_it_once_more(shapes: Shapes) -> None:
    shapes.open(step="q.transpose", at="3.1.10", f="0")
    # the question at a step opens its lesson, and another is chosen
    shapes.to_step("weights")
    shapes.side().get_by_role("button", name="? What if the softmax uses another axis?").click()
    expect(shapes.lesson_button("wrong axis")).to_have_attribute("aria-pressed", "true")
    expect(shapes.lesson).to_be_in_viewport()
    shapes.settled("weights")
    assert shapes.lesson.evaluate("place => place.getRootNode().activeElement === place"), "the next key goes on there"
    for name in (list(LESSONS)[-2], "wrong axis"):
        shapes.lesson_button(name).click()
        expect(shapes.lesson_button(name)).to_have_attribute("aria-pressed", "true")
        expect(shapes.lesson.locator("table").first).to_be_visible()
        shapes.settled()
    expect(shapes.lesson.get_by_role("heading", name="Softmax over the wrong axis")).to_be_visible()
    right, wrong = (place_of(shapes.lesson.locator(".matrix").nth(n)) for n in (0, 1))
    assert right.y == wrong.y, "right and wrong stand side by side"

    # a link with all of it
    shapes.typed(WIDE)
    shapes.choose("Implementation", "sdpa")
    shapes.choose("Compare with", "naive")
    expect(shapes.view).to_have_attribute("data-shown", "sdpa naive")
    shapes.layer(5).click()
    shapes.option("k").click()
    shapes.head(3).click()
    shapes.click_cell(4, 8)
    shapes.settled("k")
    expect(shapes.lesson).to_contain_text("head 3")
    link, lesson, chosen = shapes.page.url, shapes.lesson.inner_text(), shapes.chosen()
    sides = [(shapes.says(number), shapes.readout(number)) for number in (0, 1)]
    shapes.visit(link).shows(WIDE)
    assert [(shapes.says(number), shapes.readout(number)) for number in (0, 1)] == sides
    assert read(shapes.readout())["index"] == (0, 3, 4, 8)
    check_side(shapes.says(1), "naive", step_of("naive", "k", 5, Settings(WIDE)))
    assert (shapes.chosen(), shapes.lesson.inner_text(), shapes.page.url) == (chosen, lesson, link)
    expect(shapes.head(3)).to_have_attribute("aria-pressed", "true")
    assert shapes.notices() == []


@pytest.mark.thorough("A walk over attention written line by line, and every control of the layer.")
def test_lines_are_written_and_the_controls_of_the_layer(shapes: Shapes) -> None:
    shapes.open(s="how are we")
    shapes.shows("how are we")

    # attention is written line by line: a wrong first line, then the right one
    shapes.to_step("out")
    shapes.side().get_by_role("button", name=f"? {QUESTION}").click()
    expect(shapes.lesson).to_be_in_viewport()
    choices, found = shapes.lesson.locator(".code"), shapes.lesson.locator(".verdict")
    expect(choices).to_have_count(len(GAPS))
    written = ["0"] * len(GAPS)
    for at, (gap, line) in enumerate(zip(GAPS, (1, 3, 1, 3), strict=True)):
        choices.nth(at).get_by_role("button", name=gap.lines[line - 1], exact=True).click()
        written[at] = str(line)
        shapes.wait_for_query(wrote=".".join(written))
        expect(found.nth(at)).to_have_attribute("data-result", "holds" if at else "does not hold")
    expect(found.last).to_have_attribute("data-result", "does not hold")
    choices.first.get_by_role("button", name=GAPS[0].lines[1], exact=True).click()
    expect(found.last).to_have_attribute("data-result", "holds")
    expect(found.last).to_contain_text("What the layer makes: relative difference 0")

    # the controls of the layer
    panel = shapes.controls("Mask")
    panel.get_by_role("radio", name="window", exact=True).click()
    shapes.shows("how are we", mask="window:3")
    panel.get_by_role("spinbutton").fill("2")
    shapes.shows("how are we", mask="window:2")
    shapes.wait_for_query(mask="window", w="2")
    expect(shapes.control("Mask").locator(".current-value")).to_have_text("window 2")
    shapes.controls("Ablate").get_by_role("button", name="layer 0 head 2").click()
    shapes.controls("Temperature").get_by_role("slider").press("ArrowRight")
    shapes.shows("how are we", mask="window:2", heads_off=((0, 2),), temperature=1.1)
    weights = shapes.controls("Weights of this layer")
    weights.get_by_role("button", name="random", exact=True).click()
    expect(shapes.label).to_contain_text("random weights (seed 0), all biases")
    weights.get_by_role("button", name="none", exact=True).click()
    weights.get_by_role("spinbutton", name="Random seed").fill("3")
    expect(shapes.label).to_contain_text("layer 3, random weights (seed 3), no biases")
    expect(weights).to_contain_text("589,824 parameters")
    shapes.wait_for_query(lw="random", biases="none", dice="3")
    weights.get_by_role("button", name="done").click()
    expect(shapes.control("Weights")).to_be_focused()
    shapes.choose("Implementation", "torch")
    expect(shapes.view).to_have_attribute("data-shown", "torch")
    expect(shapes.control("Temperature")).to_have_attribute("data-idle", "")
    panel = shapes.controls("Temperature")
    expect(panel).to_contain_text("torch cannot divide by a temperature.")
    assert panel.locator("[inert] input").count() == 1
    shapes.keys("Escape")
    shapes.view.get_by_text("The class and every function that it calls: torch").click()
    expect(shapes.view.locator(".classes pre")).to_contain_text("class TorchAttention")


@pytest.mark.thorough("Answers are held back: steps are drawn without them.")
def test_loaded_steps_are_not_requested_again(shapes: Shapes) -> None:
    # what is here is not requested
    shapes.open(step="x")
    requested: list[str] = []
    shapes.page.on("request", lambda request: requested.append(request.url) if "/api/steps" in request.url else None)
    for name in listed(steps_of("efficient"))[1:4]:
        shapes.button("next ▶").click()
        shapes.drawn(name)
    shapes.head(5).click()
    shapes.to_step("weights")
    shapes.click_cell(3, 4)
    shapes.settled("weights")
    check_readout(shapes.readout(), "weights", (0, 5, 3, 4))
    shapes.lesson_button("wrong axis").click()
    shapes.page.wait_for_url("**lesson=wrong+axis**")
    shapes.settled()
    assert requested == []

    # the steps of another layer replace those that keep their name
    held: list[Route] = []
    shapes.page.route("**/api/steps?*", lambda route: held.append(route))
    before = shapes.says()
    shapes.layer(5).click()
    expect(shapes.layer(5)).to_have_attribute("aria-pressed", "true")
    expect(shapes.view).to_have_attribute("data-late", "")
    expect(shapes.label).to_contain_text("layer 3, pretrained weights")
    assert shapes.says() == before
    shapes.head(4).click()
    expect(shapes.side().locator(".plane .readout")).to_contain_text("[0, 4, 3, 4]")
    check_readout(shapes.readout(), "weights", (0, 4, 3, 4))
    for route in held:
        route.continue_()
    shapes.page.unroute("**/api/steps?*")
    expect(shapes.label).to_contain_text("layer 5, pretrained weights")
    shapes.settled("weights")
    assert len(held) <= 2
    check_readout(shapes.readout(), "weights", (0, 4, 3, 4), layer=5)


def test_a_word_of_a_thread_leads_to_the_lesson_on_it(shapes: Shapes) -> None:
    page = shapes.open().page
    page.keyboard.press("/")
    page.keyboard.type("tile")
    page.get_by_role("dialog", name="Search").get_by_role("option", name="grouped-query attention").click()
    page.wait_for_url("**/glossary*")
    page.locator(".term:focus").get_by_role("link", name="Shapes").click()
    shapes.wait_for_query(lesson="grouped heads")
    room = shapes.view.locator(".lesson-room")
    expect(room.get_by_role("heading", name="Repeat, or tile?")).to_be_in_viewport()
    room.get_by_role("button", name="4", exact=True).press("Enter")
    shapes.wait_for_query(lesson="grouped heads 4")
    expect(room.get_by_role("button", name="4", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(room).to_contain_text("Tiled, 8 of 12 query heads read the keys of another group")
    shapes.lesson_button("rope pairs").click()
    shapes.wait_for_query(lesson="rope pairs")
    expect(room.get_by_role("heading", name="One vector, two pairings")).to_be_visible()
