"""Headlight's entry: the ASGI app, warmed up before the first visitor. Start it with `streamlit run app.py`."""

from __future__ import annotations

import gc

# Imports make many long-lived objects; collecting among them costs 0.4 s of start-up. `lifespan` switches it on again.
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
from headlight.server.gates import ClosedRoutesMiddleware, HostMiddleware
from headlight.server.headers import SecurityHeaders
from headlight.server.own_files import MemoryFiles
from headlight.server.own_routes import LazyApp, MountMiddleware
from headlight.server.readiness import ReadinessMiddleware
from headlight.server.sockets import NoDelay, allow_open_files
from headlight.ui import web
from pages.frame.socket_gate import SocketGate
from pages.frame.upload_gate import UploadGate

HERE = Path(__file__).parent
SWITCH_SECONDS = 0.0005
# What lies below the addresses of a version that this is not: a proxy may have another copy that has it.
OF_ANOTHER_VERSION = PlainTextResponse("That is of another version.", 404, {"Cache-Control": "no-store"})
GATES = (NoDelay, SecurityHeaders, ReadinessMiddleware, HostMiddleware, ClosedRoutesMiddleware, SocketGate, UploadGate)

allow_open_files()
memory.limit_malloc_arenas()
# A pass is hundreds of calls into torch, and after each it may have to wait so long until it may go on in Python.
sys.setswitchinterval(SWITCH_SECONDS)

# `--logger.level=debug` shows everything
if st.get_option("logger.level") != "debug":
    logs.install_redacting_records()

try:
    STORE = store.store_at(os.environ.get(store.VARIABLE, ""))
except ValueError as error:
    sys.exit(f"headlight: {store.VARIABLE}: {error}.")

# On an unknown Origin Streamlit asks a host outside for this machine's address. Nothing leaves this machine.
net_util.get_external_ip = lambda: None


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Loads the model and runs it once, then takes all of it out of the garbage collector's sight."""
    end: AbstractContextManager[None] = nullcontext()
    try:
        from headlight.jobs.visit import end_all, wind_up
        from headlight.lessons import course
        from headlight.picture.pictures import warm_up

        warm_up()
        course.begin(sys.argv[1:])
        end = readiness.graceful_shutdown(wind_up, end_all)
    except ImportError as error:  # a package is missing: the pages say which, the server stays up
        logging.getLogger(__name__).warning("Headlight starts without its model: %s", error)
    gc.freeze()
    gc.enable()
    memory.Sweeper().start()
    readiness.STATE.is_warm = True
    with end:
        yield


def wire() -> ASGIApp:
    """The data routes."""
    from headlight.api.routes import DataApi

    return DataApi(handlers)


def handlers() -> Mapping[str, Callable[[bytes], bytes]]:
    """The handlers of all pages, imported when the first of them is asked for."""
    from pages.handlers import HANDLERS

    return HANDLERS


def machine() -> ASGIApp:
    """What only who sits at this machine may ask."""
    from headlight.api.machine import of_this_machine

    return of_this_machine


def rooms() -> ASGIApp:
    """The rooms of a class."""
    from headlight.rooms.routes import RoomRoutes

    return RoomRoutes(STORE)


def own_files() -> ASGIApp:
    """The browser's files."""
    return MemoryFiles(web.FILES)


def first_message(page: str, raw: bytes) -> bytes:
    """The message that a page begins with. Raises a HeadlightError when it has to come later."""
    from pages.handlers import FIRST

    return FIRST[page](raw)


def first_picture(app: ASGIApp) -> ASGIApp:
    """Pages with their picture in them."""

    def make() -> ASGIApp:
        from headlight.api.first import FirstPicture

        return FirstPicture(app, first_message)

    return LazyApp(make)


app = st.App(
    str(HERE / "pages" / "frame" / "shell.py"),
    lifespan=lifespan,
    routes=[
        Route(handout.ADDRESS, handout.handout),
        Route(room.ADDRESS, room.page),
        Route(room.PRIVACY, room.privacy),
    ],
    middleware=[
        *(Middleware(gate) for gate in GATES),
        Middleware(
            MountMiddleware,
            {
                f"{web.API}/machine": LazyApp(machine),
                f"{web.API}/room": LazyApp(rooms),
                web.API: LazyApp(wire),
                web.PREFIX: LazyApp(own_files),
                web.VERSIONS: OF_ANOTHER_VERSION,
            },
        ),
        Middleware(first_picture),
    ],
)
