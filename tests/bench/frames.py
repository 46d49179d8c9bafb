"""What is drawn without the server: from the event's handler to the end of the next frame."""

from __future__ import annotations

from urllib.parse import urlencode

from playwright.sync_api import Browser, Locator

from tests.browser.explore_page import Explore
from tests.browser.shapes_page import Shapes

from .chrome import open_view
from .serving import quantiles
from .timer import rest, timed
from .visitors import sentence

__all__ = ["measure_maps", "measure_steps", "measure_typing"]

CLICKS = 12
HOVERS = 30


def measure_typing(browser: Browser, url: str, rounds: int) -> None:
    """Keys one after another, while the pictures of those before are on their way."""
    view = open_view(browser, f"{url}/?{urlencode({'s': sentence(16)})}", Explore.VIEW)
    keyboard = view.page.keyboard
    view.get_by_role("textbox", name="Sentence", exact=True).press("End")
    lags = [timed(view, "keydown", "frame", lambda: keyboard.press("a", delay=40)) for _ in range(4 * rounds)]
    print(f"  16 tokens   input lag while typing {quantiles(lags)}")
    view.page.context.close()


def measure_maps(browser: Browser, url: str, tokens: int) -> None:
    """Pointing at the map of Explore, and what hides or shows heads."""
    view = open_view(browser, f"{url}/?{urlencode({'s': sentence(tokens)})}", Explore.VIEW)
    page, area = view.page, view.locator(".map").first.bounding_box()
    assert area is not None
    hovers = []
    for at in range(HOVERS):
        x, y = area["x"] + area["width"] * (0.4 + 0.018 * at), area["y"] + area["height"] * (0.4 + 0.017 * at)
        hovers.append(timed(view, "pointermove", "frame", lambda x=x, y=y: page.mouse.move(x, y)))  # type: ignore[misc]
    explore, tiles = Explore(page, url), view.locator(".tile .square")
    enlarge = [frame(view, tiles.nth(at % 12)) for at in range(CLICKS)]
    solos, hides = (
        [frame(view, explore.button(name)) for _ in range(CLICKS)]
        for name in ("show only this head", "remove from view")
    )
    explore.button("all 72 heads").click()
    rest(view)
    among = [frame(view, explore.button("show only this head")) for _ in range(CLICKS)]
    told = {"hover": hovers, "enlarge": enlarge, "solo": solos, "hide": hides, "solo among 72": among}
    print(f"{tokens:4d} tokens   " + "   ".join(f"{name} {quantiles(times)}" for name, times in told.items()))
    page.context.close()


def measure_steps(browser: Browser, url: str, tokens: int) -> None:
    """From step to step of Shapes, alone and beside another implementation."""
    told = []
    for beside in ("none", "sequence_first"):
        link = urlencode({"step": "x", "vs": beside, "s": sentence(tokens)})
        view = open_view(browser, f"{url}{Shapes.PATH}?{link}", Shapes.VIEW)
        following, times = view.get_by_role("button", name="next ▶"), []
        while following.is_enabled():
            times.append(frame(view, following))
            view.page.wait_for_timeout(120)
        told.append(quantiles(times))
        view.page.context.close()
    print(f"{tokens:4d} tokens   next step {told[0]}   two implementations side by side {told[1]}")


def frame(view: Locator, pressed: Locator) -> float:
    """Milliseconds from a click to the end of the next frame."""
    return timed(view, "click", "frame", pressed.click)
