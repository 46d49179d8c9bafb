"""What Shapes says of a step: its code without the lines that record, its strides, and the question that it answers."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from .measures import PHONE
from .shapes_page import Shapes, step_of


def test_a_step_and_the_question_that_it_answers(shapes: Shapes) -> None:
    shapes.open(step="q.transpose", at="3.1.10", f="0")
    a_stride_is_lit_and_lines_that_only_record_are_a_dot_that_says_what_it_folds(shapes)
    a_lesson_opens_beside_its_step_and_goes_back(shapes, wide=True)
    the_projector_shows_the_memory_whole(shapes)
    shapes.page.set_viewport_size(PHONE["viewport"])
    a_lesson_opens_beside_its_step_and_goes_back(shapes, wide=False)
    shapes.page.set_viewport_size({"width": 1440, "height": 900})
    the_question_at_a_step_opens_its_lesson(shapes)


def a_stride_is_lit_and_lines_that_only_record_are_a_dot_that_says_what_it_folds(shapes: Shapes) -> None:
    strides, said = shapes.side().locator(".strides button"), shapes.side().locator(".jumped")
    batch, head, query, feature = step_of("efficient", "q.transpose").value.stride()
    assert strides.all_inner_texts() == [f"batch {batch:,}", f"heads {head}", f"queries {query}", f"features {feature}"]
    memory = shapes.side().locator(".made > .pictures").last.locator(".memory canvas")
    pixels = "canvas => canvas.toDataURL()"
    at_rest, words = memory.evaluate(pixels), said.inner_text()
    place = head + 10 * query
    strides.nth(1).focus()
    expect(said).to_have_text(
        f"From head 1 to head 2 memory jumps {head} places: from place {place:,} to {place + head:,}."
    )
    lit = memory.evaluate(pixels)
    assert lit != at_rest
    strides.nth(2).hover()
    expect(said).to_contain_text(f"From query 10 to query 11 memory jumps {query} places")
    assert memory.evaluate(pixels) not in (lit, at_rest)
    shapes.page.mouse.move(5, 5)
    expect(said).to_contain_text("From head 1 to head 2")
    assert memory.evaluate(pixels) == lit, "what has the focus is lit again"
    strides.nth(0).hover()
    expect(said).to_have_text(f"There is only one text here; the next would lie {batch:,} places on.")
    shapes.lines.focus()
    shapes.page.mouse.move(5, 5)
    expect(said).to_have_text(words)
    assert memory.evaluate(pixels) == at_rest

    code = shapes.side().locator(".code")
    assert "trace(" not in code.inner_text()
    expect(code.get_by_text("turned = viewed.transpose(1, 2)")).to_be_visible()
    assert shapes.says()["shapes"] == ["  # (1, 12, 15, 32)"]
    folded = code.locator(".folded")
    assert folded.all_inner_texts() == ["·"] * 3
    assert 'trace(f"{name}.transpose"' in (folded.last.get_attribute("title") or "")
    shapes.side().get_by_role("button", name="3 that only record").click()
    expect(code.locator("li")).to_have_count(10)
    assert code.inner_text().count("trace(") == 3


def a_lesson_opens_beside_its_step_and_goes_back(shapes: Shapes, *, wide: bool) -> None:
    shapes.option("q.transpose").click()
    shapes.settled("q.transpose")
    question = shapes.side().locator(".learn")
    expect(question).to_have_attribute("aria-expanded", "false")
    at_rest = shapes.lesson.bounding_box()
    question.click()
    expect(question).to_have_attribute("aria-expanded", "true")
    shapes.settled("q.transpose")
    maps = shapes.lesson.locator(".matrix")
    expect(maps.first).to_be_in_viewport(ratio=0.9)
    if wide:
        expect(maps.last).to_be_in_viewport(ratio=0.9)
    why, lesson, code = (
        shapes.box_on_screen(place)
        for place in (shapes.side().locator(".why"), shapes.lesson, shapes.side().locator(".source"))
    )
    assert why["y"] + why["height"] <= lesson["y"]
    assert lesson["y"] + lesson["height"] <= code["y"], "nothing is covered"
    assert abs(lesson["width"] - why["width"]) <= 2
    shapes.option("k.transpose").click()  # it asks the same
    shapes.settled("k.transpose")
    expect(question).to_have_attribute("aria-expanded", "true")
    shapes.option("x").click()
    shapes.settled("x")
    assert shapes.box_on_screen(shapes.lesson)["y"] > shapes.box_on_screen(shapes.side().locator(".plane"))["y"]
    shapes.option("q.transpose").click()
    shapes.settled("q.transpose")
    expect(question).to_have_attribute("aria-expanded", "false")
    question.click()
    question.click()
    expect(question).to_have_attribute("aria-expanded", "false")
    at_end = shapes.lesson.bounding_box()
    assert at_rest
    assert at_end
    assert at_end["width"] == at_rest["width"]


def the_projector_shows_the_memory_whole(shapes: Shapes) -> None:
    shapes.page.set_viewport_size({"width": 1280, "height": 720})
    for step in ("q.transpose", "weights"):
        shapes.option(step).click()
        shapes.settled(step)
        shapes.page.keyboard.press("p")
        shapes.wait_for_query(big="true")
        expect(shapes.view).to_have_class(re.compile(r"\bprojector\b"))
        canvases = shapes.side().locator(".made .memory canvas")
        assert canvases.count()
        for memory in canvases.all():
            box = shapes.box_on_screen(memory)
            assert box["y"] + box["height"] <= 720
        shapes.page.keyboard.press("p")
        shapes.wait_for_query(big=None)


def the_question_at_a_step_opens_its_lesson(shapes: Shapes) -> None:
    shapes.option("weights").click()
    shapes.settled("weights")
    shapes.side().get_by_role("button", name="? What if softmax takes another axis?").click()
    expect(shapes.lesson_button("wrong axis")).to_have_attribute("aria-pressed", "true")
    expect(shapes.lesson).to_be_in_viewport()
    shapes.page.wait_for_url("**lesson=wrong+axis**")
    shapes.settled("weights")
    assert shapes.lesson.evaluate("place => place.getRootNode().activeElement === place"), "the next key goes on there"
