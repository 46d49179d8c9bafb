"""Middleware that checks the Host header and closes the routes of Streamlit that Headlight does not use.

It reads path and headers of the scope as they arrived, never a URL built from them, which could differ.
"""

import ipaddress
import re
import socket
from contextlib import suppress
from urllib.parse import urlsplit

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from . import options

# Streamlit's metrics, script health check, agent interface and login.
_CLOSED = re.compile(r"(.*/)?(_stcore/(metrics|script-health-check|agent(/.*)?)|auth/.*|oauth2callback)/?", re.DOTALL)


def allowed_hosts() -> set[str]:
    """Return the host names of this server: those of the machine and those in Streamlit's configuration."""
    machine = socket.gethostname().lower()
    configured = [options.read("browser.serverAddress"), *(options.read("server.allowedHosts") or [])]
    return {"localhost", machine, f"{machine}.local", *(str(name).lower() for name in configured if name)}


class HostMiddleware:
    """ASGI middleware that rejects requests whose Host header is not a name of this server.

    It prevents DNS rebinding, in which a foreign page points its own host name at this machine. An IP address cannot be
    rebound, so all of them are accepted.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the connection on, or reject it with 421 or WebSocket code 1008."""
        if scope["type"] not in ("http", "websocket") or self._is_own(scope):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            message = "Unknown host name. Start the server with --server.allowedHosts=NAME to allow it."
            await PlainTextResponse(message, 421)(scope, receive, send)

    def _is_own(self, scope: Scope) -> bool:
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        try:
            url = urlsplit(f"//{hosts[0]}" if len(hosts) == 1 else "")
        except ValueError:
            return False
        if url.username is not None:
            return False
        name = (url.hostname or "").rstrip(".")
        with suppress(ValueError):
            return bool(ipaddress.ip_address(name))
        return bool(name) and any(
            host in ("*", name) or (host.startswith("*.") and name.endswith(host[1:])) for host in allowed_hosts()
        )


class RouteMiddleware:
    """ASGI middleware that answers 404 on the routes of Streamlit that Headlight does not use."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the connection on, or answer 404."""
        if scope["type"] == "http" and _CLOSED.fullmatch(scope["path"]):
            await PlainTextResponse("Not Found", 404)(scope, receive, send)
        else:
            await self.app(scope, receive, send)
