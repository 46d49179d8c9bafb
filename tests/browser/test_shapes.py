"""Shapes in the browser: every step by mouse and by keyboard, two spellings side by side, any number read alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, expect

from pages.kit.picture.settings import Settings
from pages.shapes import exercise
from pages.shapes.own_lines import GAPS, last_line

from .expected import TIRED
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


def test_steps_heads_and_cells_by_mouse_and_keyboard(shapes: Shapes) -> None:
    shapes.run_first(f"({BEATS})()")
    shapes.open(step="x")
    steps_by_mouse_of_two_implementations_side_by_side_and_of_one_head(shapes)
    play_advances_and_pause_stops(shapes)
    a_head_by_its_button_and_by_its_tile_and_a_cell_by_mouse(shapes)
    a_cell_by_the_arrow_keys(shapes)
    all_steps_by_keyboard(shapes)
    what_a_mask_forbids_is_no_number(shapes)


def steps_by_mouse_of_two_implementations_side_by_side_and_of_one_head(shapes: Shapes) -> None:
    first, second, *_, last = steps_of("efficient")
    back, on = shapes.button("◀ back"), shapes.button("next ▶")
    shapes.drawn(first.name)
    expect(back).to_be_disabled()
    on.click()
    shapes.drawn(second.name)
    check_side(shapes.says(), "efficient", second)
    assert shapes.chosen() == ["2", second.name]
    back.click()
    shapes.settled(first.name)
    shapes.to_step(last.name)
    expect(on).to_be_disabled()

    shapes.lines.get_by_role("option").filter(has_text="mixed.contiguous").click()
    shapes.settled("mixed.contiguous")
    check_side(shapes.says(), "efficient", step_of("efficient", "mixed.contiguous"))
    assert shapes.says()["said"].startswith("No value changed")
    expect(shapes.view.locator(".aloud")).to_contain_text("Written in reading order, shape 1, 15, 12, 32.")

    shapes.to_step("q.transpose")
    shapes.choose("Beside it", "sequence_first")
    expect(shapes.view).to_have_attribute("data-shown", "efficient sequence_first")
    shapes.settled("q.transpose")
    check_side(shapes.says(0), "efficient", step_of("efficient", "q.transpose"))
    check_side(shapes.says(1), "sequence_first", step_of("sequence_first", "q"))
    assert (shapes.says(0)["facts"]["shape"], shapes.says(1)["facts"]["shape"]) == (
        "(1, 12, 15, 32)",
        "(15, 1, 12, 32)",
    )
    check_readout(shapes.readout(0), "q.transpose", (0, 1, 10, 0))
    check_readout(shapes.readout(1), "q", (10, 0, 1, 0), implementation="sequence_first")
    assert read(shapes.readout(0))["token"] == read(shapes.readout(1))["token"] == "it"
    assert read(shapes.readout(0))["value"] == pytest.approx(read(shapes.readout(1))["value"], abs=1e-3)
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
    check_side(shapes.says(), "naive", step_of("naive", "scores.head1"))
    shapes.head(5).click()
    shapes.settled("scores.head5")
    check_side(shapes.says(), "naive", step_of("naive", "scores.head5"))
    assert shapes.lines.locator("b").all_text_contents() == listed(steps_of("naive"), 5)
    shapes.button("next ▶").click()
    shapes.settled("weights.head5")


def play_advances_and_pause_stops(shapes: Shapes) -> None:
    shapes.choose("Implementation", "efficient")
    expect(shapes.view).to_have_attribute("data-shown", "efficient")
    shapes.option("joined").click()
    shapes.drawn("joined")
    beat = "() => window.beat()"
    shapes.button("play").click()
    expect(shapes.button("pause")).to_have_attribute("aria-pressed", "true")
    assert shapes.page.evaluate(beat) == 1
    shapes.drawn("out")
    shapes.button("pause").click()
    assert shapes.page.evaluate(beat) == 0, "nothing runs any more"
    shapes.settled("out")
    shapes.button("play").click()  # at the end it begins anew
    shapes.drawn("x")
    for name in listed(steps_of("efficient"))[1:4]:
        assert shapes.page.evaluate(beat) == 1
        shapes.drawn(name)
    shapes.option("joined").click()
    shapes.drawn("joined")
    assert shapes.page.evaluate(beat) == 1
    shapes.drawn("out")
    assert shapes.page.evaluate(beat) == 1
    expect(shapes.button("play")).to_have_attribute("aria-pressed", "false")
    assert shapes.page.evaluate(beat) == 0, "after the last step it ends by itself"
    shapes.settled("out")


def a_head_by_its_button_and_by_its_tile_and_a_cell_by_mouse(shapes: Shapes) -> None:
    shapes.option("q.transpose").click()
    shapes.drawn("q.transpose")
    shapes.clicked(shapes.head(7))
    expect(shapes.head(7)).to_have_attribute("aria-pressed", "true")
    check_readout(shapes.readout(), "q.transpose", (0, 7, 10, 0))
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
    shapes.settled("q.transpose")
    check_readout(shapes.hover(2, 17), "q.transpose", (0, 1, 2, 17))
    shapes.page.mouse.move(5, 5)
    check_readout(shapes.readout(), "q.transpose", (0, 1, 10, 0))
    shapes.click_cell(14, 31)
    shapes.settled()
    check_readout(shapes.readout(), "q.transpose", (0, 1, 14, 31))
    shapes.page.wait_for_url("**at=3.1.14&f=31**")
    shapes.view.locator(".plane summary").first.click()
    row = shapes.view.locator(".plane").first.locator("tbody tr").nth(14)
    expect(row.locator("th")).to_have_text("14 [SEP]")
    value = float(row.locator("td").nth(31).inner_text().replace("−", "-"))
    assert value == pytest.approx(read(shapes.readout())["value"], rel=1e-3)
    shapes.view.locator(".plane summary").first.click()
    for step, cell in (
        ("q.view", (0, 14, 1, 31)),
        ("q.project", (0, 14, 63)),
        ("k", (0, 1, 14, 31)),
        ("out", (0, 14, 63)),
    ):
        shapes.to_step(step)
        check_readout(shapes.readout(), step, cell)
    shapes.to_step("weights")
    shapes.click_cell(10, 2)
    shapes.settled()
    check_readout(shapes.readout(), "weights", (0, 1, 10, 2))
    assert "key “animal”" in shapes.readout()


def a_cell_by_the_arrow_keys(shapes: Shapes) -> None:
    cell = shapes.side().locator(".plane .cell")
    expect(cell).to_have_attribute("aria-colindex", "3")
    expect(cell.locator("..")).to_have_attribute("aria-rowindex", "11")
    cell.focus()
    press = shapes.keys
    for key, row, column in (
        ("ArrowRight", 10, 3), ("ArrowUp", 9, 3), ("ArrowLeft", 9, 2), ("ArrowDown", 10, 2), ("ArrowDown", 11, 2),
    ):  # fmt: skip
        press(key)
        expect(cell).to_have_attribute("aria-colindex", str(column + 1))
        expect(cell.locator("..")).to_have_attribute("aria-rowindex", str(row + 1))
        check_readout(shapes.readout(), "weights", (0, 1, row, column))
        assert cell.get_attribute("aria-label") == shapes.readout()
    expect(cell).to_be_focused()
    press(*["ArrowUp", "ArrowLeft"] * 20)
    expect(cell).to_have_attribute("aria-colindex", "1")
    check_readout(shapes.readout(), "weights", (0, 1, 0, 0))
    shapes.settled()
    assert "at=3.1.0.0" in shapes.page.url


def all_steps_by_keyboard(shapes: Shapes) -> None:
    shapes.choose("Implementation", "sequence_first")
    expect(shapes.view).to_have_attribute("data-shown", "sequence_first")
    shapes.clicked(shapes.controls("Mask").get_by_role("radio", name="causal", exact=True), mask="causal")
    shapes.keys("Escape")
    shapes.option("x").click()
    made = {step.name: step for step in steps_of("sequence_first", settings=Settings(TIRED, "causal"))}
    steps = [made[name] for name in listed(tuple(made.values()))]
    press = shapes.keys
    shapes.lines.focus()
    for number, step in enumerate(steps):
        shapes.drawn(step.name)
        check_side(shapes.says(), "sequence_first", step)
        expect(shapes.view.locator(".count")).to_have_text(f"step {number + 1} of {len(steps)}")
        assert shapes.chosen() == [str(number + 1), step.name]
        expect(shapes.lines).to_have_attribute("aria-activedescendant", f"step-{number}")
        press("ArrowDown")
    shapes.drawn("out")
    press("Home")
    shapes.drawn("x")
    press("ArrowUp")
    shapes.drawn("x")
    press("End")
    shapes.drawn("out")
    press("ArrowUp")
    shapes.drawn("out.project")
    shapes.settled("out.project")
    expect(shapes.lines).to_be_focused()
    shapes.page.wait_for_url("**step=out.project**")


def what_a_mask_forbids_is_no_number(shapes: Shapes) -> None:
    shapes.to_step("masked")
    shapes.click_cell(2, 9)
    assert ": −∞: not allowed · [2, 9, 0, 1] lies at place " in shapes.readout()  # of this layout
    assert "NaN" not in shapes.page.locator("body").inner_text()


def test_what_cannot_be_used_is_said_and_the_controls_of_the_layer(shapes: Shapes) -> None:
    what_cannot_be_used_is_said_and_leaves_the_address(shapes)
    attention_is_written_line_by_line(shapes)
    the_controls_of_the_layer(shapes)


def what_cannot_be_used_is_said_and_leaves_the_address(shapes: Shapes) -> None:
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


def attention_is_written_line_by_line(shapes: Shapes) -> None:
    shapes.box.fill("how are you")
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


def the_controls_of_the_layer(shapes: Shapes) -> None:
    panel = shapes.controls("Mask")
    panel.get_by_role("radio", name="window", exact=True).click()
    shapes.shows("how are you", mask="window:3")
    panel.get_by_role("spinbutton").fill("2")
    shapes.shows("how are you", mask="window:2")
    shapes.wait_for_query(mask="window", w="2")
    expect(shapes.control("Mask").locator(".now")).to_have_text("mask: window 2")
    shapes.clicked(
        shapes.controls("Heads off").get_by_role("button", name="layer 0 head 2"),
        "how are you",
        mask="window:2",
        heads_off=((0, 2),),
    )
    shapes.controls("Softmax temperature").get_by_role("slider").press("ArrowRight")
    shapes.shows("how are you", mask="window:2", heads_off=((0, 2),), temperature=1.1)

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
    fold = shapes.view.get_by_text("The class, and every function that it calls: torch")
    fold.click()
    expect(shapes.view.locator(".classes pre")).to_contain_text("class TorchAttention")
