"""The first picture: a page brings its bar, its question and the answer to its own link along, and what draws them.

They stand before Streamlit is there: what the page asked for itself would wait behind a hundred files of the front end.
"""

import asyncio
import base64
import gzip
import html
import json
import re
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headlight.picture.link_query import LinkQuery
from headlight.picture.query import LONGEST, Query
from headlight.queue.executor import QUEUE, Gone, Queue
from headlight.queue.visitor import Visitor
from headlight.registry import source_of
from headlight.server.base_path import BASE
from headlight.server.network import wants_gzip
from headlight.server.sockets import network_of
from headlight.ui import pages
from headlight.ui.web import PREFIX, SCRIPT
from mha_core.errors import HeadlightError

from .routes import GZIP_LEVEL, refused, work_of

WAIT_SECONDS = 0.25  # for the picture; without it the page is as good, and later
# The path of a page that begins with a picture -> its package, whose message.first answers, and the module of its view.
PAGES = {
    "/": ("explore", "explore/explore.js"),
    "/masks": ("masks", "masks/painter.js"),
    "/compare": ("compare", "compare/pair.js"),
    "/shapes": ("shapes", "shapes/steps.js"),
}
_KNOWN = {f"/{pages.path(name)}".rstrip("/") for name in pages.PAGES}
_OWN_NAME = f"/{pages.DEFAULT}"  # of the default page, which Streamlit does not find by it
_INDEX = '<div id="root">'  # what Streamlit answers to every address that it knows nothing of
_UNKNOWN = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>No such page · Headlight</title>
<link rel="stylesheet" href="{prefix}/frame/house.css"><body class="unknown-page">
<h1>There is no page named “{name}”.</h1><p>These are there:</p><ul>{links}</ul></body></html>"""
# What has the browser fetch our files at once, and then run what draws first; both scripts when the page has been read.
_OWN = f"""<script defer src="{PREFIX}/frame/boot.js"></script>
<link rel="stylesheet" href="{PREFIX}/frame/house.css">
<link rel="stylesheet" class="lesson" href="{PREFIX}/lessons/lesson.css">
<script type="module" src="{PREFIX}/{SCRIPT}"></script>"""
_FONT = re.compile(r'href="(\./static/media/SourceSansVF-Upright[^"]*\.woff2)"')
_SCRIPT = re.compile(r'<script type="module"[^>]*></script>|<link rel="modulepreload"[^>]*>')


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
        if not is_page or not f"{whole_path}/".startswith(f"{BASE}/") or len(scope["query_string"]) > LONGEST:
            await self.app(scope, receive, send)
            return
        if path.rstrip("/") == _OWN_NAME or (BASE and not path):
            query = scope["query_string"].decode("latin-1")
            home = f"{scope.get('root_path', '')}{BASE}/"
            moved: Response = RedirectResponse(f"{home}?{query}" if query else home)
            if len(moved.headers["location"]) > LONGEST:  # it quotes, and a proxy takes headers of a bounded size
                moved = refused(414, f"A link may have {LONGEST:,} bytes.")
            await moved(scope, receive, send)
            return
        page = PAGES.get(path)
        picture = asyncio.ensure_future(self._picture(page[0], scope)) if page else None
        whole = _Whole(send, scope)
        try:
            # the page as it is, not packed and not “as before”: it is another one with the picture in it
            plain = [pair for pair in scope["headers"] if pair[0] not in _CONDITIONS]
            await self.app({**scope, "headers": plain}, receive, whole.hold)
            if path.rstrip("/") not in _KNOWN and _INDEX in whole.text:
                await whole.release(_unknown(path), 404)
            else:
                model = await asyncio.to_thread(_model, path, scope["query_string"])  # a file of the store, maybe
                more = _course(scope["query_string"]) + model
                await whole.release(_with_first(whole.text, page and page[1], await picture if picture else None, more))
        finally:
            if picture:
                picture.cancel()

    async def _picture(self, page: str, scope: Scope) -> bytes | None:
        """The message, None where it cannot be had in time."""
        raw = scope["query_string"]
        try:
            if not source_of(Query(raw)["model"]).is_loaded:  # the page itself loads it, and says so
                return None
            return await self._queue.answer(
                Visitor(f"opens from {network_of(scope)}"),
                (page, raw),
                lambda: self._answers(page, raw),
                asyncio.sleep(WAIT_SECONDS),
                work=work_of(page, raw),
            )
        except (HeadlightError, ImportError, Gone):  # the page itself says why, if there is anything to say
            return None


_CONDITIONS = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")


class _Whole:
    """An answer that is held back until it is complete, if it is a page."""

    def __init__(self, send: Send, scope: Scope) -> None:
        self._send, self._scope = send, scope
        self._start: Message | None = None  # of a page
        self._body = b""

    async def hold(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 200:
            kind = Headers(raw=message["headers"]).get("content-type", "")
            self._start = message if kind.startswith("text/html") else None
        elif self._start is not None:
            self._body += message.get("body", b"")
        if self._start is None:
            await self._send(message)

    @property
    def text(self) -> str:
        """The page; empty while the answer is none."""
        return self._body.decode("utf-8")

    async def release(self, text: str, status: int = 200) -> None:
        """Sends this in the page's place."""
        if self._start is None:
            return
        body = text.encode("utf-8")
        self._start["status"] = status
        headers = MutableHeaders(scope=self._start)
        for name in ("etag", "last-modified", "content-length"):
            if name in headers:
                del headers[name]
        headers["Cache-Control"] = "no-store"  # a sentence is in it
        if wants_gzip(self._scope):
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


def _with_first(index: str, module: str | None, message: bytes | None, more: str = "") -> str:
    """Streamlit's page with what stands first in front of everything that it loads."""
    font = _FONT.search(index)
    if _INDEX not in index or font is None:
        return index
    listed = f'<script type="application/json" id="headlight-pages">{pages.as_json()}</script>'
    face = f'@font-face {{ font-family: "Source Sans"; font-weight: 200 900; src: url("{html.escape(font[1])}"); }}'
    block = ""
    if module and message is not None:
        data = base64.b64encode(message).decode("ascii")
        block = f'<script type="text/plain" id="headlight-first" data-file="{module}">{data}</script>'
    head = "".join([f"<style>{face}</style>", _OWN, listed, more, block])
    return _held_back(index).replace("<title>", head + "<title>", 1)


def _unknown(path: str) -> str:
    """The page for an address that is none."""
    links = "".join(
        f'<li><a href="{BASE}/{pages.path(name)}">{named.title}</a> {html.escape(named.question)}</li>'
        for name, named in pages.PAGES.items()
    )
    return _UNKNOWN.format(prefix=PREFIX, name=html.escape(path.strip("/")[:60]), links=links)


def _held_back(index: str) -> str:
    """The page with Streamlit's own scripts in a template, which boot.js empties when the picture is drawn."""
    found = _SCRIPT.findall(index)
    if not found:
        return index
    later = f'<template id="headlight-later">{"".join(found)}</template>'
    return _SCRIPT.sub("", index).replace("</head>", f"{later}</head>", 1)
