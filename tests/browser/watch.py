"""Listen to a page for everything that must not happen on it."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Error, Page, Request, WebSocket

__all__ = ["Watch"]


class Watch:
    """Everything that must not happen on a page: errors, warnings, failed requests, requests to anyone else."""

    def __init__(self, page: Page, url: str) -> None:
        self.host = urlsplit(url).netloc
        self.complaints: list[str] = []
        self.page = page
        self.heard: dict[str, Callable[..., None]] = {
            "console": self.console,
            "pageerror": self.error,
            "request": self.request,
            "websocket": self.socket,
            "requestfailed": self.failed,
        }
        for event, hear in self.heard.items():
            page.on(event, hear)  # type: ignore[call-overload]

    def stop(self) -> None:
        for event, hear in self.heard.items():
            self.page.remove_listener(event, hear)

    def error(self, error: Error) -> None:
        self.complaints.append(f"page error: {error}")

    def request(self, request: Request) -> None:
        self.address(request.url)

    def console(self, message: ConsoleMessage) -> None:
        path = urlsplit(message.location.get("url", "")).path
        # what cannot be shown has a status of its own, and the view says why
        if "status of 422" in message.text and re.fullmatch(r"/headlight/\w+/api/[\w./]+", path):
            return
        if message.type in ("error", "warning"):
            self.complaints.append(f"console {message.type}: {message.text} ({message.location.get('url', '')})")

    def address(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and parts.netloc != self.host:
            self.complaints.append(f"request to {url}")

    def socket(self, socket: WebSocket) -> None:
        self.address(socket.url)

    def failed(self, request: Request) -> None:
        # a page that is left or reloaded aborts what it was still loading
        if request.failure != "net::ERR_ABORTED":
            self.complaints.append(f"failed request {request.url}: {request.failure}")
