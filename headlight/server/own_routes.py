"""Headlight's own addresses, answered in front of Streamlit's layers: what those do to an answer is not for these."""

from collections.abc import Callable, Mapping

from starlette.types import ASGIApp, Receive, Scope, Send


class OwnRoutes:
    """ASGI middleware that hands what is asked below some paths to apps of their own.

    Args:
        routes: the beginning of a path, without a slash at its end -> its app, whose `root_path` it becomes. Of two
            that fit, the first one answers.
    """

    def __init__(self, app: ASGIApp, routes: Mapping[str, ASGIApp]) -> None:
        self.app = app
        self._routes = {f"{beginning}/": own for beginning, own in routes.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for beginning, own in self._routes.items():
                if scope["path"].startswith(beginning):
                    await own({**scope, "root_path": beginning[:-1]}, receive, send)
                    return
        await self.app(scope, receive, send)


class LazyApp:
    """The app that `make` makes when it is first asked, once: its imports do not hold up the start of the server."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make
        self._made: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._made = self._made or self._make()
        await self._made(scope, receive, send)
