"""By hand in a browser: cells edited by mouse and keyboard, invalid text, other examples, a link opened once more."""

from __future__ import annotations

import pytest
import torch
from playwright.sync_api import WebSocketRoute, expect

from headlight.link.presets import PRESETS
from tests.closeness import quoted

from .expected import core
from .form_pages import ByHand


def softmax_row(*scores: float) -> list[str]:
    return [f"{weight:.4f}" for weight in torch.tensor(scores, dtype=torch.float64).softmax(-1).tolist()]


def test_a_score_edited_by_keyboard_and_a_mask_set_by_mouse_change_the_weights(by_hand: ByHand) -> None:
    by_hand.open()
    assert by_hand.matrix("out") == [["2.0630", "2.1630"], ["2.1523", "2.2523"], ["2.0020", "2.1020"]]
    by_hand.cell("scores", "how", "how").focus()
    by_hand.keys("ArrowRight")
    assert by_hand.focused() == "scores, row how, column are"
    by_hand.page.keyboard.type("0.9")
    by_hand.keys("Tab")
    by_hand.wait_for("weights", 0, softmax_row(0.5, 0.9, 0.4))
    assert by_hand.focused() == "scores, row how, column you"
    by_hand.wait_for_query(m="s_0.5_0.9_0.4_0.1_0.8_0.3_0.4_0.3_0.1")

    # a text that is no number is marked, and the number before is still used
    cell, reason, before = (
        by_hand.cell("scores", "are", "are"),
        by_hand.view.locator(".reasons p"),
        by_hand.matrix("out"),
    )
    by_hand.enter(cell, "<b>1</b>")
    expect(cell).to_have_attribute("aria-invalid", "true")
    expect(reason).to_contain_text("0.8 is still used")
    assert cell.get_attribute("aria-describedby") == reason.locator("..").get_attribute("id")
    assert by_hand.matrix("out") == before
    by_hand.button("Reset the numbers").click()
    by_hand.wait_for("scores", 0, ["0.5", "0.1", "0.4"])
    by_hand.settled()
    assert "m" not in by_hand.query

    # a mask, by mouse and by keyboard
    by_hand.cell("allow", "how", "how").click()
    by_hand.wait_for("weights", 0, ["0.0000", *softmax_row(0.1, 0.4)])
    assert "Row 0 “how” may not attend to itself" in by_hand.texts()
    by_hand.keys(*["ArrowRight", "Space"] * 2)
    by_hand.wait_for("weights", 0, ["0.0000", "0.0000", "0.0000"])
    assert "Row 0 “how” may attend to no key" in by_hand.texts()
    expect(by_hand.button("no key for row 0")).to_have_attribute("aria-pressed", "true")
    by_hand.button("causal").click()
    by_hand.wait_for("weights", 0, ["1.0000", "0.0000", "0.0000"])
    by_hand.wait_for_query(m="a_1_0_0_1_1_0_1_1_1")
    by_hand.page.go_back()  # one act is undone, and done again
    by_hand.wait_for("weights", 0, ["0.0000", "0.0000", "0.0000"])
    by_hand.page.go_forward()
    by_hand.wait_for("weights", 0, ["1.0000", "0.0000", "0.0000"])
    by_hand.wait_for_query(m="a_1_0_0_1_1_0_1_1_1")
    shown = by_hand.matrix("weights")
    assert by_hand.visit(by_hand.page.url).matrix("weights") == shown


