"""What Shapes says of a step: its code without the lines that record, its strides, and the question that it answers."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from pages.kit.picture.settings import Settings
from pages.shapes.reshape_lessons import LESSONS

from .expected import WIDE
from .measures import PHONE
from .shapes_page import Shapes, check_side, read, step_of
from .tab import place_of


def test_a_step_and_the_question_that_it_answers(shapes: Shapes) -> None:
    shapes.open(step="q.transpose", at="3.1.10", f="0")
    a_stride_is_lit_and_lines_that_only_record_are_a_dot_that_says_what_it_folds(shapes)
    a_lesson_opens_beside_its_step_and_goes_back(shapes, wide=True)
    the_projector_shows_the_memory_whole(shapes)
    shapes.page.set_viewport_size(PHONE["viewport"])
    a_lesson_opens_beside_its_step_and_goes_back(shapes, wide=False)
    shapes.page.set_viewport_size({"width": 1440, "height": 900})
    the_question_at_a_step_opens_its_lesson(shapes)
    a_link_opens_the_same_once_more(shapes)


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
    shapes.to_step("q.transpose")
    question = shapes.side().locator(".learn")
    expect(question).to_have_attribute("aria-expanded", "false")
    at_rest = place_of(shapes.lesson)
    question.click()
    expect(question).to_have_attribute("aria-expanded", "true")
    shapes.settled("q.transpose")
    maps = shapes.lesson.locator(".matrix")
    expect(maps.first).to_be_in_viewport(ratio=0.9)
    if wide:
        expect(maps.last).to_be_in_viewport(ratio=0.9)
    why, lesson = place_of(shapes.side().locator(".why")), place_of(shapes.lesson)
    assert why.bottom <= lesson.y
    assert lesson.bottom <= place_of(shapes.side().locator(".source")).y, "nothing is covered"
    assert abs(lesson.width - why.width) <= 2
    shapes.to_step("k.transpose")  # it asks the same
    expect(question).to_have_attribute("aria-expanded", "true")
    shapes.to_step("x")
    assert place_of(shapes.lesson).y > place_of(shapes.side().locator(".plane")).y
    shapes.to_step("q.transpose")
    expect(question).to_have_attribute("aria-expanded", "false")
    question.click()
    question.click()
    expect(question).to_have_attribute("aria-expanded", "false")
    assert place_of(shapes.lesson).width == at_rest.width


def the_projector_shows_the_memory_whole(shapes: Shapes) -> None:
    shapes.page.set_viewport_size({"width": 1280, "height": 720})
    for step in ("q.transpose", "weights"):
        shapes.to_step(step)
        shapes.keys("p")
        shapes.wait_for_query(big="true")
        expect(shapes.view).to_have_class(re.compile(r"\bprojector\b"))
        canvases = shapes.side().locator(".made .memory canvas")
        assert canvases.count()
        for memory in canvases.all():
            assert place_of(memory).bottom <= 720
        shapes.keys("p")
        shapes.wait_for_query(big=None)


def the_question_at_a_step_opens_its_lesson(shapes: Shapes) -> None:
    shapes.to_step("weights")
    shapes.side().get_by_role("button", name="? What if softmax takes another axis?").click()
    expect(shapes.lesson_button("wrong axis")).to_have_attribute("aria-pressed", "true")
    expect(shapes.lesson).to_be_in_viewport()
    shapes.page.wait_for_url("**lesson=wrong+axis**")
    shapes.settled("weights")
    assert shapes.lesson.evaluate("place => place.getRootNode().activeElement === place"), "the next key goes on there"


def a_link_opens_the_same_once_more(shapes: Shapes) -> None:
    shapes.open()
    a_lesson_by_a_click(shapes)
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
    link, lesson = shapes.page.url, shapes.lesson.inner_text()
    said = [(shapes.says(number), shapes.readout(number)) for number in (0, 1)]
    chosen = shapes.chosen()
    shapes.visit(link).shows(WIDE)
    assert [(shapes.says(number), shapes.readout(number)) for number in (0, 1)] == said
    assert read(shapes.readout())["index"] == (0, 3, 4, 8)
    check_side(shapes.says(1), "naive", step_of("naive", "k", 5, Settings(WIDE)))
    assert shapes.chosen() == chosen
    expect(shapes.head(3)).to_have_attribute("aria-pressed", "true")
    expect(shapes.lesson_button("wrong axis")).to_have_attribute("aria-pressed", "true")
    expect(shapes.lesson).to_contain_text("head 3")
    assert shapes.lesson.inner_text() == lesson
    assert shapes.page.url == link
    assert shapes.notices() == []


def a_lesson_by_a_click(shapes: Shapes) -> None:
    for name in list(LESSONS)[-2:-1]:
        shapes.lesson_button(name).click()
        expect(shapes.lesson_button(name)).to_have_attribute("aria-pressed", "true")
        expect(shapes.lesson.locator("table").first).to_be_visible()
        shapes.settled()
    shapes.lesson_button("wrong axis").click()
    shapes.page.wait_for_url("**lesson=wrong+axis**")
    expect(shapes.lesson.get_by_text("Softmax over the wrong axis")).to_be_visible()
    right, wrong = (place_of(shapes.lesson.locator(".matrix").nth(n)) for n in (0, 1))
    assert right.y == wrong.y, "right and wrong stand side by side"
