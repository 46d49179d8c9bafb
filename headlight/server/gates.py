"""The gates in front of the app: which names it answers to, and which routes it has.

Everything is decided by the scope's path and headers as they arrived, never by a URL put together from them.
"""

import ipaddress
import re
import socket
from contextlib import suppress
from urllib.parse import urlsplit

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from . import options

# What Streamlit serves and Headlight has no use for: counters, an interface for agents, logins.
_CLOSED = re.compile(r"(.*/)?(_stcore/(metrics|script-health-check|agent(/.*)?)|auth/.*|oauth2callback)/?", re.DOTALL)


def allowed_hosts() -> set[str]:
    """The names that this server is known by: its machine's, and those in Streamlit's configuration."""
    machine = socket.gethostname().lower()
    told = [options.read("browser.serverAddress"), *(options.read("server.allowedHosts") or [])]
    return {"localhost", machine, f"{machine}.local", *(str(name).lower() for name in told if name)}


class HostGate:
    """ASGI middleware that answers only under a name of this server.

    A page elsewhere can lead its own name to this machine and then ask in this server's place (DNS rebinding). An
    address of numbers cannot be led anywhere, so every one of those is fine.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or self._is_own(scope):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            told = "This host name is not allowed. Start the server with --server.allowedHosts=NAME to allow it."
            await PlainTextResponse(told, 421)(scope, receive, send)

    def _is_own(self, scope: Scope) -> bool:
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        try:
            where = urlsplit(f"//{hosts[0]}" if len(hosts) == 1 else "")
        except ValueError:
            return False
        if where.username is not None:
            return False
        name = (where.hostname or "").rstrip(".")
        with suppress(ValueError):
            return bool(ipaddress.ip_address(name))
        return bool(name) and any(
            own in ("*", name) or (own.startswith("*.") and name.endswith(own[1:])) for own in allowed_hosts()
        )


class RouteGate:
    """ASGI middleware that says 404 to Streamlit's routes that Headlight has no use for."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _CLOSED.fullmatch(scope["path"]):
            await PlainTextResponse("Not Found", 404)(scope, receive, send)
        else:
            await self.app(scope, receive, send)
