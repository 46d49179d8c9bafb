"""Table of the pages, in the order of the navigation bar; assets/pages.toml has their texts."""

import json
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit

from headlight import read_toml


@dataclass(frozen=True)
class PageInfo:
    """Texts of a page in the navigation bar and its header."""

    title: str  # name of the page, and of its tab below the bar
    question: str  # question that the page answers
    line: str  # how to read the page
    group: str = ""  # entry of the navigation bar; "" for a page that only the search and links lead to
    model: bool = False  # the page shows the model that is selected in the bar


DEFAULT = "explore"  # the page at the server's own address
# Path of a former page -> the page that contains it now, and the keys that its link adds unless the old link has them.
# A link with a "model" gets neither "s" nor "at", as the model has defaults of its own.
REDIRECTS: dict[str, tuple[str, dict[str, str]]] = {
    DEFAULT: ("", {}),
    "scaled-dot": ("by-hand", {"ex": "scaled+dot+product"}),
    "texts": ("lessons", {}),
    "side-by-side": ("compare", {"mean": "true", "s": "can+you+can+that", "at": "3.1"}),
}
PAGES = {name: PageInfo(**page) for name, page in read_toml("pages").items()}  # package -> page, in teaching order


def path(name: str) -> str:
    """Return the path of a page below the server's root, "" for the default page."""
    return "" if name == DEFAULT else name.replace("_", "-")


def page_at(address: str) -> str:
    """Return the page at an address, a path below the server's root with a query or a fragment."""
    return next(name for name in PAGES if path(name) == urlsplit(address).path)


def link(name: str, *values: tuple[str, str]) -> str:
    """Return the path of a page with these values in its query."""
    return f"{path(name)}?{urlencode(values, quote_via=quote, errors='replace')}"


def as_json(ending: str = "") -> str:
    """Return the table as JSON that can be embedded in HTML; with an ending each page is a file."""
    page_list: list[dict[str, object]] = [{"path": path(name), **vars(page)} for name, page in PAGES.items()]
    if ending:
        page_list = [{**page, "file": f"{page['path'] or 'index'}{ending}"} for page in page_list]
    return json.dumps(page_list, ensure_ascii=False).replace("<", "\\u003c")
