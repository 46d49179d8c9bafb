"""Whether an answer leaves this machine, where its bytes cost time, and whether its browser unpacks it."""

import ipaddress
import re
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import Scope


def should_gzip(scope: Scope) -> bool:
    """Tells whether an answer goes over a network, to a browser that unpacks it."""
    headers = Headers(scope=scope)
    return accepts_gzip(headers) and _is_remote(scope, headers)


def accepts_gzip(headers: Headers) -> bool:
    """Tell whether a browser unpacks gzip, as its Accept-Encoding says without a weight of 0."""
    return re.search(r"\bgzip\b(?!\s*;\s*q\s*=\s*0(\.0*)?\s*(,|$))", headers.get("accept-encoding", "")) is not None


def _is_remote(scope: Scope, headers: Headers) -> bool:
    """Tells whether another machine asks, or a proxy that passes the answer on."""
    if "x-forwarded-for" in headers or "forwarded" in headers:
        return True
    with suppress(ValueError):
        return not ipaddress.ip_address(str((scope.get("client") or ("",))[0])).is_loopback
    return False
