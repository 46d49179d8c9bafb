"""A lesson on paper: printed by Chromium, its pages counted and its texts read."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

from playwright.sync_api import expect

from headlight.lessons.course import course

from .conftest import NewTab
from .tab import Tab

# How many rows of a canvas's pixels, one after another, are as white as a line between two rows of cells.
WHITE_BAND = """canvas => {
  const { width, height } = canvas;
  const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, width, height).data.buffer);
  const white = Array.from({ length: height }, (_, y) =>
    pixels.subarray(y * width, (y + 1) * width).filter((one) => one === 0xffffffff).length);
  const line = 0.98 * Math.max(...white);
  let [most, now] = [0, 0];
  for (const own of white) {
    now = own > line ? now + 1 : 0;
    most = Math.max(most, now);
  }
  return most;
}"""


def test_a_lesson_prints_questions_first_and_answers_on_a_page_of_their_own(new_tab: NewTab) -> None:
    tab = new_tab(Tab)
    page, lesson = tab.page, course().lessons["it"]
    votes = quote(json.dumps({1: [[1, 1, 0, 0], [0, 2, 0, 0]]}))  # of a room, as its host's page hands them on
    page.goto(f"{tab.url}/handout?lesson=it#{votes}")
    expect(page.locator("#handout")).not_to_have_attribute("aria-busy", "true")
    expect(page.get_by_role("heading", level=1).first).to_have_text(lesson.title)
    steps = page.locator(".step")
    expect(steps).to_have_count(len(lesson.steps))
    for at, step in enumerate(lesson.steps):
        expect(steps.nth(at)).to_contain_text(step.question)
        expect(steps.nth(at).locator("li")).to_have_text([f"{option.letter}{option.text}" for option in step.choices])
        expect(page.locator(".answer").nth(at)).to_contain_text(f"{at + 1} · {step.answer}: ")
    expect(page.locator(".votes tr")).to_have_text(["first votesecond vote", "A10", "B12", "C00", "D00"])
    # the rows that questions are of are drawn on no map of the sheet that has them
    for at in range(len(lesson.steps)):
        covered = steps.nth(at).get_by_role("img", name=re.compile("; covered: animal,it$")).first
        assert covered.evaluate(WHITE_BAND) >= 30
    assert page.evaluate("document.fonts.check('16px \\'Source Sans\\'') && document.fonts.size > 0"), "the app's font"
    for at, step in enumerate(lesson.steps):
        expect(page.locator(".answer").nth(at)).to_contain_text(step.explanation)
        expect(steps.nth(at)).to_contain_text("because it was too tired")  # the sentence
    assert tab.url not in page.locator("#handout").inner_text(), "no address of the server's own machine"

    page.emulate_media(media="print")
    expect(page.get_by_role("button", name="Print")).to_be_hidden()
    sizes = [page.pdf(prefer_css_page_size=True)]
    page.locator(".answers").evaluate("answers => answers.remove()")
    sizes.append(page.pdf(prefer_css_page_size=True))
    whole, questions = (len(re.findall(rb"/Type\s*/Page\b", pdf)) for pdf in sizes)
    assert questions < whole <= 4, "the answers begin a page"
    assert re.search(rb"/MediaBox\s*\[0 0 59[45][.\d]* 84[12]", sizes[0]), "A4"
    page.emulate_media(media="screen")
    page.goto(f"{tab.url}/handout?lesson=%3Cb%3E")
    expect(page.get_by_role("alert")).to_have_text("There is no lesson “<b>” in this course.")
