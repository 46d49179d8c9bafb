"""Decision whether a response is compressed."""

import ipaddress
import re
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import Scope


def should_gzip(scope: Scope) -> bool:
    """Return whether a response goes over a network to a browser that accepts gzip."""
    headers, address = Headers(scope=scope), str((scope.get("client") or ("",))[0])
    is_remote = "x-forwarded-for" in headers or "forwarded" in headers  # a proxy forwards the response
    with suppress(ValueError):
        is_remote = is_remote or not ipaddress.ip_address(address).is_loopback
    return is_remote and accepts_gzip(headers)


def accepts_gzip(headers: Headers) -> bool:
    """Return whether Accept-Encoding names gzip with a weight above 0."""
    return re.search(r"\bgzip\b(?!\s*;\s*q\s*=\s*0(\.0*)?\s*(,|$))", headers.get("accept-encoding", "")) is not None
