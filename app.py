"""The ASGI app of Headlight, which loads the model before the first request. Run it with `streamlit run app.py`."""

import gc

# Imports create many long-lived objects, and collections among them take 0.4 s. `lifespan` enables it again.
gc.disable()

import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from importlib import import_module
from pathlib import Path

import streamlit as st

from headlight.server import options

options.read = st.get_option

from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp
from streamlit import net_util

from headlight.api import handout
from headlight.rooms import page as room
from headlight.rooms import store
from headlight.server import framing, logs, memory, readiness
from headlight.server.base_path import BASE
from headlight.server.headers import SecurityHeaders
from headlight.server.host_middleware import HostMiddleware
from headlight.server.memory_files import MemoryFiles
from headlight.server.mounts import LazyApp, MountMiddleware
from headlight.server.readiness import ReadinessMiddleware
from headlight.server.sockets import NoDelay, allow_open_files
from headlight.ui import pages, web
from pages.frame.socket_middleware import SocketMiddleware
from pages.frame.upload_middleware import UploadMiddleware

ROOT = Path(__file__).parent
SWITCH_SECONDS = 0.0005
# Files of another version, which a proxy may find on another replica.
OTHER_VERSION = PlainTextResponse("This file belongs to another version.", 404, {"Cache-Control": "no-store"})
STACK = (ReadinessMiddleware, HostMiddleware, SocketMiddleware, UploadMiddleware)
PAGE_PATHS = {f"{BASE}/{pages.path(name)}".rstrip("/") for name in pages.PAGES}

allow_open_files()
memory.limit_malloc_arenas()
# A pass is hundreds of calls into torch, and after each one it may wait this long for the GIL.
sys.setswitchinterval(SWITCH_SECONDS)

# `--logger.level=debug` logs everything
if st.get_option("logger.level") != "debug":
    logging.setLogRecordFactory(logs.RedactingRecordFactory())

try:
    STORE = store.open_store(os.environ.get(store.VARIABLE, ""))
except ValueError as error:
    sys.exit(f"headlight: {store.VARIABLE}: {error}.")
try:
    FRAMING_SITES = framing.origins()
except ValueError as error:
    sys.exit(f"headlight: {framing.VARIABLE}: {error}.")
for risk in framing.warnings(FRAMING_SITES):
    print(f"headlight: {risk}", file=sys.stderr, flush=True)

# On an unknown Origin Streamlit asks an external host for this machine's address; no request may leave the machine.
net_util.get_external_ip = lambda: None


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Load the model, run it once, and freeze all objects for the garbage collector."""
    if options.start_for_class.startswith("make"):  # the command prints a link of its own
        address, port, path = map(st.get_option, ("browser.serverAddress", "server.port", "server.baseUrlPath"))
        print(f"Headlight: http://{address}:{port}/{path.strip('/')}", flush=True)
    end: AbstractContextManager[None] = nullcontext()
    try:
        from headlight.jobs.workspace import end_all, shut_down
        from headlight.lessons import course
        from headlight.picture.pictures import warm_up

        warm_up()
        course.load_at_startup(sys.argv[1:])
        end = readiness.graceful_shutdown(shut_down, end_all)
    except ImportError as error:  # a package is missing, which the pages name
        logging.getLogger(__name__).warning("Headlight starts without its model: %s", error)
    gc.freeze()
    gc.enable()
    memory.Sweeper().start()
    readiness.STATE.is_warm = True
    with end:
        yield


def first_message(page: str, raw: bytes) -> bytes:
    """Return the first message of a page. Raises a HeadlightError if it has to be fetched later."""
    message: bytes = import_module("pages.handlers").FIRST[page](raw)
    return message


def first_picture(app: ASGIApp) -> ASGIApp:
    """Return the middleware that pre-renders pages."""
    return LazyApp(lambda: import_module("headlight.api.prerender").PrerenderMiddleware(app, first_message))


def data_api() -> ASGIApp:
    """Return the app of the data routes, which imports the handlers of all pages at the first request."""
    routes = import_module("headlight.api.routes")
    api: ASGIApp = routes.DataApi(lambda: import_module("pages.handlers").HANDLERS)
    return api


app = st.App(
    str(ROOT / "pages" / "frame" / "shell.py"),
    lifespan=lifespan,
    routes=[
        Route(handout.ADDRESS, handout.handout),
        Route(room.ADDRESS, room.page),
        Route(room.PRIVACY, room.privacy),
    ],
    middleware=[
        Middleware(NoDelay),
        Middleware(SecurityHeaders, PAGE_PATHS, FRAMING_SITES),
        *(Middleware(layer) for layer in STACK),
        Middleware(
            MountMiddleware,
            {
                f"{web.API}/machine": LazyApp(lambda: import_module("headlight.api.machine").machine_app),
                f"{web.API}/room": LazyApp(lambda: import_module("headlight.rooms.routes").RoomRoutes(STORE)),
                web.API: LazyApp(data_api),
                web.PREFIX: MemoryFiles(web.FILES),
                web.VERSIONS: OTHER_VERSION,
            },
        ),
        Middleware(first_picture),
    ],
)
