"""Whether an answer leaves this machine, where its bytes cost time, and whether its browser unpacks it."""

import ipaddress
import re
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import Scope

_WEIGHT = re.compile(r"q\s*=\s*([01](?:\.[0-9]{0,3})?)", re.ASCII)


def wants_gzip(scope: Scope) -> bool:
    """Tells whether an answer goes over a network, to a browser that unpacks it."""
    headers = Headers(scope=scope)
    return accepts_gzip(headers) and _is_elsewhere(scope, headers)


def accepts_gzip(headers: Headers) -> bool:
    """Tells whether a browser unpacks gzip, as its Accept-Encoding says: RFC 9110, section 12.5.3."""
    said = dict(map(_weighed, ",".join(headers.getlist("accept-encoding")).lower().split(",")))
    return said.get("gzip", said.get("x-gzip", said.get("*", 0.0))) > 0


def _weighed(part: str) -> tuple[str, float]:
    """ "gzip;q=0.5" -> its name and weight: 1 where none is written, 0 where it cannot be read."""
    name, *parameters = (word.strip() for word in part.split(";"))
    weight = _WEIGHT.fullmatch(";".join(parameters))
    return name, float(weight[1]) if weight else 0.0 if parameters else 1.0


def _is_elsewhere(scope: Scope, headers: Headers) -> bool:
    """Tells whether another machine asks, or a proxy that passes the answer on."""
    if "x-forwarded-for" in headers or "forwarded" in headers:
        return True
    with suppress(ValueError):
        return not ipaddress.ip_address(str((scope.get("client") or ("",))[0])).is_loopback
    return False
