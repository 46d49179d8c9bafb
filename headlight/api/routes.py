"""The data API: GET routes that return binary messages for a link's query, without a run of Streamlit's script.

Only this server's own pages may use them. Errors are plain text with a fitting status.
"""

import asyncio
import gzip
import hashlib
import logging
import secrets
from collections.abc import Callable, Mapping

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from headlight.link.limits import MAX_QUERY_BYTES
from headlight.picture import words
from headlight.picture.link_query import UnusableText
from headlight.picture.query import parse
from headlight.queue.client import Client, is_open
from headlight.queue.executor import QUEUE, ClientDisconnected, Queue
from headlight.queue.policy import QueueFull, Superseded, Work
from headlight.registry.foreign import Foreign
from headlight.server.logs import summarize_exception
from headlight.server.missing import missing_package
from headlight.server.network import should_gzip
from headlight.server.sockets import abort_connection, client_network_from_scope, wait_for_disconnect
from headlight.ui.web import API
from mha_core.errors import HeadlightError

# A link's query -> a message of `headlight.ui.packing`; for a link that it cannot answer it raises a HeadlightError.
Handler = Callable[[bytes], bytes]

Handlers = Mapping[str, Handler]

LESSONS = ("course", "lesson", "lesson.handout", "search")  # routes whose files may change while the server runs
BYTES = "application/octet-stream"
TYPES = {"qr": "image/svg+xml", "image": "image/png", "audio": "audio/wav"}  # of files that a page shows directly
# panels below a picture, which must not delay other pictures
LOW_PRIORITY = (
    "outcomes", "encodings", "shuffle", "reshape", "classes", "comparison", "ablations", "lesson",
    "overview", "flow", "channels", "residual", "lens", "cache",
)  # fmt: skip
SESSION_HEADER = "headlight-visit"  # header with the client's session ID
# routes with query keys that are not in the table of fields
KEYED_BY_RAW_QUERY = ("part", "tile", "film", "qr", "lesson.handout")
LONG_QUERY_BYTES = 700  # about a sentence of a hundred words
CHUNK_BYTES = 2**17
SEND_TIMEOUT_S = 30.0  # for one chunk
GZIP_LEVEL = 1  # level 6 saves a fifth of the bytes and takes five times as long
_PROCESS_SALT = secrets.token_hex(4)  # after a restart results may differ in their last digits

log = logging.getLogger(__name__)


class DataApi:
    """ASGI app of the routes under `API`, whose handlers run in the queue.

    `handlers` returns them by the names of their routes, at a request, so that the response names a missing package.
    """

    def __init__(self, handlers: Callable[[], Handlers], queue: Queue = QUEUE) -> None:
        self._import_handlers, self._queue = handlers, queue
        self._handlers: Handlers | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        name, headers = scope["path"].removeprefix(f"{API}/"), Headers(scope=scope)
        gzipped, raw = should_gzip(scope), scope["query_string"]
        try:
            if self._handlers is None:  # imports for 0.1 s, in which others are served
                self._handlers = await asyncio.to_thread(self._import_handlers)
            handlers = self._handlers
            rejection = _rejection(scope, handlers, headers)
            if rejection is not None:
                await rejection(scope, receive, send)
                return
            parsed = parse(raw)
            files = await asyncio.to_thread(_course_stamps) if name in LESSONS else None
            query = raw if name in KEYED_BY_RAW_QUERY else parsed.pairs
            tag = _etag(name, query, gzipped, files)
            if headers.get("if-none-match") == tag:
                await Response(None, 304, _headers(tag))(scope, receive, send)
                return
            body = await self._queue.submit(
                self._client(scope, headers),
                tag,
                lambda: _compute(handlers[name], raw, gzipped),
                wait_for_disconnect(receive),
                work=classify(name, raw),
                view=name,
            )
        except Superseded:  # the client has sent a newer request, or repeats this one
            await Response(None, 204, {"Cache-Control": "no-store"})(scope, receive, send)
        except QueueFull as busy:
            await error_response(429, str(busy), {"Retry-After": "1"})(scope, receive, send)
        except UnusableText as error:
            fits = {"Headlight-Fits": str(error.fits)} if error.fits else {}
            await error_response(422, str(error), {"Headlight-Key": error.key, **fits})(scope, receive, send)
        except HeadlightError as error:
            await error_response(422, words.error_sentence(error))(scope, receive, send)
        except ClientDisconnected:
            return
        except Exception as error:  # its message may quote the user, so that it is not logged
            if package := missing_package(error):
                text = f"The package {package} is missing. Set Headlight up again with make run, then reload this page."
                await error_response(422, text)(scope, receive, send)
                return
            place = summarize_exception((type(error), error, error.__traceback__))
            log.error("The route %s failed with %s", name, place)
            response = error_response(500, "This picture could not be computed.")
            if key := _foreign_key(raw):  # its files are the cause, so that nothing is retried
                reason = type(error).__name__
                text = f"This model cannot be run on this input ({reason}); the server’s log says where it failed."
                response = error_response(422, text, {"Headlight-Key": key})
            await response(scope, receive, send)
        else:
            # always set, as Streamlit compresses responses without an encoding, slower than sending them locally
            encoding = {"Content-Encoding": "gzip" if gzipped else "identity", "Content-Type": TYPES.get(name, BYTES)}
            await _send_chunks(body, _headers(tag) | encoding, receive, send)

    def _client(self, scope: Scope, headers: Headers) -> Client:
        """Return the client of a request: its session, or its address alone where no page is open."""
        name = headers.get(SESSION_HEADER, "")
        return Client(client_network_from_scope(scope), name if is_open(name) else "")


