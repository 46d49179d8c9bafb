"""The Shapes page as a visitor meets it."""

from __future__ import annotations

import inspect
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page, expect

from mha_core import Step
from pages.kit.picture.pictures import Settings

from .helpers import ROOT, TIRED, TWO_FRAMES, core

# Drawn, everything heard by the server, and the server at rest.
SETTLED = """([view, step]) => {
  const { turn, heard, step: shown } = view.dataset;
  const app = document.querySelector('[data-testid="stApp"]');
  return shown && (!step || step === shown) && Number(heard) >= Number(turn)
    && app.dataset.testScriptState === "notRunning" && view.isConnected;
}"""
# What one side of the view says about its step.
SIDE = """side => {
  const texts = (selector) => [...side.querySelectorAll(selector)].map((element) => element.textContent);
  const pair = ({ children }) => [...children].map((one) => one.textContent);
  return {
    title: texts("h2")[0],
    name: texts("header code")[0],
    axes: texts("header .axes span"),
    facts: Object.fromEntries([...side.querySelectorAll(".facts div")].map(pair)),
    where: texts(".source .label")[0],
    marked: texts('.code [aria-current="true"]'),
    said: texts(".said")[0],
  };
}"""


@lru_cache(maxsize=64)
def steps_of(implementation: str, layer: int = 3, settings: Settings | None = None) -> tuple[Step, ...]:
    """The steps that the page must show, computed in this process."""
    of = settings or Settings(TIRED)
    return (
        core()
        .run(
            of.text,
            mask=of.mask,
            position=of.position,
            heads_off=of.heads_off,
            temperature=of.temperature,
            trace_layer=layer,
            implementation=implementation,
        )
        .steps
    )


def step_of(implementation: str, name: str, layer: int = 3, settings: Settings | None = None) -> Step:
    return next(step for step in steps_of(implementation, layer, settings) if step.name == name)


def facts_of(step: Step) -> dict[str, str]:
    """What the page must say about a tensor's place in memory."""
    listed = {"shape": step.value.shape, "strides": step.value.stride()}
    return {
        **{name: f"({', '.join(map(str, numbers))})" for name, numbers in listed.items()},
        "contiguous": "yes" if step.value.is_contiguous() else "no",
        "memory": "view" if step.is_view else "own",
        "bytes": f"{step.value.numel() * step.value.element_size():,}",
    }


def check_side(side: dict[str, Any], implementation: str, step: Step) -> None:
    """Everything that one side says in words, against the core."""
    formula = f" = {step.expression}" if step.expression else ""
    assert side["name"] == f"{implementation} · {step.name}{formula}"
    letters = step.axes.replace("(3 c)", "3·c").split()
    pills = [f"{letter} {size}" for letter, size in zip(letters, step.value.shape, strict=True)]
    assert side["axes"] == pills
    assert side["facts"] == facts_of(step)
    file, _, function = side["where"].partition(" · ")
    assert Path(step.code.co_filename) == ROOT / file
    assert function.startswith(f"{step.code.co_name}, lines ")
    own = inspect.getsource(step.code)
    assert side["marked"]
    assert all(line.strip() in own for line in side["marked"])


class Shapes:
    """The page in one tab."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.view = page.locator(".view.steps")
        self.box = page.get_by_role("textbox", name="Sentence", exact=True)
        self.list = self.view.get_by_role("listbox", name="steps")
        self.lesson = page.locator(".view.sheet")

    def open(self, **values: Any) -> Shapes:
        query = urlencode(values, doseq=True)
        self.page.goto(f"{self.url}/shapes" + (f"?{query}" if query else ""))
        return self.settled()

    def settled(self, step: str | None = None) -> Shapes:
        """Waits until a step, any or this one, is drawn and the server has answered everything."""
        expect(self.view).to_be_visible()
        self.page.evaluate(TWO_FRAMES)
        self.page.wait_for_function(SETTLED, arg=[self.view.element_handle(), step])
        return self

    def shows(self, text: str = TIRED, **settings: Any) -> Settings:
        """Waits for the steps of exactly these settings."""
        wanted = Settings(text, **settings)
        expect(self.view).to_have_attribute("data-digest", wanted.digest)
        self.settled()
        return wanted

    def drawn(self, step: str) -> None:
        """Waits until a step is drawn, whether the server knows of it or not."""
        expect(self.view).to_have_attribute("data-step", step)

    # ---- parts

    def button(self, name: str) -> Locator:
        return self.view.get_by_role("button", name=name, exact=True)

    def head(self, number: int) -> Locator:
        return self.view.get_by_role("group", name="head").get_by_role("button", name=f"head {number}", exact=True)

    def side(self, number: int = 0) -> Locator:
        return self.view.locator(".side").nth(number)

    def says(self, number: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = self.side(number).evaluate(SIDE)
        return found

    def chosen(self) -> list[str]:
        """Number and name of the step that is marked in the list."""
        option = self.list.locator('[aria-selected="true"]')
        expect(option).to_have_count(1)
        return [option.locator(".number").inner_text(), option.locator("b").inner_text()]

    def notices(self) -> list[str]:
        return self.view.locator(".notices p").all_text_contents()

    def choose(self, label: str, option: str) -> None:
        """Chooses in one of the rail's boxes."""
        self.page.get_by_role("combobox", name=label, exact=True).click()
        self.page.get_by_role("option", name=option, exact=True).click()

    # ---- pictures and values

    def click_tile(self, head: int) -> None:
        """Clicks the head's tile in the picture of the step itself."""
        canvas = self.side().locator(".made > .pictures").last.locator(".tiles canvas").first
        canvas.scroll_into_view_if_needed()
        x, y = canvas.evaluate(
            """(canvas, head) => {
              const { x, y, width, height } = canvas.areas.find((area) => area.head === head);
              return [x + width / 2, y + height / 2];
            }""",
            head,
        )
        canvas.click(position={"x": x, "y": y})

    def readout(self, number: int = 0) -> str:
        return self.side(number).locator(".plane .readout").inner_text()

    def cell_at(self, row: int, column: int) -> tuple[float, float]:
        """The middle of a cell of the values, in pixels of the page."""
        x, y = (
            self.side()
            .locator(".plane .cell")
            .evaluate(
                """(cell, [row, column]) => {
              const grid = cell.parentElement.parentElement;
              grid.scrollIntoView({ block: "center", behavior: "instant" });
              const box = grid.getBoundingClientRect();
              const pixels = (side) => parseFloat(cell.style[side]);
              const [left, top, width, height] = ["left", "top", "width", "height"].map(pixels);
              const i = cell.parentElement.getAttribute("aria-rowindex") - 1;
              const j = cell.getAttribute("aria-colindex") - 1;
              return [box.x + left + (column - j + 0.5) * width, box.y + top + (row - i + 0.5) * height];
            }""",
                [row, column],
            )
        )
        return x, y

    def click_cell(self, row: int, column: int) -> None:
        self.page.mouse.click(*self.cell_at(row, column))

    def hover(self, row: int, column: int) -> str:
        self.page.mouse.move(*self.cell_at(row, column))
        return self.readout()

    # ---- lesson

    def lesson_button(self, name: str) -> Locator:
        return self.lesson.get_by_role("button", name=name, exact=True)
