"""An ASGI app that is made when it is first asked: its imports do not hold up the start of the server."""

from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send


class LazyApp:
    """The app that `make` makes, once."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make
        self._made: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._made = self._made or self._make()
        await self._made(scope, receive, send)
