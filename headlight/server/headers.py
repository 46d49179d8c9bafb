"""The security headers of every response."""

import base64
import hashlib
import re
from collections.abc import Collection, Sequence
from importlib.resources import files

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


def _inline_script_hashes() -> str:
    """Return the hashes of the inline scripts in Streamlit's index.html, the only ones that may run."""
    page = (files("streamlit") / "static" / "index.html").read_text("utf-8")
    digests = (
        hashlib.sha256(script.encode()).digest() for script in re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    )
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


# Streamlit loads a component's inline script as a blob: URL, and its front end sets inline styles.
_POLICY = {
    "default-src": "'self'",
    "script-src": f"'self' blob: {_inline_script_hashes()}",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self'",
    "worker-src": "'self' blob:",
    "frame-src": "'none'",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}

HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in _POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}
FRAMED_COOKIE = "SameSite=None; Secure; Partitioned"  # accepted in a frame, separately for each site around it


def framed_headers(origins: Sequence[str]) -> dict[str, str]:
    """Return the headers of a page that these sites may show in a frame."""
    headers = {name: value for name, value in HEADERS.items() if name != "X-Frame-Options"}
    ancestors = f"frame-ancestors {' '.join(origins)}"
    policy = headers["Content-Security-Policy"].replace("frame-ancestors 'none'", ancestors)
    return {**headers, "Content-Security-Policy": policy}


class SecurityHeaders:
    """ASGI middleware that adds `HEADERS` to every HTTP response, and lets sites frame the pages at `paths`.

    Nothing else can be framed: neither rooms and handouts nor files and data.
    """

    def __init__(self, app: ASGIApp, paths: Collection[str] = (), origins: Sequence[str] = ()) -> None:
        self.app, self._paths, self._framed = app, paths, framed_headers(origins) if origins else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the connection on and add the headers to its response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        headers = self._framed if self._framed and scope["path"].rstrip("/") in self._paths else HEADERS
        # browsers name the site of a request over HTTPS and to their own machine alone
        is_secure = self._framed is not None and "sec-fetch-site" in Headers(scope=scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                fields = MutableHeaders(scope=message)
                del fields["X-Frame-Options"]
                fields.update(headers)
                if is_secure and "set-cookie" in fields:  # Streamlit's, once
                    fields["set-cookie"] = fields["set-cookie"].replace("SameSite=Lax", FRAMED_COOKIE)
            await send(message)

        await self.app(scope, receive, send_with_headers)