@pytest.mark.thorough("A long walk through the examples and a cell of the model.")
def test_the_examples_and_a_real_cell(by_hand: ByHand) -> None:
    by_hand.open()
    # controls that an example hides stay in the link, also over another page
    by_hand.open(ex="a real cell", s="how are you", mask="causal")
    by_hand.example("one head")
    by_hand.wait_for_query(ex=None)
    assert by_hand.query == {"s": ["how are you"], "mask": ["causal"]}
    expect(by_hand.page.get_by_role("textbox", name="Sentence", exact=True)).to_be_hidden()

    # two sentences with words that are code; two heads; its link shows the same
    by_hand.example("two sentences")
    by_hand.enter(by_hand.page.get_by_role("textbox", name="Words of the queries"), "<b>how</b> can")
    expect(by_hand.cell("x", "<b>how</b>", "0")).to_have_value("4.1")
    assert [len(row) for row in by_hand.matrix("weights")] == [2, 2]
    by_hand.example("two heads")
    by_hand.button("÷ 1,000").click()
    by_hand.enter(by_hand.cell("Wq", "0", "0"), "-2.5")
    by_hand.settled()
    by_hand.button("scores ÷ √2").click()
    by_hand.wait_for_query(sqrt="true")
    by_hand.settled()
    names = ("x", "Wq", "scores", "weights", "out")
    shown = [by_hand.matrix(name) for name in names]
    by_hand.visit(by_hand.page.url)
    assert [by_hand.matrix(name) for name in names] == shown
    assert by_hand.cell("Wq", "0", "0").input_value() == "-2.5"

    # a cell of the model is chosen and taken apart
    by_hand.open(ex="a real cell")
    by_hand.page.locator("summary", has_text="All the numbers").click()
    value = by_hand.page.locator(".st-key-details tr.focus td").first
    before = value.inner_text()
    expect(by_hand.view.get_by_role("heading", name="Layer 3 head 1: it → animal")).to_be_visible()
    for name in ("layer 0", "head 2"):
        by_hand.page.get_by_role("button", name=name, exact=True).click()
    heights = "(cells) => [...new Set(cells.map((cell) => cell.getBoundingClientRect().height))]"
    assert len(by_hand.view.locator(".matrix.compact td button").evaluate_all(heights)) == 1, "empty cells too"
    by_hand.cell("weights", "'", "didn").click()
    expect(by_hand.view.get_by_role("heading", name="Layer 0 head 2: ' → didn")).to_be_visible()
    by_hand.wait_for_query(at="0.2.4.3")
    expect(value).not_to_have_text(before)  # the script's table has followed
    quoted(float(core().run(PRESETS[0]).weights[0, 2, 4, 3]), value.inner_text()[:6])


def test_clicks_before_the_answers_to_earlier_ones_all_count(by_hand: ByHand) -> None:
    sockets, late, messages = list[WebSocketRoute](), list[str | bytes](), list[int]()
    is_late = False

    def connect(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        server = socket.connect_to_server()
        server.on_message(lambda message: late.append(message) if is_late else socket.send(message))

    by_hand.page.route_web_socket("**/_stcore/stream", connect)
    page = by_hand.open(ex="a real cell").page
    is_late = True  # so that the address lacks what the clicks before have chosen
    for click in (
        page.get_by_role("button", name="layer 0", exact=True),
        page.get_by_role("button", name="head 2", exact=True),
        by_hand.cell("weights", "'", "didn"),
    ):
        messages.append(len(late))
        click.click()
        by_hand.until(lambda: len(late) > messages[-1], "an answer")
    is_late = False
    for message in late:
        sockets[-1].send(message)
    by_hand.wait_for_query(at="0.2.4.3")


def test_sentence_and_controls_of_a_real_cell_are_those_of_maps_and_back_undoes_each(by_hand: ByHand) -> None:
    page = by_hand.open(ex="a real cell").page
    page.get_by_role("button", name="Mask: no mask").press("Enter")
    page.get_by_role("radio", name="no mask").press("ArrowRight")
    by_hand.wait_for_query(mask="causal")
    page.get_by_role("button", name="Positional encoding: as trained").click()
    page.get_by_role("radio", name="no positional encoding").check(force=True)
    by_hand.wait_for_query(mask="causal", pos="none")
    page.get_by_role("button", name="head 2", exact=True).click()
    by_hand.wait_for_query(at="3.2")
    by_hand.box.fill("how are you")
    by_hand.box.press("Enter")
    by_hand.wait_for_query(s="how are you", mask="causal", pos="none")
    run = core().run("how are you", mask="causal", position="none")
    by_hand.until(lambda: len(by_hand.matrix("weights")) == len(run.tokens), "the map is that of the sentence")
    for values in (
        {"s": None, "at": "3.2"},
        {"at": None, "pos": "none"},
        {"pos": None, "mask": "causal"},
        {"mask": None},
    ):
        by_hand.settled()
        page.go_back()
        by_hand.wait_for_query(**values)
    expect(by_hand.box).to_have_value(PRESETS[0])
    expect(page.get_by_role("button", name="Mask: no mask")).to_be_visible()
