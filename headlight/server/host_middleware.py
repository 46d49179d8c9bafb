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
from starlette.websockets import WebSocketClose

from . import options

# Streamlit's metrics, script health check, agent interface and login.
_CLOSED = re.compile(r"(.*/)?(_stcore/(metrics|script-health-check|agent(/.*)?)|auth/.*|oauth2callback)/?", re.DOTALL)


def allowed_hosts() -> set[str]:
    """Return the host names of this server: those of the machine and those in Streamlit's configuration."""
    machine = socket.gethostname().lower()
    configured = [options.read("browser.serverAddress"), *(options.read("server.allowedHosts") or [])]
    return {"localhost", machine, f"{machine}.local", *(str(name).lower() for name in configured if name)}


class HostMiddleware:
    """ASGI middleware that rejects requests whose Host header is not a name of this server, and closed routes.

    That prevents DNS rebinding, in which a foreign page points its own host name at this machine. An IP address cannot
    be rebound, so all of them are accepted.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the connection on, or reject it with 404, 421 or WebSocket code 1008."""
        kind, app = scope["type"], self.app
        if kind in ("http", "websocket") and not self._is_own(scope):
            message = "Unknown host name. Start the server with --server.allowedHosts=NAME to allow it."
            app = WebSocketClose(1008) if kind == "websocket" else PlainTextResponse(message, 421)
        elif kind == "http" and _CLOSED.fullmatch(scope["path"]):
            app = PlainTextResponse("Not Found", 404)
        await app(scope, receive, send)

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
