"""One page of the app in one tab: opened by its link, waited for, and asked what it shows."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import CDPSession, JSHandle, Locator, Page, expect

from headlight.ui.pages import PAGES

__all__ = ["TWO_FRAMES", "WAIT_MS", "Box", "Tab", "place_of"]

WAIT_MS = 60_000  # only a test that fails waits so long
POLL_MS = 20  # what waits for a frame has each of them drawn, for a twelfth of a processor
T = TypeVar("T", bound="Tab")

# A click is drawn in the next frame, so what it changed can be read after two.
TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
# The server is at rest, it has heard everything, and the view shows what is wanted (null = anything that is there);
# "gone": a slow page has put another view in its place.
AT_REST = """([view, wanted]) => {
  if (!view.isConnected) return "gone";
  const { turn, acknowledged } = view.dataset;
  const app = document.querySelector('[data-testid="stApp"]');
  return !view.hasAttribute("data-waiting") && !view.hasAttribute("data-pending")
    && app?.dataset.testScriptState === "notRunning" && document.querySelector(".st-key-stage .question")
    && Number(acknowledged ?? 0) >= Number(turn ?? 0) && !view.hasAttribute("data-typing")
    && Object.entries(wanted).every(
      ([name, value]) => view.dataset[name] && view.dataset[name] === (value ?? view.dataset[name]),
    );
}"""
QUERY = """wanted => Object.entries(wanted).every(([key, values]) =>
  JSON.stringify(new URLSearchParams(location.search).getAll(key)) === JSON.stringify(values))"""
FOCUSED = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at ? at.getAttribute("aria-label") || at.textContent : "";
}"""
# The place of a cell of a grid, in pixels of the page, from the one cell that is there; −1 is a label. From the styles:
# a rectangle's sizes are rounded to 1/64 pixel, which adds up over hundreds of cells.
CELL = """(cell, [row, column]) => {
  if (!cell.isConnected) return null; // it has just handed its place on to another one
  const grid = cell.closest('[role="grid"]');
  grid.scrollIntoView({ block: "center", behavior: "instant" });
  const [box, place] = [grid.getBoundingClientRect(), cell.style];
  const [width, height, left, top] = [place.width, place.height, place.left, place.top].map(parseFloat);
  const [i, j] = [cell.parentElement.getAttribute("aria-rowindex") - 1, cell.getAttribute("aria-colindex") - 1];
  return [box.x + left + (column - j) * width, box.y + top + (row - i) * height, width, height];
}"""
TABLE = "body => [...body.rows].map(row => [...row.cells].map(cell => cell.textContent))"


