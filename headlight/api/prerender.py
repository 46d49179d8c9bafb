"""Server-side pre-rendering: adds the page's header and the data of its picture to Streamlit's HTML page.

So the first picture is drawn before Streamlit's front end has loaded; a request of the page's own would wait behind a
hundred of its files.
"""

import asyncio
import gzip
import json
import re
from collections.abc import Callable
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headlight.link.limits import MAX_QUERY_BYTES
from headlight.picture.link_query import LinkQuery
from headlight.picture.query import Query
from headlight.queue.client import Client
from headlight.queue.executor import QUEUE, Queue
from headlight.registry import get_source
from headlight.server.base_path import BASE
from headlight.server.network import should_gzip
from headlight.server.sockets import client_network_from_scope
from headlight.ui import pages
from mha_core.errors import HeadlightError

from .index_html import INDEX, inject_head, unknown_page
from .routes import GZIP_LEVEL, classify, error_response

WAIT_SECONDS = 0.25  # for the picture, which the page fetches itself if it takes longer
# path of a page with a picture -> its package and the module of its view
PAGES = {
    "/": ("explore", "explore/explore.js"),
    "/model-map": ("model_map", "model_map/model_map.js"),
    "/masks": ("masks", "masks/painter.js"),
    "/compare": ("compare", "compare/pair.js"),
    "/shapes": ("shapes", "shapes/steps.js"),
}
_PAGE_PATHS = {f"/{pages.path(name)}".rstrip("/") for name in pages.PAGES}


class PrerenderMiddleware:
    """ASGI middleware that adds the picture of a link to the page.

    `first_message` returns the first message of a page, by its package, for a query; the queue computes it.
    """

    def __init__(self, app: ASGIApp, first_message: Callable[[str, bytes], bytes], queue: Queue = QUEUE) -> None:
        self.app, self._queue, self._first_message = app, queue, first_message

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a page with its picture; redirect former paths, and pass on what is not a page."""
        whole_path = scope.get("path", "")
        path = whole_path.removeprefix(BASE)
        # a last segment with a dot is a file
        is_page = scope["type"] == "http" and scope["method"] == "GET" and "." not in path.rpartition("/")[2]
        if not is_page or not f"{whole_path}/".startswith(f"{BASE}/") or len(scope["query_string"]) > MAX_QUERY_BYTES:
            await self.app(scope, receive, send)
            return
        target = _redirect_target(path, scope["query_string"].decode("latin-1"))
        if target is not None:
            redirect: Response = RedirectResponse(f"{scope.get('root_path', '')}{BASE}/{target}")
            # quoting makes it longer, and proxies limit headers
            if len(redirect.headers["location"]) > MAX_QUERY_BYTES:
                redirect = error_response(414, f"A link may have at most {MAX_QUERY_BYTES:,} bytes.")
            await redirect(scope, receive, send)
            return
        page = PAGES.get(path)
        picture = asyncio.ensure_future(self._picture(page[0], scope)) if page else None
        response = _BufferedResponse(send, scope)
        try:
            # the page is changed, so it must come uncompressed and whole, never as 304
            headers = [pair for pair in scope["headers"] if pair[0] not in _CONDITIONS]
            await self.app({**scope, "headers": headers}, receive, response.capture)
            if path.rstrip("/") not in _PAGE_PATHS and INDEX in response.text:
                await response.send(unknown_page(path, response.text), 404)
            else:
                model = await asyncio.to_thread(_model_tag, path, scope["query_string"])  # it may read a file
                message = await picture if picture else None
                more = _course_tag(scope["query_string"]) + model
                await response.send(inject_head(response.text, page and page[1], message, more))
        finally:
            if picture:
                picture.cancel()

    async def _picture(self, page: str, scope: Scope) -> bytes | None:
        """Return the message, None if it is not ready in time."""
        raw = scope["query_string"]
        try:
            if not get_source(Query(raw)["model"]).is_loaded:  # the page loads it and shows the progress
                return None
            return await self._queue.submit(
                Client(f"opens from {client_network_from_scope(scope)}"),
                (page, raw),
                lambda: self._first_message(page, raw),
                asyncio.sleep(WAIT_SECONDS),
                work=classify(page, raw),
            )
        except Exception:  # the page asks again and shows the error
            return None


def _redirect_target(path: str, query: str) -> str | None:
    """Return the path and query that a former link leads to, None for a current one."""
    name, params = path.strip("/"), dict(parse_qsl(query))
    if room := re.fullmatch("room/([A-Za-z2-9]{6})", name):  # typed with the code of a room
        return f"room#{room[1]}"
    if name in pages.REDIRECTS or (BASE and not path):
        page, added = pages.REDIRECTS.get(name, ("", {}))
        present = params.keys() | ({"s", "at"} if "model" in params else set())
        pairs = [*(f"{key}={text}" for key, text in added.items() if key not in present), query]
        full_query = "&".join(filter(None, pairs))
        return f"{page}?{full_query}" if full_query else page
    if name != "claims" or not params.keys() & {"claim", "say"}:
        return None
    from headlight.lessons.course import course

    # an answer without a claim belonged to the first claim, which differed when answers were numbers
    first = "orange" if params.get("say", "").isdecimal() else "symmetric"
    return course().claims().get(params.get("claim", first), "claims")


_CONDITIONS = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")


class _BufferedResponse:
    """A response that is buffered if it is an HTML page, and passed on otherwise."""

    def __init__(self, send: Send, scope: Scope) -> None:
        self._send, self._scope = send, scope
        self._start: Message | None = None  # if the response is a page
        self._body = b""

    async def capture(self, message: Message) -> None:
        """Buffer or pass on a message of the response."""
        if message["type"] == "http.response.start" and message["status"] == 200:
            kind = Headers(raw=message["headers"]).get("content-type", "")
            self._start = message if kind.startswith("text/html") else None
        elif self._start is not None:
            self._body += message.get("body", b"")
        if self._start is None:
            await self._send(message)

    @property
    def text(self) -> str:
        """The page as text, "" if the response is not a page."""
        return self._body.decode("utf-8")

    async def send(self, text: str, status: int = 200) -> None:
        """Send this text in place of the page."""
        if self._start is None:
            return
        body = text.encode("utf-8")
        self._start["status"] = status
        headers = MutableHeaders(scope=self._start)
        for name in ("etag", "last-modified", "content-length"):
            del headers[name]  # if it is there
        headers["Cache-Control"] = "no-store"  # it contains the user's sentence
        if should_gzip(self._scope):
            body = gzip.compress(body, GZIP_LEVEL, mtime=0)
            headers["Content-Encoding"] = "gzip"
        headers["Content-Length"] = str(len(body))
        await self._send(self._start)
        await self._send({"type": "http.response.body", "body": body})


def _course_tag(raw: bytes) -> str:
    """Return the course as a script tag if the link is a step of it, "" otherwise.

    A step may hide the picture, so that the curtain must be there before it.
    """
    if b"learn=" not in raw:
        return ""
    from headlight.lessons.message import as_json

    return f'<script type="application/json" id="headlight-course">{as_json()}</script>'


def _model_tag(path: str, raw: bytes) -> str:
    """Return name, title and summary of the model as a script tag for the bar, "" for a page without one."""
    if not any(page.model and path == f"/{pages.path(name)}" for name, page in pages.PAGES.items()):
        return ""
    try:
        source = get_source(LinkQuery(raw).name)
        model_json = json.dumps((source.name, source.title, source.about.summary)).replace("<", "\\u003c")
    except HeadlightError:
        return ""
    return f'<script type="application/json" id="headlight-model">{model_json}</script>'
