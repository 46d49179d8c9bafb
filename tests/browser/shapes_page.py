"""The Shapes page as a visitor meets it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, Self

from playwright.sync_api import Locator, expect

from headlight.picture.settings import Settings
from mha_core import Step
from pages.shapes.reshape_lessons import QUESTIONS

from .expected import TIRED, run_of
from .server import ROOT
from .tab import Tab

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
    why: texts(".explanation p")[0],
    marked: texts('.code [aria-current="true"] .line'),
    shapes: texts('.code [aria-current="true"] .shape').filter((text) => text),
    said: texts(".status-line")[0],
  };
}"""


# An axis of a trace as the page names it.
AXES = {
    "b": "batch", "i": "queries", "j": "keys", "h": "heads", "d": "features", "c": "channels", "3c": "3 × channels",
    "3": "q, k, v", "1": "the same for all heads",
}  # fmt: skip
READOUT = re.compile(r"“(.*)”, (?:key “(.*)”|channel (\d+)): (.*) · \[(.*)\] lies at place ([\d,]+)")


def steps_of(implementation: str, layer: int = 3, settings: Settings | None = None) -> tuple[Step, ...]:
    """The steps that the page must show, computed in this process."""
    return run_of(settings or Settings(TIRED), trace_layer=layer, implementation=implementation).steps


def step_of(implementation: str, name: str, layer: int = 3, settings: Settings | None = None) -> Step:
    return next(step for step in steps_of(implementation, layer, settings) if step.name == name)


def listed(steps: tuple[Step, ...], head: int = 1) -> list[str]:
    """The names of steps as the list has them: group by group, of the heads' own those of one."""

    def group(name: str) -> int:
        base, _, ending = name.partition(".")
        if base == "x" or (base != "out" and ending == "project") or (base in "qkv" and ending.startswith("head")):
            return 0
        if base in ("q", "k", "v", "qkv"):
            return 1
        if base in ("scores", "masked", "weights"):
            return 2
        return 3 if base == "mixed" and ending in ("", f"head{head}") else 4

    own = [step.name for step in steps if not re.search(rf"\.head(?!{head}$)\d+$", step.name)]
    return sorted(own, key=group)


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
    words = [AXES[axis] for axis in step.axes.replace("(3 c)", "3c").split()]
    pills = [f"{word} {size}" for word, size in zip(words, step.value.shape, strict=True)]
    assert side["axes"] == pills
    assert side["facts"] == facts_of(step)
    file, _, function = side["where"].partition(" · ")
    assert Path(step.code.co_filename) == ROOT / file
    assert function.startswith(f"{step.code.co_qualname}, lines ")
    own = inspect.getsource(step.code)
    assert side["marked"]
    assert all(line.strip() in own for line in side["marked"])
    if (
        len(side["shapes"]) == 1
    ):  # several steps of other shapes may end in one line, and the line above may end another
        assert f"({', '.join(map(str, step.value.shape))})" in side["shapes"][0]
    assert re.fullmatch(r"Why\? .{20,}\.", side["why"])


def read(readout: str) -> dict[str, Any]:
    """A readout in its parts."""
    parts = READOUT.fullmatch(readout)
    assert parts, readout
    token, key, channel, value, index, place = parts.groups()
    return {
        "token": token,
        "column": key if channel is None else int(channel),
        "value": float(value.replace("−", "-")),
        "index": tuple(int(number) for number in index.split(", ")),
        "place": int(place.replace(",", "")),
    }


def check_readout(
    readout: str,
    name: str,
    cell: tuple[int, ...],
    *,
    implementation: str = "efficient",
    layer: int = 3,
    settings: Settings | None = None,
) -> None:
    """The number and its place, by torch."""
    found, tensor = read(readout), step_of(implementation, name, layer, settings).value
    assert found["index"] == cell
    assert found["value"] == float(f"{float(tensor[cell]):.3e}")
    strides = sum(number * stride for number, stride in zip(cell, tensor.stride(), strict=True))
    assert found["place"] == tensor.storage_offset() + strides


class Shapes(Tab):
    """The page in one tab."""

    PATH = "/shapes"
    VIEW = ".view.steps"

    def settled(self, step: str | None = None) -> Self:
        """Waits until a step, any or this one, is drawn, the numbers of the others are here, and nothing goes on."""
        self.rested(step=step, whole=None)
        expect(self.lesson).not_to_have_attribute("aria-busy", "true")
        expect(self.lesson).to_have_count(1)
        return self

    def shows(self, text: str = TIRED, **settings: Any) -> Settings:
        """Waits for the steps of exactly these settings."""
        wanted = Settings(text, **settings)
        expect(self.view).to_have_attribute("data-digest", wanted.digest)
        self.settled()
        return wanted

    def typed(self, text: str) -> None:
        """Writes a sentence and waits for its steps."""
        self.box.fill(text)
        self.shows(text)

    def to_step(self, step: str) -> None:
        """Chooses a step in the list and waits until it is drawn and nothing goes on."""
        self.option(step).click()
        self.settled(step)

    def drawn(self, step: str) -> None:
        """Waits until a step is drawn, whether the server knows of it or not."""
        expect(self.view).to_have_attribute("data-step", step)

    # ---- parts

    @property
    def lines(self) -> Locator:
        return self.view.get_by_role("listbox", name="steps")

    def option(self, step: str) -> Locator:
        """The line of a step in the list."""
        return self.lines.get_by_role("option").filter(has=self.page.get_by_text(step, exact=True))

    @property
    def lesson(self) -> Locator:
        return self.view.locator(".lesson-room")

    def head(self, number: int) -> Locator:
        return self.view.get_by_role("group", name="head").get_by_role("button", name=f"head {number}", exact=True)

    def layer(self, number: int) -> Locator:
        group = self.view.get_by_role("group", name="Layer", exact=True)
        return group.get_by_role("button", name=f"layer {number}", exact=True)

    @property
    def label(self) -> Locator:
        """Names the layer of the steps."""
        return self.view.locator(".end > .label")

    def choose(self, label: str, option: str) -> None:
        """Chooses in one of the lists."""
        self.view.get_by_role("combobox", name=label, exact=True).select_option(option)

    def side(self, number: int = 0) -> Locator:
        return self.view.locator(".side").nth(number)

    def says(self, number: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = self.side(number).evaluate(SIDE)
        return found

    def chosen(self) -> list[str]:
        """Number and name of the step that is marked in the list."""
        option = self.lines.locator('[aria-selected="true"]')
        expect(option).to_have_count(1)
        return [option.locator(".number").inner_text(), option.locator("b").inner_text()]

    # ---- pictures and values

    def readout(self, number: int = 0) -> str:
        return self.side(number).locator(".plane .readout").inner_text()

    def cell_at(self, row: int, column: int) -> tuple[float, float]:
        """The middle of a cell of the values, in pixels of the page."""
        return self.middle(self.side().locator(".plane .cell"), row, column)

    def click_cell(self, row: int, column: int) -> None:
        self.page.mouse.click(*self.cell_at(row, column))

    def hover(self, row: int, column: int) -> str:
        self.page.mouse.move(*self.cell_at(row, column))
        return self.readout()

    # ---- lesson

    def lesson_button(self, name: str) -> Locator:
        return self.lesson.get_by_role("button", name=QUESTIONS[name], exact=True)