class Box(NamedTuple):
    """Where something stands, in pixels of the window."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


def place_of(part: Locator) -> Box:
    """Where a part stands; fails where it is not drawn."""
    box = part.bounding_box()
    assert box
    return Box(**box)


class Tab:
    """A page of the app in one tab; each page's own class says where its picture is and when it is there.

    Attributes:
        view: what the page shows: the part with the words, the notices and the buttons.
    """

    PATH: ClassVar[str] = "/"
    VIEW: ClassVar[str] = ".sheet"

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.view = page.locator(self.VIEW)
        self.sessions: list[CDPSession] = []

    # ---- coming and going

    def open(self, **values: Any) -> Self:
        """Go to a link and wait until its picture is drawn."""
        query = urlencode(values, doseq=True)
        return self.visit(f"{self.url}{self.PATH}" + (f"?{query}" if query else ""))

    def visit(self, link: str) -> Self:
        """Go to a link as it was copied and wait until its picture is drawn."""
        self.page.goto(link)
        self.theme_button.wait_for()
        return self.settled()

    def settled(self) -> Self:
        """Wait until the picture is drawn and the server has answered everything."""
        return self.rested()

    def complete(self) -> Self:
        """Wait until nothing more comes by itself."""
        return self.settled()

    def shows(self, *picture: Any, **settings: Any) -> Any:
        """Wait for exactly this picture."""
        raise NotImplementedError(f"{type(self).__name__} has none")

    def clicked(self, part: Locator | str, *picture: Any, **settings: Any) -> Any:
        """Click a part, or the button of that name, and wait until this picture, or whatever it brings, is there."""
        (self.button(part) if isinstance(part, str) else part).click()
        return self.shows(*picture, **settings) if picture or settings else self.settled()

    def rested(self, **wanted: str | None) -> Self:
        """Wait until nothing goes on any more and the view says this of itself (data-…); None = whatever it says."""
        self.view.first.wait_for()
        self.page.evaluate(TWO_FRAMES)
        while True:
            handle = self.view.first.element_handle()
            if self.wait_until(AT_REST, [handle, wanted]).json_value() != "gone":
                return self

    def wait_until(self, script: str, arg: Any) -> JSHandle:
        """Wait until a function in the page returns something that is true, and return that."""
        return self.page.wait_for_function(script, arg=arg, polling=POLL_MS)

    def script_ended(self) -> None:
        """Wait for the end of the server's script, without a look at all the rest, as `expect` takes at each try."""
        self.page.locator("[data-testid='stApp'][data-test-script-state='notRunning']").wait_for()

    def run_first(self, script: str) -> None:
        """Run a script at the start of every document, until the tab goes on to another test."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("Page.enable")
        session.send("Page.addScriptToEvaluateOnNewDocument", {"source": script})
        self.sessions.append(session)

    def forget_scripts(self) -> None:
        """End what `run_first` began."""
        for session in self.sessions:
            session.detach()
        self.sessions.clear()

    def in_theme(self, theme: Literal["dark", "light"]) -> Self:
        """Have the system prefer a theme, and wait until the bar and every view are drawn in it."""
        self.page.emulate_media(color_scheme=theme)
        self.until(lambda: self.theme == theme, "the theme follows the system")
        expect(self.page.locator(f".view[data-theme]:not([data-theme={theme}])")).to_have_count(0)
        return self.settled()

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds that only this process can see."""
        end = time.monotonic() + WAIT_MS / 1000
        while not holds():
            assert time.monotonic() < end, what
            self.page.wait_for_timeout(POLL_MS)

    def go(self, title: str) -> None:
        """Go to a page as a visitor does: by its tab, which those of another group get by its entry in the bar."""
        link = self.link(title)
        if link.count() == 0:
            self.link(next(page.group for page in PAGES.values() if page.title == title)).click()
        link.click()

    def link(self, title: str) -> Locator:
        """A tab, or an entry of the bar."""
        return self.house.get_by_role("navigation").get_by_role("link", name=title, exact=True)

    def control(self, name: str) -> Locator:
        """The chip of a control, by the beginning of its name."""
        return self.view.locator(f'.switch[aria-label^="{name}"]')

    def controls(self, name: str) -> Locator:
        """The panel of a control, opened."""
        opener = self.control(name)
        if opener.get_attribute("aria-expanded") != "true":
            opener.click()
        return self.view.get_by_role("group", name=name, exact=True).and_(self.view.locator(".settings"))

    def share(self) -> Locator:
        """Open Share."""
        opener = self.house.get_by_role("button", name="Share", exact=True)
        if opener.get_attribute("aria-expanded") != "true":
            opener.click()
        panel = self.house.get_by_role("region", name="Share", exact=True)
        expect(panel.get_by_role("heading", name="Download")).to_be_visible()
        return panel

    def take(self, kind: str) -> bytes:
        """The file that a button of Share gives."""
        self.share()
        with self.page.expect_download() as waiting:
            self.page.locator(f".take-along [data-kind={kind}]").click()
        name = waiting.value.suggested_filename
        expect(self.page.locator(".take-along [role=status]")).to_have_text(f"Saved as {name}.")
        return Path(waiting.value.path()).read_bytes()

    def refused(self, kind: str) -> str:
        """What Share says instead of giving a file."""
        self.share()
        said = self.page.locator(".take-along [role=status]")
        self.page.locator(f".take-along [data-kind={kind}]").click()
        expect(said).not_to_have_text("")
        return said.inner_text()

    def on(self, kind: type[T]) -> T:
        """The same tab, as the page that it now shows."""
        return kind(self.page, self.url)

    # ---- its grids

    def box_of(self, cell: Locator, row: int, column: int) -> Box:
        """Where a cell of a grid stands, given the cell of it that is there."""
        while (found := cell.evaluate(CELL, [row, column])) is None:
            pass
        return Box(*found)

    def middle(self, cell: Locator, row: int, column: int) -> tuple[float, float]:
        """The middle of a cell of a grid, in pixels of the page."""
        return self.box_of(cell, row, column).middle

    # ---- what it says

    @property
    def house(self) -> Locator:
        return self.page.locator("#headlight-bar")

    @property
    def theme_button(self) -> Locator:
        return self.page.locator("#headlight-bar button[aria-label$=' theme']")  # a role is looked for in all there is

    @property
    def theme(self) -> Literal["dark", "light"]:
        """The theme that is drawn: the button names the other one."""
        return "dark" if self.theme_button.get_attribute("aria-label") == "light theme" else "light"

    @property
    def box(self) -> Locator:
        return self.page.get_by_role("textbox", name="Sentence", exact=True)

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.page.url).query, keep_blank_values=True)

    def wait_for_query(self, **values: str | list[str] | None) -> None:
        """Wait until the link has these values; None = not in the link."""
        wanted = {key: [value] if isinstance(value, str) else value or [] for key, value in values.items()}
        try:
            self.wait_until(QUERY, wanted)
        except Exception as error:
            raise AssertionError(f"not {wanted}: {self.page.url}") from error

    def button(self, name: str) -> Locator:
        return self.view.get_by_role("button", name=name, exact=True)

    def panel(self, heading: str) -> Locator:
        return self.page.locator(".sheet .panel", has=self.page.get_by_role("heading", name=heading, exact=True))

    def notices(self) -> list[str]:
        return self.view.locator(".notices p").all_text_contents()

    def figures(self) -> list[str]:
        return self.view.locator(".figure strong").all_text_contents()

    def rows(self, table: Locator) -> list[list[str]]:
        """The body of a table, with its row heads."""
        rows: list[list[str]] = table.locator("tbody").first.evaluate(TABLE)
        return rows

    def keys(self, *names: str) -> None:
        """Press keys, one after another."""
        for name in names:
            self.page.keyboard.press(name)

    def enter(self, field: Locator, text: str) -> None:
        """Write into a field and press Enter."""
        field.fill(text)
        field.press("Enter")

    def focused(self) -> str:
        """The name of what has the focus, inside a view or outside."""
        name: str = self.page.evaluate(FOCUSED)
        return name

    def choose(self, label: str, option: str) -> None:
        """Choose in one of the rail's boxes. A list that opens while the page still scrolls closes again."""
        box = self.page.get_by_role("combobox", name=label, exact=True)
        box.evaluate("box => box.scrollIntoView({ block: 'center', behavior: 'instant' })")
        box.click()
        self.page.get_by_role("option", name=option, exact=True).click()
