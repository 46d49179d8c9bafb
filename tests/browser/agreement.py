"""Whether the address, the screen and the server say the same of a page that a view owns."""

from __future__ import annotations

from urllib.parse import urlsplit

from pages.compare.tries import FIRST_AT
from pages.kit.picture.link_query import LinkQuery

from .compare_page import Compare
from .explore_page import Explore
from .masks_page import Masks
from .shapes_page import Shapes
from .tab import Tab

__all__ = ["PAGES", "agree"]

PAGES: dict[str, type[Tab]] = {"/": Explore, "/compare": Compare, "/masks": Masks, "/shapes": Shapes}


def asked(path: str, raw: bytes) -> tuple[str, list[str]]:
    """The digest of the picture that the server makes of a link, and the sentences in its boxes."""
    query = LinkQuery(raw, minilm_at=FIRST_AT if path == "/compare" else "")
    left, _ = query.within()
    if path != "/compare":
        return left.digest, [left.text]
    right, _ = query.within("2", left.text)
    return f"{left.digest}-{right.digest}", [left.text, query["s2"]]


def agree(tab: Tab) -> None:
    """The address, the screen and the server say the same."""
    place = urlsplit(tab.page.url)
    here = tab.on(PAGES[place.path]).settled()
    digest, texts = asked(place.path, urlsplit(tab.page.url).query.encode())
    if place.path != "/shapes":  # whose traces are of what an implementation can do
        assert here.view.first.get_attribute("data-digest") == digest
    boxes = here.view.first.locator(".top .sentence textarea")
    assert [box.input_value() for box in boxes.all()] == texts
