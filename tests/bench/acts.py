"""What a visitor does on a page of the app and, with the same hands, on the bare page."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import Browser, Locator, Page

from pages.kit.draw.web import PREFIX
from tests.browser.compare_page import Compare
from tests.browser.explore_page import Explore
from tests.browser.masks_page import Masks
from tests.browser.shapes_page import Shapes
from tests.browser.tab import Tab

from .chrome import open_view, rest, timed
from .visitors import sentence

__all__ = ["ACTS", "Act", "Site", "open_bare", "open_page"]

KINDS: dict[str, type[Tab]] = {"Explore": Explore, "Compare": Compare, "Masks": Masks, "Shapes": Shapes}
PASS = re.compile(r"computed in ([\d.]+) ms")
ASK = "async (question) => (await fetch(question)).text()"
OF_MASK = ("mask", "w", "first", "gap", "rule", "on", "p")  # keys of the link

# names on the left card of Compare, on Shapes, and in the fold of Masks
ON_CARD = {"mask": "Mask", "pos": "Position encoding", "t": "Softmax temperature"}

_numbers = itertools.count()  # no sentence comes twice
_cells = itertools.count()  # nor does a cell of a sentence of one length, which stays painted


@dataclass(frozen=True)
class Site:
    """A page in a tab of its own, by its name ("bare" is no page of the app) and what shows its picture."""

    name: str
    view: Locator

    @property
    def page(self) -> Page:
        return self.view.page

    @property
    def box(self) -> Locator:
        return self.page.get_by_role("textbox", name="Sentence", exact=True)

    def retype(self, tokens: int) -> None:
        """Another sentence, and everything at rest."""
        self.box.fill(sentence(tokens, next(_numbers)))
        rest(self.view)

    def untouched(self) -> None:
        """Nothing changed: a sentence in a changed model takes a second pass, of the model as it was trained."""
        if self.name == "Explore" and (reset := Explore(self.page, "").button("reset all")).is_visible():
            reset.click()
            rest(self.view)

    def pass_ms(self, *, unmasked: bool = False) -> float | None:
        """Milliseconds of the pass of the picture in sight, of Masks with that without the mask (`unmasked`); None
        of a page that shows more than one pass."""
        if self.name == "bare":
            return float(self.view.get_attribute("data-pass") or "nan")
        if self.name == "Explore":
            said = [self.view.locator(".status").text_content() or ""]
        elif self.name == "Masks":  # the same pictures, which are kept
            asked = parse_qs(urlsplit(self.page.url).query)
            bare = {key: values for key, values in asked.items() if key not in OF_MASK}
            queries = [urlencode(query, doseq=True) for query in (asked, *([bare] if unmasked else []))]
            said = [self.page.evaluate(ASK, f"{PREFIX}/api/maps?{query}") for query in queries]
        else:
            return None
        found = [PASS.search(text) for text in said]
        if None in found:
            raise RuntimeError(f"{self.name} does not say how long the pass took")
        return sum(float(one[1]) for one in found if one)


@dataclass(frozen=True)
class Act:
    """Something that brings a picture that was not computed before.

    Attributes:
        event: the trusted event that it begins with.
        prepare: brings the page there, with a sentence of so many tokens; returns what is timed.
        control: key of the bare page's control that has to be there.
        keeps: what is seen without the mask stays the same, so that Masks needs one pass.
    """

    event: str
    prepare: Callable[[Site, int], Callable[[], object]]
    control: str = "mask"
    keeps: bool = False

    def time(self, site: Site, tokens: int) -> float:
        """Milliseconds from the event to the end of the frame that shows the picture."""
        site.page.bring_to_front()
        do = self.prepare(site, tokens)
        took = timed(site.view, self.event, "digest", do)
        rest(site.view)
        site.page.keyboard.press("Escape")  # closes the panel that it was chosen in
        return took


def key(site: Site, tokens: int) -> Callable[[], object]:
    """The last key of a sentence."""
    site.untouched()
    site.box.fill(f"{sentence(tokens - 1, next(_numbers))} th")
    rest(site.view)
    site.box.press("End")
    return lambda: site.page.keyboard.press("e")


def enter(site: Site, tokens: int) -> Callable[[], object]:
    """A whole sentence at once, as from the clipboard, and Enter."""
    site.untouched()
    text = sentence(tokens, next(_numbers))
    site.box.evaluate("(box) => { box.focus(); box.select(); }")

    def do() -> None:
        site.page.keyboard.insert_text(text)
        site.page.keyboard.press("Enter")

    return do


def lamp(site: Site, tokens: int) -> Callable[[], object]:
    """A head switched off, or on again, by its lamp."""
    site.retype(tokens)
    lamps = site.view.locator(".lamp")
    return lamps.nth(next(_numbers) % 12).click


def chosen(site: Site, key: str, name: str) -> Locator:
    """The control of a key: a view holds its own, in a panel or a fold."""
    if site.name == "Explore":
        panel = Explore(site.page, "").change(name)
        panel.wait_for()  # closed, it says what held when it was open
        return panel
    if site.name == "Compare":
        return Compare(site.page, "").controls(ON_CARD[key])
    if site.name == "Shapes":
        return Shapes(site.page, "").controls(ON_CARD[key])
    if site.name == "Masks":
        fold = site.view.locator("details.also")
        if fold.get_attribute("open") is None:
            fold.locator("summary").click()
        return fold.get_by_role("region", name=ON_CARD[key], exact=True)
    return site.page.locator(f".st-key-{key}")


def other_of(control: Locator, name: str, first: str, second: str) -> Callable[[], object]:
    """Chooses the one of two that is not in use, in the group of that name."""
    group = control.get_by_role("radiogroup", name=re.compile(f"^{name}"))
    now = group.locator('[aria-checked="true"]').get_attribute("aria-label")
    return group.get_by_role("radio", name=second if now == first else first, exact=True).click


def mask(site: Site, tokens: int) -> Callable[[], object]:
    """The mask that is not in use."""
    site.retype(tokens)
    if site.name == "Masks":  # its gallery
        cards = site.view.locator('.gallery button[aria-pressed="false"]')
        return cards.nth(1 + next(_numbers) % 4).click
    control = chosen(site, "mask", "Hide words")
    if site.name != "bare":
        return other_of(control, "Mask", "none", "causal")
    now = control.locator('[aria-checked="true"], [aria-pressed="true"]').first.inner_text()
    return control.get_by_text("none" if "causal" in now else "causal", exact=True).click


def position(site: Site, tokens: int) -> Callable[[], object]:
    """The positions that are not in use."""
    site.retype(tokens)
    control = chosen(site, "pos", "Take the order away")
    if site.name != "bare":
        return other_of(control, "Position encoding", "none", "as trained")
    box = control.get_by_role("combobox")
    other = "as trained" if "none" in control.inner_text() + box.input_value() else "none"
    option = site.page.get_by_role("option", name=other, exact=True)
    while not option.is_visible():  # what the script still draws may close the list again
        box.press("ArrowDown")
        rest(site.view)
    return option.click


def temperature(site: Site, tokens: int) -> Callable[[], object]:
    """The temperature a step higher, or lower again."""
    site.retype(tokens)
    slider = chosen(site, "t", "Sharpen or blur").get_by_role("slider")
    slider.focus()
    up = float(slider.get_attribute("aria-valuenow") or slider.evaluate("own => own.value") or 1) < 2
    return lambda: slider.press("ArrowRight" if up else "ArrowLeft")


def cell(site: Site, tokens: int) -> Callable[[], object]:
    """A cell that may be looked at is painted over, which ends when the button is released."""
    site.view.locator(".gallery button").first.click()  # nothing is forbidden
    site.retype(tokens)
    number = next(_cells)
    tab = Masks(site.page, "")
    site.page.mouse.move(*tab.place(3 + number % (tokens - 4), number // (tokens - 4) % 3))
    site.page.mouse.down()
    return site.page.mouse.up


ACTS = {
    "key": Act("keydown", key),
    "Enter": Act("input", enter),
    "lamp": Act("click", lamp),
    "mask": Act("click", mask, keeps=True),
    "position": Act("click", position, "pos"),
    "temperature": Act("keydown", temperature, "t"),
    "painted cell": Act("pointerup", cell, keeps=True),
}


def open_page(browser: Browser, url: str, name: str) -> Site:
    """A page of the app."""
    kind = KINDS[name]
    return Site(name, open_view(browser, url + kind.PATH, kind.VIEW))


def open_bare(browser: Browser, url: str, control: str) -> Site:
    """The bare page with one of its controls."""
    return Site("bare", open_view(browser, f"{url}/?by={control}", ".view"))
