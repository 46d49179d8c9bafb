"""Decision whether a response is compressed."""

import ipaddress
import re
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import Scope


def should_gzip(scope: Scope) -> bool:
    """Return whether a response goes over a network to a browser that accepts gzip."""
    headers = Headers(scope=scope)
    return accepts_gzip(headers) and _is_remote(scope, headers)


def accepts_gzip(headers: Headers) -> bool:
    """Return whether Accept-Encoding names gzip with a weight above 0."""
    return re.search(r"\bgzip\b(?!\s*;\s*q\s*=\s*0(\.0*)?\s*(,|$))", headers.get("accept-encoding", "")) is not None


def _is_remote(scope: Scope, headers: Headers) -> bool:
    """Return whether the client is another machine, or a proxy that forwards the response."""
    if "x-forwarded-for" in headers or "forwarded" in headers:
        return True
    with suppress(ValueError):
        return not ipaddress.ip_address(str((scope.get("client") or ("",))[0])).is_loopback
    return False
