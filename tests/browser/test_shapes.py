"""Shapes in a browser: every step by mouse and keyboard, two implementations side by side, any number, its lesson."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Route, expect

from pages.kit.picture.settings import Settings
from pages.shapes import exercise
from pages.shapes.own_lines import GAPS, last_line
from pages.shapes.reshape_lessons import LESSONS

from .expected import TIRED, WIDE
from .held import begins_with_its_picture, hold, holds_back, say
from .measures import PHONE
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


@pytest.mark.thorough("A walk over every step of an implementation, playing them, tiles of heads, masks and memory.")
def test_every_step_its_heads_its_memory_and_its_code(shapes: Shapes) -> None:
    shapes.run_first(f"({BEATS})()")
    shapes.open(step="q.transpose", at="3.1.10", f="0", vs="sequence_first")
    # two implementations: another beside it, then one of heads that are steps of their own
    assert (shapes.says(0)["facts"]["shape"], shapes.says(1)["facts"]["shape"]) == (
        "(1, 12, 15, 32)",
        "(15, 1, 12, 32)",
    )
    assert read(shapes.readout(0))["token"] == read(shapes.readout(1))["token"] == "it"
    shapes.choose("Implementation", "einsum")
    expect(shapes.view).to_have_attribute("data-shown", "einsum sequence_first")
    shapes.to_step("scores")
    check_side(shapes.says(0), "einsum", step_of("einsum", "scores"))
    check_side(shapes.says(1), "sequence_first", step_of("sequence_first", "scores"))
    shapes.choose("Beside it", "none")
    expect(shapes.side(1)).to_be_hidden()
    shapes.choose("Implementation", "naive")
    expect(shapes.view).to_have_attribute("data-shown", "naive")
    shapes.to_step("scores.head1")
    shapes.head(5).click()
    shapes.settled("scores.head5")
    check_side(shapes.says(), "naive", step_of("naive", "scores.head5"))
    assert shapes.lines.locator("b").all_text_contents() == listed(steps_of("naive"), 5)
    shapes.head(1).click()
    shapes.settled("scores.head1")

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

    # a head by its tile; the number in other steps, and in the table
    across = {"q.transpose": 6, "q.view": 12, "q.project": 12, "weights": 6, "joined": 12}  # heads
    for head, step in zip((4, 11, 0, 9, 2), across, strict=True):
        shapes.option(step).click()
        shapes.drawn(step)
        shapes.click_tile(head, across[step])
        expect(shapes.head(head)).to_have_attribute("aria-pressed", "true")
        shapes.settled(step)
        assert f"at=3.{head}" in shapes.page.url
    shapes.option("q.transpose").click()
    shapes.head(1).click()
    shapes.click_cell(14, 31)
    shapes.settled("q.transpose")
    shapes.view.locator(".plane summary").first.click()
    row = shapes.view.locator(".plane").first.locator("tbody tr").nth(14)
    expect(row.locator("th")).to_have_text("14 [SEP]")
    value = read(shapes.readout())["value"]
    assert f"{value:.2g}" == f"{float(row.locator('td').nth(31).inner_text().replace('−', '-')):.2g}"
    shapes.view.locator(".plane summary").first.click()
    for step, cell in (("q.view", (0, 14, 1, 31)), ("q.project", (0, 14, 63)), ("out", (0, 14, 63))):
        shapes.to_step(step)
        check_readout(shapes.readout(), step, cell)
    shapes.to_step("weights")
    shapes.click_cell(10, 2)
    shapes.settled()
    assert "key “animal”" in shapes.readout()
    shapes.side().locator(".plane .cell").focus()
    shapes.keys(*["ArrowUp", "ArrowLeft"] * 11)  # there is no way on from the first
    check_readout(shapes.readout(), "weights", (0, 1, 0, 0))
    shapes.to_step("mixed.contiguous")
    assert shapes.says()["said"].startswith("No value changed")
    expect(shapes.view.locator(".aloud")).to_contain_text("Written in reading order, shape 1, 15, 12, 32.")

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

    # lines that only record are folded
    code = shapes.side().locator(".code")
    assert "trace(" not in code.inner_text()
    assert shapes.says()["shapes"] == ["  # (1, 12, 15, 32)"]
    folded = code.locator(".folded")
    assert folded.all_inner_texts() == ["·"] * 3
    assert 'trace(f"{name}.transpose"' in (folded.last.get_attribute("title") or "")
    shapes.side().get_by_role("button", name="3 that only record").click()
    expect(code.locator("li")).to_have_count(10)
    assert code.inner_text().count("trace(") == 3


@pytest.mark.thorough("A walk over lessons at their step, at a desk, in the projector and on a phone, and their link.")
def test_a_lesson_opens_at_its_step_and_a_link_opens_all_of_it_once_more(shapes: Shapes) -> None:
    shapes.open(step="q.transpose", at="3.1.10", f="0")
    a_lesson_opens_beside_its_step_and_goes_back(shapes, wide=True)
    # the projector shows the memory whole
    shapes.page.set_viewport_size({"width": 1280, "height": 720})
    for step in ("q.transpose", "weights"):
        shapes.to_step(step)
        shapes.keys("p")
        expect(shapes.view).to_have_class(re.compile(r"\bprojector\b"))
        canvases = shapes.side().locator(".made .memory canvas")
        assert canvases.count()
        assert all(place_of(memory).bottom <= 720 for memory in canvases.all())
        shapes.keys("p")
        shapes.wait_for_query(big=None)
    shapes.page.set_viewport_size(PHONE["viewport"])
    a_lesson_opens_beside_its_step_and_goes_back(shapes, wide=False)
    shapes.page.set_viewport_size({"width": 1440, "height": 900})

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


def a_lesson_opens_beside_its_step_and_goes_back(shapes: Shapes, *, wide: bool) -> None:
    shapes.to_step("q.transpose")
    question = shapes.side().locator(".learn")
    expect(question).to_have_attribute("aria-expanded", "false")
    at_rest = place_of(shapes.lesson)
    question.click()
    expect(question).to_have_attribute("aria-expanded", "true")
    shapes.settled("q.transpose")
    maps = shapes.lesson.locator(".matrix")
    for map_ in (maps.first, maps.last) if wide else (maps.first,):
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
    none = weights.get_by_role("button", name="none", exact=True)
    answers: list[Route] = []
    shapes.page.route("**/api/steps?*", lambda route: answers.append(route))
    weights.get_by_role("button", name="random", exact=True).click()
    shapes.until(lambda: bool(answers), "random weights are asked for")
    expect(none).to_be_visible()
    before = place_of(none)
    for answer in answers:
        answer.continue_()
    shapes.page.unroute("**/api/steps?*")
    expect(shapes.label).to_contain_text("random weights (seed 0), all biases")
    assert place_of(none) == before, "nothing moves under the pointer when the answer comes"
    none.click()
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
    holds_back(shapes)
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

    # keys, layers and steps are drawn without the script
    hold(shapes)
    shapes.box.click()
    shapes.keys("End")
    text = TIRED
    for key in " now":
        shapes.page.keyboard.type(key)
        text += key
        expect(shapes.view).to_have_attribute("data-digest", Settings(text).digest)
        expect(shapes.box).to_be_focused()
    shapes.layer(2).click()
    expect(shapes.label).to_contain_text("layer 2")
    shapes.option("mixed").click()
    shapes.drawn("mixed")
    check_side(shapes.says(), "efficient", step_of("efficient", "mixed", 2, Settings(text)))
    shapes.wait_for_query(s=text)
    shapes.forget_scripts()

    # fast steps through a long text, whose numbers come when a step is chosen, request few
    text = " ".join(["the", "cat", "ran", "a", "far", "way", "it", "was", "so", "we"] * 25)
    shapes.open(s=text, step="x", at="3.4.200")
    requested.clear()
    shapes.lines.focus()
    shapes.keys(*["ArrowDown"] * 11)
    last = listed(steps_of("efficient"))[11]
    shapes.settled(last)
    expect(shapes.side().locator(".plane .readout")).to_be_visible()
    assert 1 <= len(requested) < 11
    for name in (last, "q.transpose", "out"):
        shapes.to_step(name)
        expect(shapes.side().locator(".plane .readout")).to_be_visible()
        check_readout(shapes.readout(), name, read(shapes.readout())["index"], settings=Settings(text))
        check_side(shapes.says(), "efficient", step_of("efficient", name, 3, Settings(text)))
    assert read(shapes.readout())["index"] == (0, 200, 128)
