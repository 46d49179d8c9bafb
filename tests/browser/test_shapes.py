"""Shapes in a browser: every step by mouse and keyboard, two implementations side by side, any number, its lesson."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, expect

from pages.kit.picture.settings import Settings
from pages.shapes import exercise
from pages.shapes.own_lines import GAPS, last_line
from pages.shapes.reshape_lessons import LESSONS

from .expected import TIRED, WIDE
from .held import begins_with_its_picture, holds_back, say
from .shapes_page import Shapes, check_readout, check_side, listed, read, step_of, steps_of
from .tab import place_of

# The intervals of the step view, run by the test instead of by the clock.
BEATS = """() => {
  const [start, stop, beats] = [window.setInterval, window.clearInterval, new Map()];
  let last = 1e9;
  window.setInterval = (run, ...rest) => {
    if (!new Error().stack.includes("StepView")) return start(run, ...rest);
    beats.set(++last, run);
    return last;
  };
  window.clearInterval = (id) => beats.delete(id) || stop(id);
  window.beat = () => [...beats.values()].map((run) => run()).length;
}"""
BEAT = "() => window.beat()"
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
    shapes.choose("Beside it", "sequence_first")
    expect(shapes.view).to_have_attribute("data-shown", "efficient sequence_first")
    shapes.settled("q.transpose")
    check_side(shapes.says(1), "sequence_first", step_of("sequence_first", "q"))
    check_readout(shapes.readout(1), "q", (14, 0, 7, 30), implementation="sequence_first")
    shapes.visit(shapes.page.url)
    check_readout(shapes.readout(1), "q", (14, 0, 7, 30), implementation="sequence_first")


@pytest.mark.thorough("A walk over every step of an implementation, playing them, a mask and memory.")
def test_every_step_its_heads_its_memory_and_its_code(shapes: Shapes) -> None:
    shapes.run_first(f"({BEATS})()")
    shapes.open(step="q.transpose", at="3.1.10", f="0")

    # play goes on by itself, ends by itself and begins anew; pause stops
    shapes.choose("Implementation", "efficient")
    expect(shapes.view).to_have_attribute("data-shown", "efficient")
    shapes.option("joined").click()
    shapes.drawn("joined")
    shapes.button("play").click()
    expect(shapes.button("pause")).to_have_attribute("aria-pressed", "true")
    assert shapes.page.evaluate(BEAT) == 1
    shapes.drawn("out")
    shapes.button("pause").click()
    assert shapes.page.evaluate(BEAT) == 0
    expect(shapes.button("next ▶")).to_be_disabled()
    shapes.settled("out")
    shapes.button("play").click()
    shapes.drawn("x")
    shapes.option("joined").click()
    assert shapes.page.evaluate(BEAT) == 1
    shapes.drawn("out")
    assert shapes.page.evaluate(BEAT) == 1
    expect(shapes.button("play")).to_have_attribute("aria-pressed", "false")
    assert shapes.page.evaluate(BEAT) == 0, "after the last step it ends by itself"

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
    strides, jumped = shapes.side().locator(".strides button"), shapes.side().locator(".jumped")
    batch, head, query, feature = step_of("efficient", "q.transpose").value.stride()
    assert strides.all_inner_texts() == [f"batch {batch:,}", f"heads {head}", f"queries {query}", f"features {feature}"]
    memory = shapes.side().locator(".made > .pictures").last.locator(".memory canvas")
    at_rest, words, place = memory.evaluate(PIXELS), jumped.inner_text(), head + 10 * query
    strides.nth(1).focus()
    expect(jumped).to_have_text(
        f"From head 1 to head 2 memory jumps {head} places: from place {place:,} to {place + head:,}."
    )
    lit = memory.evaluate(PIXELS)
    strides.nth(2).hover()
    expect(jumped).to_contain_text(f"From query 10 to query 11 memory jumps {query} places")
    assert len({at_rest, lit, memory.evaluate(PIXELS)}) == 3
    shapes.page.mouse.move(5, 5)
    expect(jumped).to_contain_text("From head 1 to head 2")
    assert memory.evaluate(PIXELS) == lit, "what has the focus is lit again"
    strides.nth(0).hover()
    expect(jumped).to_have_text(f"There is only one text here; the next would lie {batch:,} places on.")
    shapes.lines.focus()
    shapes.page.mouse.move(5, 5)
    expect(jumped).to_have_text(words)
    assert memory.evaluate(PIXELS) == at_rest


@pytest.mark.thorough("A walk over lessons at their step, and their link.")
def test_a_lesson_opens_at_its_step_and_a_link_opens_all_of_it_once_more(shapes: Shapes) -> None:
    shapes.open(step="q.transpose", at="3.1.10", f="0")
    a_lesson_opens_beside_its_step_and_goes_back(shapes)

    # the question at a step opens its lesson, and another is chosen
    shapes.to_step("weights")
    shapes.side().get_by_role("button", name="? What if softmax takes another axis?").click()
    expect(shapes.lesson_button("wrong axis")).to_have_attribute("aria-pressed", "true")
    expect(shapes.lesson).to_be_in_viewport()
    shapes.settled("weights")
    assert shapes.lesson.evaluate("place => place.getRootNode().activeElement === place"), "the next key goes on there"
    for name in (list(LESSONS)[-2], "wrong axis"):
        shapes.lesson_button(name).click()
        expect(shapes.lesson_button(name)).to_have_attribute("aria-pressed", "true")
        expect(shapes.lesson.locator("table").first).to_be_visible()
        shapes.settled()
    expect(shapes.lesson.get_by_text("Softmax over the wrong axis")).to_be_visible()
    right, wrong = (place_of(shapes.lesson.locator(".matrix").nth(n)) for n in (0, 1))
    assert right.y == wrong.y, "right and wrong stand side by side"

    # a link with all of it
    shapes.typed(WIDE)
    shapes.choose("Implementation", "sdpa")
    shapes.choose("Beside it", "naive")
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


def a_lesson_opens_beside_its_step_and_goes_back(shapes: Shapes) -> None:
    shapes.to_step("q.transpose")
    question = shapes.side().locator(".learn")
    expect(question).to_have_attribute("aria-expanded", "false")
    at_rest = place_of(shapes.lesson)
    question.click()
    expect(question).to_have_attribute("aria-expanded", "true")
    shapes.settled("q.transpose")
    maps = shapes.lesson.locator(".matrix")
    for map_ in (maps.first, maps.last):
        expect(map_).to_be_in_viewport(ratio=0.9)
    why, lesson = place_of(shapes.side().locator(".why")), place_of(shapes.lesson)
    assert why.bottom <= lesson.y
    assert lesson.bottom <= place_of(shapes.side().locator(".source")).y, "nothing is covered"
    assert abs(lesson.width - why.width) <= 2
    shapes.to_step("k.transpose")  # it asks the same
    expect(question).to_have_attribute("aria-expanded", "true")
    shapes.to_step("x")
    assert place_of(shapes.lesson).y > place_of(shapes.side().locator(".plane")).y
    shapes.to_step("q.transpose")
    question.click()
    question.click()
    expect(question).to_have_attribute("aria-expanded", "false")
    assert place_of(shapes.lesson).width == at_rest.width


@pytest.mark.thorough("A walk over a bad link, attention written line by line, and every control of the layer.")
def test_what_cannot_be_used_is_named_lines_are_written_and_the_controls_of_the_layer(shapes: Shapes) -> None:
    shapes.open(s="how are you", step="nothing.here", f="99", lesson="flash", vs="flash", drop="9", at="9.9")
    shapes.shows("how are you")
    shapes.wait_for_query(s="how are you", step=None, f=None, lesson=None, vs=None, drop=None, at=None)
    assert {said.split("=")[0].removeprefix("The link says ") for said in shapes.notices()} == {
        "step", "f", "lesson", "vs", "drop", "at",
    }  # fmt: skip
    assert shapes.chosen()[1] == "q.transpose"
    shapes.box.fill("x" * 12_001)
    expect(shapes.view.locator(".notices")).to_contain_text("Below: the text before, “how are you”.")
    shapes.typed("how are we")
    expect(shapes.view.locator(".notices p")).to_have_count(0)

    # attention is written line by line: a wrong first line, then the right one
    shapes.to_step("out")
    shapes.side().get_by_role("button", name=f"? {exercise.QUESTION}").click()
    expect(shapes.lesson).to_be_in_viewport()
    choices, found = shapes.lesson.locator(".code"), shapes.lesson.locator(".verdict")
    expect(choices).to_have_count(len(GAPS))
    written = ["0"] * len(GAPS)
    for at, (gap, line) in enumerate(zip(GAPS, (1, 3, 1, 3), strict=True)):
        choices.nth(at).get_by_role("button", name=last_line(gap.lines[line - 1]), exact=True).click()
        written[at] = str(line)
        shapes.wait_for_query(wrote=".".join(written))
        expect(found.nth(at)).to_have_attribute("data-result", "holds" if at else "does not hold")
    expect(found.last).to_have_attribute("data-result", "does not hold")
    choices.first.get_by_role("button", name=last_line(GAPS[0].lines[1]), exact=True).click()
    expect(found.last).to_have_attribute("data-result", "holds")
    expect(found.last).to_contain_text("What the layer makes: relative difference 0")

    # the controls of the layer
    panel = shapes.controls("Mask")
    panel.get_by_role("radio", name="window", exact=True).click()
    shapes.shows("how are we", mask="window:3")
    panel.get_by_role("spinbutton").fill("2")
    shapes.shows("how are we", mask="window:2")
    shapes.wait_for_query(mask="window", w="2")
    expect(shapes.control("Mask").locator(".now")).to_have_text("mask: window 2")
    shapes.controls("Heads off").get_by_role("button", name="layer 0 head 2").click()
    shapes.controls("Softmax temperature").get_by_role("slider").press("ArrowRight")
    shapes.shows("how are we", mask="window:2", heads_off=((0, 2),), temperature=1.1)
    weights = shapes.controls("Weights of this layer")
    weights.get_by_role("button", name="random", exact=True).click()
    expect(shapes.label).to_contain_text("random weights (seed 0), all biases")
    weights.get_by_role("button", name="none", exact=True).click()
    weights.get_by_role("spinbutton", name="Seed of the draws").fill("3")
    expect(shapes.label).to_contain_text("layer 3, random weights (seed 3), no biases")
    expect(weights).to_contain_text("589,824 parameters")
    shapes.wait_for_query(lw="random", biases="none", dice="3")
    weights.get_by_role("button", name="done").click()
    expect(shapes.control("Weights")).to_be_focused()
    shapes.choose("Implementation", "torch")
    expect(shapes.view).to_have_attribute("data-shown", "torch")
    expect(shapes.control("Softmax temperature")).to_have_attribute("data-idle", "")
    panel = shapes.controls("Softmax temperature")
    expect(panel).to_contain_text("torch cannot divide by a temperature.")
    assert panel.locator("[inert] input").count() == 1
    shapes.keys("Escape")
    shapes.view.get_by_text("The class, and every function that it calls: torch").click()
    expect(shapes.view.locator(".classes pre")).to_contain_text("class TorchAttention")


@pytest.mark.thorough("Answers are held back, and a page is opened before its script: steps are drawn without it.")
def test_what_is_here_is_not_requested_and_late_steps_replace_what_keeps_its_name(shapes: Shapes) -> None:
    # a step chosen on the first picture, before the script has heard anything
    holds_back(shapes, from_the_start=True)
    begins_with_its_picture(shapes, f"{shapes.url}/shapes?step=weights&at=3.1.10.2")
    shapes.drawn("weights")
    check_readout(shapes.readout(), "weights", (0, 1, 10, 2))
    early = place_of(shapes.side())
    shapes.option("mixed").click()
    expect(shapes.side().locator(".plane .readout")).to_be_visible()
    shapes.drawn("mixed")
    say(shapes)
    shapes.page.wait_for_selector("#headlight-early", state="detached")
    shapes.settled("mixed")
    check_readout(shapes.readout(), "mixed", (0, 1, 10, 0))
    shapes.page.wait_for_url("**step=mixed**")
    shapes.to_step("weights")
    stands = place_of(shapes.side())
    assert max(abs(one - other) for one, other in zip(early[:3], stands[:3], strict=True)) <= 1, "nothing jumped"
    shapes.forget_scripts()

    # what is here is not requested
    shapes.open(step="x")
    requested: list[str] = []
    shapes.page.on("request", lambda request: requested.append(request.url) if "/api/steps" in request.url else None)
    for name in listed(steps_of("efficient"))[1:4]:
        shapes.button("next ▶").click()
        shapes.drawn(name)
    shapes.head(5).click()
    shapes.option("weights").click()
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