async def _send_chunks(body: bytes, headers: Mapping[str, str], receive: Receive, send: Send) -> None:
    """Send a response in chunks, and abort the connection when the client stops reading."""
    start = Response(None, 200, {**headers, "Content-Length": str(len(body))})
    try:
        await send({"type": "http.response.start", "status": 200, "headers": start.raw_headers})
        for first in range(0, len(body), CHUNK_BYTES):
            async with asyncio.timeout(SEND_TIMEOUT_S):
                end = first + CHUNK_BYTES
                await send({"type": "http.response.body", "body": body[first:end], "more_body": end < len(body)})
    except OSError:  # a TimeoutError too
        abort_connection(receive)


def _rejection(scope: Scope, handlers: Handlers, headers: Headers) -> ASGIApp | None:
    """Return the error response to an invalid request, None for a valid one."""
    if scope["path"].removeprefix(f"{API}/") not in handlers:
        return error_response(404, "Unknown route.")
    if scope["method"] != "GET":
        return error_response(405, "Only GET is allowed.", {"Allow": "GET"})
    if not is_same_origin(headers):
        return error_response(403, "Only requests from Headlight’s own pages are accepted.")
    if len(scope["query_string"]) > MAX_QUERY_BYTES:
        return error_response(414, f"A query may have at most {MAX_QUERY_BYTES:,} bytes.")
    return None


def _foreign_key(raw: bytes) -> str:
    """Return the key of a query that names a model of another maker, "" if none does."""
    values = parse(raw).values
    return next((key for key in ("model2", "model") if Foreign.matches(str(values.get(key) or ""))), "")


def _compute(handler: Handler, raw: bytes, gzipped: bool) -> bytes:
    message = handler(raw)
    return gzip.compress(message, GZIP_LEVEL, mtime=0) if gzipped else message


def classify(route: str, raw: bytes) -> Work:
    """Return the kind of work that a request seems to need, judged by its route and query alone."""
    is_long = len(raw) > LONG_QUERY_BYTES
    if route == "lesson.handout" or (is_long and route in LOW_PRIORITY):
        return Work.HEAVY
    if route in LOW_PRIORITY:
        return Work.LOW_PRIORITY
    return Work.LONG if is_long or "." in route else Work.PICTURE


def _course_stamps() -> object:
    from headlight.lessons.course import course

    return course().stamps


def error_response(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error as plain text."""
    return PlainTextResponse(sentence, status, {"Cache-Control": "no-store", **(headers or {})})


def _etag(name: str, query: object, gzipped: bool, files: object) -> str:
    """Return the ETag of a response, which depends on the query, the encoding and the course files."""
    identity = repr((_PROCESS_SALT, name, query, gzipped, files)).encode("utf-8", "surrogatepass")
    return f'"{hashlib.blake2b(identity, digest_size=12).hexdigest()}"'


def _headers(tag: str) -> dict[str, str]:
    return {
        "Cache-Control": "private, no-cache",  # stored by the browser and revalidated by its ETag
        "ETag": tag,
        "Vary": "Accept-Encoding",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


def is_same_origin(headers: Headers) -> bool:
    """Return whether a request comes from this server's own page, judged by the headers that the browser sends."""
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host"):
        return False
    return headers.get("sec-fetch-site", "none") in ("same-origin", "none")
