"""The first picture: a page brings its bar, its question and the answer to its own link along, and what draws them.

They stand before Streamlit is there: what the page asked for itself would wait behind a hundred files of the front end.
"""

import asyncio
import gzip
import json
from collections.abc import Callable
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headlight.picture.link_query import LinkQuery
from headlight.picture.query import MAX_BYTES, Query
from headlight.queue.client import Client
from headlight.queue.executor import QUEUE, ClientDisconnected, Queue
from headlight.registry import source_of
from headlight.server.base_path import BASE
from headlight.server.network import should_gzip
from headlight.server.sockets import client_network_of
from headlight.ui import pages
from mha_core.errors import HeadlightError

from .index_html import INDEX, inject_head, unknown_page
from .routes import GZIP_LEVEL, classify, error_response

WAIT_SECONDS = 0.25  # for the picture; without it the page is as good, and later
# The path of a page that begins with a picture -> its package, whose message.first answers, and the module of its view.
PAGES = {
    "/": ("explore", "explore/explore.js"),
    "/masks": ("masks", "masks/painter.js"),
    "/compare": ("compare", "compare/pair.js"),
    "/shapes": ("shapes", "shapes/steps.js"),
}
_KNOWN = {f"/{pages.path(name)}".rstrip("/") for name in pages.PAGES}


class FirstPicture:
    """ASGI middleware that puts the picture of a link into the page that the link opens.

    Args:
        answers: the message that a page of this name begins with, for a query.
    """

    def __init__(self, app: ASGIApp, answers: Callable[[str, bytes], bytes], queue: Queue = QUEUE) -> None:
        self.app, self._queue, self._answers = app, queue, answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        whole_path = scope.get("path", "")
        path = whole_path.removeprefix(BASE)
        # a last part with a point is a file's
        is_page = scope["type"] == "http" and scope["method"] == "GET" and "." not in path.rpartition("/")[2]
        if not is_page or not f"{whole_path}/".startswith(f"{BASE}/") or len(scope["query_string"]) > MAX_BYTES:
            await self.app(scope, receive, send)
            return
        address = _moved(path, scope["query_string"].decode("latin-1"))
        if address is not None:
            redirect: Response = RedirectResponse(f"{scope.get('root_path', '')}{BASE}/{address}")
            if len(redirect.headers["location"]) > MAX_BYTES:  # it quotes, and a proxy takes headers of a bounded size
                redirect = error_response(414, f"A link may have at most {MAX_BYTES:,} bytes.")
            await redirect(scope, receive, send)
            return
        page = PAGES.get(path)
        picture = asyncio.ensure_future(self._picture(page[0], scope)) if page else None
        response = _BufferedResponse(send, scope)
        try:
            # the page as it is, not packed and not “as before”: it is another one with the picture in it
            plain = [pair for pair in scope["headers"] if pair[0] not in _CONDITIONS]
            await self.app({**scope, "headers": plain}, receive, response.capture)
            if path.rstrip("/") not in _KNOWN and INDEX in response.text:
                await response.send(unknown_page(path), 404)
            else:
                model = await asyncio.to_thread(_model, path, scope["query_string"])  # a file of the store, maybe
                message = await picture if picture else None
                more = _course(scope["query_string"]) + model
                await response.send(inject_head(response.text, page and page[1], message, more))
        finally:
            if picture:
                picture.cancel()

    async def _picture(self, page: str, scope: Scope) -> bytes | None:
        """The message, None where it cannot be had in time."""
        raw = scope["query_string"]
        try:
            if not source_of(Query(raw)["model"]).is_loaded:  # the page itself loads it, and says so
                return None
            return await self._queue.submit(
                Client(f"opens from {client_network_of(scope)}"),
                (page, raw),
                lambda: self._answers(page, raw),
                asyncio.sleep(WAIT_SECONDS),
                work=classify(page, raw),
            )
        except (
            HeadlightError,
            ImportError,
            ClientDisconnected,
        ):  # the page itself says why, if there is anything to say
            return None


def _moved(path: str, query: str) -> str | None:
    """Return the address behind the server's that an older one leads to; None for an address of today."""
    name, asked = path.strip("/"), dict(parse_qsl(query))
    if name in pages.MOVED or (BASE and not path):
        page, added = pages.MOVED.get(name, ("", {}))
        present = asked.keys() | ({"s", "at"} if "model" in asked else set())
        pairs = [*(f"{key}={text}" for key, text in added.items() if key not in present), query]
        whole = "&".join(filter(None, pairs))
        return f"{page}?{whole}" if whole else page
    if name != "claims" or not asked.keys() & {"claim", "say"}:
        return None
    from headlight.lessons.course import course

    # an answer without a claim was to the first one, which was another one when answers were numbers
    first = "orange" if asked.get("say", "").isdecimal() else "symmetric"
    return course().claims().get(asked.get("claim", first), "claims")


_CONDITIONS = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")


class _BufferedResponse:
    """A response that is buffered until it is complete, if it is a page."""

    def __init__(self, send: Send, scope: Scope) -> None:
        self._send, self._scope = send, scope
        self._start: Message | None = None  # of a page
        self._body = b""

    async def capture(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 200:
            kind = Headers(raw=message["headers"]).get("content-type", "")
            self._start = message if kind.startswith("text/html") else None
        elif self._start is not None:
            self._body += message.get("body", b"")
        if self._start is None:
            await self._send(message)

    @property
    def text(self) -> str:
        """The page; empty while the response is none."""
        return self._body.decode("utf-8")

    async def send(self, text: str, status: int = 200) -> None:
        """Send this text in the place of the page."""
        if self._start is None:
            return
        body = text.encode("utf-8")
        self._start["status"] = status
        headers = MutableHeaders(scope=self._start)
        for name in ("etag", "last-modified", "content-length"):
            if name in headers:
                del headers[name]
        headers["Cache-Control"] = "no-store"  # a sentence is in it
        if should_gzip(self._scope):
            body = gzip.compress(body, GZIP_LEVEL, mtime=0)
            headers["Content-Encoding"] = "gzip"
        headers["Content-Length"] = str(len(body))
        await self._send(self._start)
        await self._send({"type": "http.response.body", "body": body})


def _course(raw: bytes) -> str:
    """The course, where the link is one of its steps: a curtain must be there before the picture that it hides."""
    if b"learn=" not in raw:
        return ""
    from headlight.lessons.message import as_json

    return f'<script type="application/json" id="headlight-course">{as_json()}</script>'


def _model(path: str, raw: bytes) -> str:
    """The name of the model that the page will show, for the bar."""
    if not any(named.model and path == f"/{pages.path(name)}" for name, named in pages.PAGES.items()):
        return ""
    try:
        title = source_of(LinkQuery(raw).name).title
    except HeadlightError:
        return ""
    said = json.dumps(title).replace("<", "\\u003c")
    return f'<script type="application/json" id="headlight-model">{said}</script>'
