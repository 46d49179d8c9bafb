"""The ASGI app of Headlight, which loads the model before the first request. Run it with `streamlit run app.py`."""

import gc

# Imports create many long-lived objects, and collections among them take 0.4 s. `lifespan` enables it again.
gc.disable()

import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
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
from headlight.server import logs, memory, readiness
from headlight.server.headers import SecurityHeaders
from headlight.server.host_middleware import HostMiddleware, RouteMiddleware
from headlight.server.memory_files import MemoryFiles
from headlight.server.mounts import LazyApp, MountMiddleware
from headlight.server.readiness import ReadinessMiddleware
from headlight.server.sockets import NoDelay, allow_open_files
from headlight.ui import web
from pages.frame.socket_middleware import SocketMiddleware
from pages.frame.upload_middleware import UploadMiddleware

ROOT = Path(__file__).parent
SWITCH_SECONDS = 0.0005
# Files of another version, which a proxy may find on another replica.
OTHER_VERSION = PlainTextResponse("This file belongs to another version.", 404, {"Cache-Control": "no-store"})
STACK = (NoDelay, SecurityHeaders, ReadinessMiddleware, HostMiddleware, RouteMiddleware)

allow_open_files()
memory.limit_malloc_arenas()
# A pass is hundreds of calls into torch, and after each one it may wait this long for the GIL.
sys.setswitchinterval(SWITCH_SECONDS)

# `--logger.level=debug` logs everything
if st.get_option("logger.level") != "debug":
    logs.install_redacting_records()

try:
    STORE = store.open_store(os.environ.get(store.VARIABLE, ""))
except ValueError as error:
    sys.exit(f"headlight: {store.VARIABLE}: {error}.")

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


def data_api() -> ASGIApp:
    """Return the app of the data routes."""
    from headlight.api.routes import DataApi

    return DataApi(handlers)


def handlers() -> Mapping[str, Callable[[bytes], bytes]]:
    """Return the handlers of all pages, imported at the first request."""
    from pages.handlers import HANDLERS

    return HANDLERS


def machine() -> ASGIApp:
    """Return the app for clients on this machine."""
    from headlight.api.machine import machine_app

    return machine_app


def rooms() -> ASGIApp:
    """Return the app of the classroom routes."""
    from headlight.rooms.routes import RoomRoutes

    return RoomRoutes(STORE)


def first_message(page: str, raw: bytes) -> bytes:
    """Return the first message of a page. Raises a HeadlightError if it has to be fetched later."""
    from pages.handlers import FIRST

    return FIRST[page](raw)


def first_picture(app: ASGIApp) -> ASGIApp:
    """Return the middleware that pre-renders pages."""

    def make() -> ASGIApp:
        from headlight.api.prerender import PrerenderMiddleware

        return PrerenderMiddleware(app, first_message)

    return LazyApp(make)


app = st.App(
    str(ROOT / "pages" / "frame" / "shell.py"),
    lifespan=lifespan,
    routes=[
        Route(handout.ADDRESS, handout.handout),
        Route(room.ADDRESS, room.page),
        Route(room.PRIVACY, room.privacy),
    ],
    middleware=[
        *(Middleware(layer) for layer in (*STACK, SocketMiddleware, UploadMiddleware)),
        Middleware(
            MountMiddleware,
            {
                f"{web.API}/machine": LazyApp(machine),
                f"{web.API}/room": LazyApp(rooms),
                web.API: LazyApp(data_api),
                web.PREFIX: MemoryFiles(web.FILES),
                web.VERSIONS: OTHER_VERSION,
            },
        ),
        Middleware(first_picture),
    ],
)
