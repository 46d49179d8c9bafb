"""The Lessons page, and a lesson beside the page of its step, as a visitor meets them."""

from __future__ import annotations

from typing import Self
from urllib.parse import urlencode

from playwright.sync_api import Locator

from headlight.lessons.schema import Lesson, LessonStep
from headlight.ui import pages

from .tab import Tab

__all__ = ["Beside", "Lessons"]

# The page of the step is drawn and at rest, and the address is the step's.
STANDS = """([path, learn]) => {
  const question = document.querySelector(".st-key-stage .question");
  const views = [...document.querySelectorAll(".st-key-stage .stBidiComponentIsolated, .st-key-stage *")]
    .flatMap((host) => (host.shadowRoot ? [...host.shadowRoot.querySelectorAll(".view")] : []));
  return new URLSearchParams(location.search).get("learn") === learn && question?.parentElement.dataset.path === path
    && document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === "notRunning"
    && views.length > 0 && views.every((view) => !view.hasAttribute("data-pending"));
}"""
# What a step's picture is on its page.
PICTURES = {
    "map": ".large .map",
    "panel heads": ".heads-holder",
    "panel values": ".large-words .values",
    "panel words": ".words > .chips",
    "panel view": ".view-room",
    "panel vectors": ".outcome .vectors",
    "panel similarity": ".outcome .answers",
    "panel mask": ".mask-panel",
    "panel step": ".side",
    "panel diagram": ".diagram",
    "panel box": ".about",
    "panel sums": ".sheet > .stack",
    "panel spread": ".sheet > .stack > :last-child",
    "panel kinds": ".sheet > .stack > .panel",
    "panel curves": "[class*='st-key-chart_panel_']",
    "two maps": ":is(.left, .right, .weights-before, .weights-after) .map",
    "next words": ":is(.next-list, .stages)",
    "panel rows": ".outcomes > :first-child",
    "panel padding": ".outcomes > :last-child",
    "panel lesson": ".lesson-room",
}
# The places and sizes of what matches and can be seen, and the largest area of anything else that is looked at.
SEEN = """selector => {
  const roots = [document, ...[...document.querySelectorAll("*")].map((host) => host.shadowRoot).filter(Boolean)];
  const all = (which) => roots.flatMap((root) => [...root.querySelectorAll(which)])
    .filter((part) => part.checkVisibility() && part.getBoundingClientRect().width);
  const found = all(selector);
  const within = (part, place) => {
    for (let at = part; at; at = at.parentNode ?? at.host) if (at === place) return true;
    return false;
  };
  const others = all(".st-key-stage .map, .panel, .next-list, .heads, .js-plotly-plot, .chips")
    .filter((part) => part.checkVisibility({ visibilityProperty: true }))
    .filter((part) => part.getBoundingClientRect().top < innerHeight)
    .filter((part) => !found.some((place) => within(part, place) || within(place, part)));
  const box = (part) => {
    const { left, top, width, height } = part.getBoundingClientRect();
    return [left, top, width, height];
  };
  return [found.map(box), Math.max(0, ...others.map((part) => part.offsetWidth * part.offsetHeight))];
}"""
# What a curtain covers: how many parts, and which of them, or of what is in them, can be seen all the same.
COVERED = """() => {
  const roots = [document, ...[...document.querySelectorAll("*")].map((host) => host.shadowRoot).filter(Boolean)];
  const parts = roots.flatMap((root) => [...root.querySelectorAll("[data-covered]")]);
  const veils = roots.flatMap((root) => [...root.querySelectorAll(".veil")]).filter((veil) => veil.checkVisibility());
  const seen = parts.flatMap((part) => [part, ...part.querySelectorAll("*")])
    .filter((part) => part.checkVisibility({ visibilityProperty: true }));
  return [parts.length + veils.length, seen.map((part) => part.outerHTML.slice(0, 120))];
}"""


class Lessons(Tab):
    """The page with all lessons in one tab."""

    PATH = "/lessons"


class Beside(Tab):
    """A lesson beside the page of its step."""

    VIEW = ".st-key-stage .view"

    def begin(self, lesson: Lesson, at: int = 1, **values: str) -> Self:
        """Open a step by its link."""
        step = lesson.steps[at - 1]
        more = urlencode({"learn": f"{lesson.id}.{at}", **values})
        self.page.goto(f"{self.url}/{pages.path(step.page)}?{step.query}&{more}")
        return self.at(lesson, at)

    def at(self, lesson: Lesson, at: int) -> Self:
        """Wait until a step and its page stand there."""
        path = pages.path(lesson.steps[at - 1].page)
        self.wait_until(STANDS, [path, f"{lesson.id}.{at}"])
        return self

    @property
    def lesson(self) -> Locator:
        return self.page.locator("#headlight-lesson")  # a role is looked for in all there is

    @property
    def verdict(self) -> Locator:
        """What is read aloud after the answer."""
        return self.lesson.get_by_role("status", name="Answer")

    @property
    def lit(self) -> Locator:
        """The option that the numbers pick."""
        return self.lesson.locator(".option", has_text="✓ right, as just measured")

    @property
    def black(self) -> Locator:
        return self.page.locator("#headlight-black")

    def press(self, name: str) -> None:
        self.lesson.get_by_role("button", name=name).click()

    def options(self, step: LessonStep) -> list[str]:
        """The options as they stand there, without their letters."""
        group = self.lesson.get_by_role("group", name=step.question)
        texts: list[str] = group.locator(".text").all_inner_texts()
        return texts

    def covered(self) -> int:
        """How many parts the curtain covers; fails where something of them can be seen."""
        count, seen = self.page.evaluate(COVERED)
        assert not seen
        return int(count)

    def has_its_curtain(self, step: LessonStep) -> None:
        """Wait until the curtain of a step is drawn over what it covers, or there is none where the step has none."""
        self.until(lambda: bool(self.covered()) == bool(step.hidden), f"the curtain {step.hidden} of {step.question}")

    def shows(self, step: LessonStep) -> None:
        """The step's picture is in the window, and the largest thing in it beside the lesson."""
        self.wait_until(f"part => ({SEEN})(part)[0].length > 0", PICTURES[step.picture])
        boxes, other = self.page.evaluate(SEEN, PICTURES[step.picture])
        size = self.page.viewport_size
        assert size is not None
        maps = step.picture in ("map", "two maps")
        for left, top, width, height in boxes[: 2 if maps else 1]:
            said = f"{step.picture}: {boxes}, beside it {other}"
            assert min(left, top) >= 0, said
            assert left + width <= size["width"] + 1, said
            assert top + height <= size["height"] + 1 if maps else top < size["height"] / 2, said
            assert width * height >= other, said
        if step.picture == "two maps":
            (_, one, *sizes), (_, two, *others) = boxes
            assert abs(one - two) < 2, boxes
            assert sizes[1] > 0.45 * size["height"], "two maps fill the stage"
            assert all(abs(a - b) < 40 for a, b in zip(sizes, others, strict=True)), (
                boxes
            )  # one may have sums beside it

    def numbers(self) -> list[tuple[str, str]]:
        """Label and text of each number of the answer."""
        rows = self.verdict.locator("li")
        return list(zip(rows.locator("span").all_inner_texts(), rows.locator("strong").all_inner_texts(), strict=True))
