"""The data routes: a link's query in, the bytes that a view draws out, without a run of the app's script.

GET only, for this server's own pages only. A refusal is one sentence, with the status that fits.
"""

import asyncio
import gzip
import hashlib
import logging
import secrets
import traceback
from collections.abc import Callable, Mapping

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from headlight.picture import words
from headlight.picture.link_query import Refused
from headlight.picture.query import MAX_BYTES, parse
from headlight.queue.client import Client, is_open
from headlight.queue.executor import QUEUE, ClientDisconnected, Queue
from headlight.queue.policy import QueueFull, Superseded, Work
from headlight.server.missing import missing_package
from headlight.server.network import should_gzip
from headlight.server.sockets import abort_connection, client_network_of, wait_for_disconnect
from headlight.ui.web import API
from mha_core.errors import HeadlightError

Handler = Callable[[bytes], bytes]  # a query -> a message of `headlight.ui.packing`

Handlers = Mapping[str, Handler]

LESSONS = ("course", "lesson", "lesson.handout", "search")  # whose files may change while the server runs
BYTES = "application/octet-stream"
TYPES = {"qr": "image/svg+xml", "seen": "image/png", "heard": "audio/wav"}  # of what a page shows as it is
# below a picture: they must not keep another one waiting
LOW_PRIORITY = (
    "outcomes", "several", "shuffled", "reshape", "classes", "compared", "each", "lesson",
    "overview", "flow", "channels",
)  # fmt: skip
VISIT = "headlight-visit"  # the header that names the visitor
# whose queries have keys of their own, which no control has: how far a long picture is, an address, a lesson
KEYED_BY_RAW_QUERY = ("part", "tile", "film", "qr", "lesson.handout")
LONG_QUERY_BYTES = 700  # bytes of a query; a sentence of a hundred words has so many
PIECE = 2**17  # bytes that are sent at once
UNREAD_SECONDS = 30.0  # after which a client that takes no piece is hung up on
GZIP_LEVEL = 1  # 6 makes a fifth fewer bytes in five times the time
_START = secrets.token_hex(4)  # numbers of another start of the server may differ in their last digits

log = logging.getLogger(__name__)


class DataApi:
    """The ASGI app of the routes under `API`.

    Args:
        handlers: gives the table of handlers by the names of their routes; called for each request, so that a missing
            package is named to whoever asks.
    """

    def __init__(self, handlers: Callable[[], Handlers], queue: Queue = QUEUE) -> None:
        self._import_handlers, self._queue = handlers, queue
        self._handlers: Handlers | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name, headers = scope["path"].removeprefix(f"{API}/"), Headers(scope=scope)
        squeezed, raw = should_gzip(scope), scope["query_string"]
        try:
            if self._handlers is None:  # the pages' modules: a tenth of a second in which others are answered
                self._handlers = await asyncio.to_thread(self._import_handlers)
            handlers = self._handlers
            refusal = _error(scope, handlers, headers)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
            parsed = parse(raw)
            files = await asyncio.to_thread(_course_stamps) if name in LESSONS else None
            asked = raw if name in KEYED_BY_RAW_QUERY else parsed.pairs
            tag = _etag(name, asked, squeezed, files)
            if headers.get("if-none-match") == tag:
                await Response(None, 304, _headers(tag))(scope, receive, send)
                return
            body = await self._queue.submit(
                self._client(scope, headers),
                tag,
                lambda: _compute(handlers[name], raw, squeezed),
                wait_for_disconnect(receive),
                work=classify(name, raw),
                view=name,
            )
        except Superseded:  # who asked something newer does not miss it; who did not asks again
            await Response(None, 204, {"Cache-Control": "no-store"})(scope, receive, send)
        except QueueFull as busy:
            await error_response(429, str(busy), {"Retry-After": "1"})(scope, receive, send)
        except Refused as error:
            fits = {"Headlight-Fits": str(error.fits)} if error.fits else {}
            await error_response(422, str(error), {"Headlight-Key": error.key, **fits})(scope, receive, send)
        except HeadlightError as error:
            await error_response(422, words.sentence(error))(scope, receive, send)
        except ClientDisconnected:
            return
        except Exception as error:  # an error's own words may hold a sentence, which belongs in no log
            if package := missing_package(error):
                told = f"The package {package} is missing. Set Headlight up again with make run, then reload this page."
                await error_response(422, told)(scope, receive, send)
                return
            where = "".join(traceback.format_tb(error.__traceback__))
            log.error("The route %s failed with %s at\n%s", name, type(error).__name__, where)
            await error_response(500, "This picture could not be computed.")(scope, receive, send)
        else:
            # said in any case: what says nothing Streamlit packs, which on this machine takes longer than to send it
            encoding = {"Content-Encoding": "gzip" if squeezed else "identity", "Content-Type": TYPES.get(name, BYTES)}
            await _send_pieces(body, _headers(tag) | encoding, receive, send)

    def _client(self, scope: Scope, headers: Headers) -> Client:
        """Return the client of a request: its session, or its address alone where no page is open."""
        name = headers.get(VISIT, "")
        return Client(client_network_of(scope), name if is_open(name) else "")


