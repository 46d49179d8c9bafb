"""Whether the address, the screen and the server say the same of a page that a view owns."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode, urlsplit

from headlight.link.presets import PRESETS
from headlight.picture.link_query import LinkQuery
from pages.compare.suggestions import DEFAULT_CURSOR

from .compare_page import Compare
from .explore_page import Explore
from .masks_page import Masks
from .model_map_page import ModelMap
from .shapes_page import Shapes
from .tab import Tab

__all__ = ["PAGES", "agree"]

PAGES: dict[str, type[Tab]] = {kind.PATH: kind for kind in (Explore, ModelMap, Compare, Masks, Shapes)}


def asked(path: str, raw: bytes, before: Iterable[str]) -> tuple[list[str], list[str]]:
    """The digests of the pictures that may stand over a link, and the sentences in its boxes.

    That is one picture; over Explore's empty box it is that of the default sentence, or of one that stood there before.
    """
    query = LinkQuery(raw, minilm_cursor=DEFAULT_CURSOR if path == "/compare" else "")
    left, _ = query.fitted_settings()
    if path == "/compare":
        right, _ = query.fitted_settings("2", left.text)
        return [f"{left.digest}-{right.digest}"], [left.text, query["s2"]]
    if path != "/" or left.text.strip():
        return [left.digest], [left.text]
    pairs = parse_qsl(raw.decode(), keep_blank_values=True)
    links = [urlencode([(key, text if key == "s" else said) for key, said in pairs]) for text in (PRESETS[0], *before)]
    return [LinkQuery(link.encode()).fitted_settings()[0].digest for link in links], [left.text]


def agrees(tab: Tab, before: Iterable[str]) -> bool:
    """Whether the address, the screen and the server say the same now."""
    address = tab.page.url
    place = urlsplit(address)
    path = place.path.removeprefix(urlsplit(tab.url).path)  # below which the server's pages stand
    here = tab.on(PAGES[path]).settled()
    digests, texts = asked(path, place.query.encode(), before)
    boxes = [box.input_value() for box in here.view.first.locator(".top .sentence textarea").all()]
    # Shapes' traces are of what an implementation can do
    is_of = path == "/shapes" or here.view.first.get_attribute("data-digest") in digests
    return is_of and boxes == texts and tab.page.url == address


def agree(tab: Tab, before: Iterable[str] = ()) -> None:
    """Wait until the address, the screen and the server say the same; `before` are sentences that were typed."""
    tab.until(lambda: agrees(tab, before), f"they agree on {tab.page.url}")
