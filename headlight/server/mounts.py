"""Headlight's own routes, answered before Streamlit's middleware, which would compress their responses again."""

from collections.abc import Callable, Mapping
from functools import cache

from starlette.types import ASGIApp, Receive, Scope, Send


class MountMiddleware:
    """ASGI middleware that mounts apps at path prefixes without a trailing slash; the first match wins.

    A mounted app gets the prefix as `root_path`.
    """

    def __init__(self, app: ASGIApp, routes: Mapping[str, ASGIApp]) -> None:
        self.app = app
        self._routes = {f"{prefix}/": mounted for prefix, mounted in routes.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the connection to the app of its prefix, or on."""
        if scope["type"] == "http":
            for prefix, mounted in self._routes.items():
                if scope["path"].startswith(prefix):
                    await mounted({**scope, "root_path": prefix[:-1]}, receive, send)
                    return
        await self.app(scope, receive, send)


class LazyApp:
    """ASGI app that is created at its first request, so that its imports do not delay start-up."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = cache(make)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Create the app if need be, and pass the connection to it."""
        await self._make()(scope, receive, send)
