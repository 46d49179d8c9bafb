"""Headlight's static files, served from memory and cached by the browser for good, as their URL contains a hash."""

import gzip
from collections.abc import Mapping
from functools import cache

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from .network import accepts_gzip

IMMUTABLE = "public, max-age=31536000, immutable"
# `mimetypes` reads the registry on Windows, where a script may be text/plain, which no browser runs.
TYPES = {
    "css": "text/css",
    "html": "text/html",
    "ipynb": "application/x-ipynb+json",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}


class MemoryFiles:
    """ASGI app that serves files, name -> content, from memory."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._gzipped = cache(lambda name: gzip.compress(files[name], mtime=0))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> ASGIApp:
        name = scope["path"].removeprefix(f"{scope.get('root_path', '')}/")
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("Method not allowed; use GET.", 405, {"Allow": "GET, HEAD"})
        if name not in self._files:
            return PlainTextResponse("File not found.", 404)
        headers = {"Cache-Control": IMMUTABLE, "Vary": "Accept-Encoding"}
        kind = TYPES.get(name.rpartition(".")[2], "text/plain")
        if accepts_gzip(Headers(scope=scope)):
            return Response(self._gzipped(name), 200, headers | {"Content-Encoding": "gzip"}, kind)
        return Response(self._files[name], 200, headers, kind)