async def _send_pieces(body: bytes, headers: Mapping[str, str], receive: Receive, send: Send) -> None:
    """Send a response in pieces, so that a client that stops reading is noticed and hung up on."""
    start = Response(None, 200, {**headers, "Content-Length": str(len(body))})
    try:
        await send({"type": "http.response.start", "status": 200, "headers": start.raw_headers})
        for at in range(0, len(body), PIECE):
            async with asyncio.timeout(UNREAD_SECONDS):
                more = at + PIECE < len(body)
                await send({"type": "http.response.body", "body": body[at : at + PIECE], "more_body": more})
    except OSError:  # a TimeoutError too
        abort_connection(receive)


def _error(scope: Scope, handlers: Handlers, headers: Headers) -> ASGIApp | None:
    """The response to a request that is none of this API; None where it is one."""
    if scope["path"].removeprefix(f"{API}/") not in handlers:
        return error_response(404, "There is no such route.")
    if scope["method"] != "GET":
        return error_response(405, "Only GET is answered here.", {"Allow": "GET"})
    if not is_own_page(headers):
        return error_response(403, "Only Headlight’s own pages are answered here.")
    if len(scope["query_string"]) > MAX_BYTES:
        return error_response(414, f"A query may have {MAX_BYTES:,} bytes.")
    return None


def _compute(handler: Handler, raw: bytes, squeezed: bool) -> bytes:
    message = handler(raw)
    return gzip.compress(message, GZIP_LEVEL, mtime=0) if squeezed else message


def classify(route: str, raw: bytes) -> Work:
    """What a question seems to ask for, before anything of it is computed."""
    is_long = len(raw) > LONG_QUERY_BYTES
    if route == "lesson.handout" or (is_long and route in LOW_PRIORITY):
        return Work.HEAVY
    if route in LOW_PRIORITY:
        return Work.BELOW
    return Work.LONG if is_long or "." in route else Work.PICTURE


def _course_stamps() -> object:
    from headlight.lessons.course import course

    return course().stamps


def error_response(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    return PlainTextResponse(sentence, status, {"Cache-Control": "no-store", **(headers or {})})


def _etag(name: str, asked: object, squeezed: bool, files: object) -> str:
    """Names exactly this answer: equal questions have equal ones, as long as the files are the same."""
    said = repr((_START, name, asked, squeezed, files)).encode("utf-8", "surrogatepass")
    return f'"{hashlib.blake2b(said, digest_size=12).hexdigest()}"'


def _headers(tag: str) -> dict[str, str]:
    return {
        "Cache-Control": "private, no-cache",  # kept by the browser, and asked for again by its tag
        "ETag": tag,
        "Vary": "Accept-Encoding",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


def is_own_page(headers: Headers) -> bool:
    """Tells whether this server's page asks, as far as the browser says who does."""
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host"):
        return False
    return headers.get("sec-fetch-site", "none") in ("same-origin", "none")
