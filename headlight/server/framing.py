"""Sites whose pages may show Headlight in a frame: `--framed-by`, or the environment, names their origins."""

import os
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from .addresses import LOOPBACK

VARIABLE: Final = "HEADLIGHT_FRAMED_BY"  # origins with spaces between them
ANYONE: Final = "anyone"  # in place of an origin
WILDCARD: Final = "*"  # for the browser
_LABEL: Final = "[a-z0-9]([a-z0-9-]*[a-z0-9])?"
_URL: Final = re.compile(
    rf"(?P<origin>(?P<scheme>https?)://(?P<host>{_LABEL}(\.{_LABEL})*))(:(?P<port>[0-9]{{1,5}}))?(?P<rest>/.*)?"
)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def origins() -> tuple[str, ...]:
    """Return the origins of the environment. Raises ValueError with a sentence."""
    return parse(os.environ.get(VARIABLE, ""))


def parse(text: str) -> tuple[str, ...]:
    """Return the origins of a text as browsers write them, each once. Raises ValueError with a sentence."""
    return tuple(dict.fromkeys(map(_origin, text.split())))


def warnings(sites: Iterable[str]) -> list[str]:
    """Return a sentence for every site that puts users at risk."""
    sentences = []
    for site in sites:
        if site == WILDCARD:
            sentences.append("Every site may show Headlight in a frame and lay its own buttons over it.")
        elif site.startswith("http:") and urlsplit(site).hostname not in LOOPBACK:
            sentences.append(f"{site} is not encrypted: anyone between that site and its readers can alter it.")
    return sentences


def _origin(name: str) -> str:
    if name == ANYONE:
        return WILDCARD
    if name == WILDCARD:
        raise ValueError(
            "“*” would let every site show Headlight in a frame and lay its own buttons over it; "
            f"name the sites, or write {ANYONE} if that does no harm here"
        )
    url = _URL.fullmatch(name.lower())
    port = int(url["port"] or _DEFAULT_PORTS[url["scheme"]]) if url else 0
    if not url or not 1 <= port <= 65535:
        raise ValueError(f"“{name:.80}” is not the origin of a site, such as https://moodle.example.org")
    origin = url["origin"] if port == _DEFAULT_PORTS[url["scheme"]] else f"{url['origin']}:{port}"
    if url["rest"]:
        raise ValueError(f"“{name:.80}” has a path; write {origin}")
    return origin
