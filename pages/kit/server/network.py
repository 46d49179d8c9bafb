"""Whether an answer leaves this machine, where its bytes cost time."""

from __future__ import annotations

import ipaddress
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import Scope


def wants_gzip(scope: Scope) -> bool:
    """Tells whether an answer goes over a network, to a browser that unpacks it."""
    headers = Headers(scope=scope)
    return "gzip" in headers.get("accept-encoding", "") and _is_elsewhere(scope, headers)


def _is_elsewhere(scope: Scope, headers: Headers) -> bool:
    """Tells whether another machine asks, or a proxy that passes the answer on."""
    if "x-forwarded-for" in headers or "forwarded" in headers:
        return True
    with suppress(ValueError):
        return not ipaddress.ip_address(str((scope.get("client") or ("",))[0])).is_loopback
    return False
