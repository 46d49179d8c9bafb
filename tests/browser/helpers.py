"""A server of our own, and the Explore page as a visitor meets it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import ConsoleMessage, ElementHandle, Locator, Page, Request, WebSocket

from mha_core import Model, Run, device, load_model
from pages.kit.picture import models
from pages.kit.picture.models import MINILM
from pages.kit.picture.pictures import Settings
from pages.kit.picture.presets import PRESETS

ROOT = Path(__file__).parents[2]
START_SECONDS = 90
HEALTH = "/_stcore/health"
DEVICE = device.available()[0]
TIRED, WIDE = PRESETS[:2]

# A click is drawn in the next frame, so what it changed can be read after two.
TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
# Drawn with its numbers, everything heard by the server, and the server at rest.
SETTLED = """([view, digest]) => {
  const { numbers, turn, heard, digest: shown } = view.dataset;
  const app = document.querySelector('[data-testid="stApp"]');
  return Boolean(numbers) && Number(heard) >= Number(turn) && (!digest || digest === shown)
    && app.dataset.testScriptState === "notRunning" && view.isConnected;
}"""


class Server:
    """Headlight on a free port, as `streamlit run app.py` starts it; its output goes to a file."""

    def __init__(self, log: Path, **environment: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        options = {"headless": "true", "port": str(self.port), "address": "127.0.0.1"}
        command = [sys.executable, "-m", "streamlit", "run", "app.py"]
        command += [part for name, value in options.items() for part in (f"--server.{name}", value)]
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env={**os.environ, **environment}, stdout=out, stderr=out, stdin=subprocess.DEVNULL
            )
        try:
            self.wait_until_healthy()
        except BaseException:
            self.stop()
            raise

    def wait_until_healthy(self) -> None:
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                with urllib.request.urlopen(self.url + HEALTH, timeout=5) as answer:
                    if answer.read() == b"ok":
                        return
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the server did not start; the end of its log:\n{self.tail()}")
            time.sleep(0.05)

    def check(self) -> None:
        """Says so when the server is no longer there, before a browser says only that nobody answers."""
        if (code := self.process.poll()) is not None:
            raise RuntimeError(f"the server has ended with {code}; the end of its log:\n{self.tail()}")

    def tail(self) -> str:
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-30:])

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Watch:
    """Everything that must not happen on a page: errors, warnings, failed requests, requests to anyone else."""

    def __init__(self, page: Page, url: str) -> None:
        self.host = urlsplit(url).netloc
        self.complaints: list[str] = []
        page.on("console", self.console)
        page.on("pageerror", lambda error: self.complaints.append(f"page error: {error}"))
        page.on("request", lambda request: self.address(request.url))
        page.on("websocket", self.socket)
        page.on("requestfailed", self.failed)

    def console(self, message: ConsoleMessage) -> None:
        # below a page's own address Streamlit first asks for its server there, in vain, then at the root
        path = urlsplit(message.location.get("url", "")).path
        if "404 (Not Found)" in message.text and re.fullmatch(r"/[\w-]+/_stcore/(health|host-config)", path):
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


@lru_cache(maxsize=4)
def core(name: str = MINILM) -> Model:
    """The model that the pictures are compared with, in this process."""
    return load_model(MINILM if name == MINILM else str(models.folder(name)))


@lru_cache(maxsize=64)
def run_of(settings: Settings) -> Run:
    return core(settings.model).run(
        settings.text,
        mask=settings.mask,
        position=settings.position,
        heads_off=settings.heads_off,
        temperature=settings.temperature,
    )


def written(weight: float) -> str:
    """A weight as the page writes it: two digits, four where two would say 0 or 1 of something that is neither."""
    short = f"{weight:.2f}"
    if weight in (0, 1) or short not in ("0.00", "1.00"):
        return short
    if weight < 0.00005:
        return "<0.0001"
    return ">0.9999" if 0.99995 <= weight < 1 else f"{weight:.4f}"


def largest(run: Run, layer: int, head: int, row: int) -> list[str]:
    """What "… looks at …" must say: the five largest weights of a row."""
    row_of = run.weights[layer, head, row].tolist()
    best = sorted(enumerate(row_of), key=lambda pair: (-pair[1], pair[0]))[:5]
    return [f"{run.tokens[key]} {written(weight)}" for key, weight in best if weight > 0]


class Explore:
    """The Explore page in one tab."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.view = page.locator(".view:not(.steps, .sheet, .pair, .painter, .film, .bars-of-heads)")
        self.box = page.get_by_role("textbox", name="Sentence", exact=True)

    def open(self, path: str = "/", **values: Any) -> Explore:
        """Goes to a link and waits until its picture is drawn."""
        query = urlencode(values, doseq=True)
        self.page.goto(f"{self.url}{path}" + (f"?{query}" if query else ""))
        return self.settled()

    def handle(self) -> ElementHandle:
        self.view.wait_for()
        return self.view.element_handle()

    def settled(self, digest: str | None = None) -> Explore:
        """Waits until the picture has its numbers and the server has answered everything."""
        view = self.handle()
        self.page.evaluate(TWO_FRAMES)
        self.page.wait_for_function(SETTLED, arg=[view, digest])
        return self

    def shows(self, text: str = TIRED, **settings: Any) -> Run:
        """Waits for the picture of exactly these settings; returns what the core makes of them."""
        wanted = Settings(text, **settings)
        try:
            self.settled(wanted.digest)
        except Exception as error:
            notices = self.notices() if self.view.is_visible() else "no view"
            raise AssertionError(f"not the picture of {wanted}; {self.page.url}; {notices}") from error
        return run_of(wanted)

    def retype(self, text: str) -> None:
        self.box.fill(text)

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.page.url).query, keep_blank_values=True)

    def wait_for_query(self, **values: list[str] | None) -> None:
        """Waits until the link has these values; None = not in the link."""
        wanted = {key: value or [] for key, value in values.items()}
        self.page.wait_for_function(
            "wanted => Object.entries(wanted).every(([key, values]) =>"
            " JSON.stringify(new URLSearchParams(location.search).getAll(key)) === JSON.stringify(values))",
            arg=wanted,
        )

    # ---- parts

    def button(self, name: str) -> Locator:
        return self.view.get_by_role("button", name=name, exact=True)

    def group(self, name: str) -> Locator:
        return self.view.get_by_role("group", name=name)

    def layer(self, number: int) -> Locator:
        return self.button(f"layer {number}")

    def tile(self, layer: int, head: int) -> Locator:
        return self.view.locator(f'.tile[data-head="{layer}.{head}"]')

    def lamp(self, layer: int, head: int) -> Locator:
        return self.tile(layer, head).locator(".lamp")

    def chips(self) -> list[str]:
        return self.view.locator(".chip").all_text_contents()

    def chip(self, number: int) -> Locator:
        return self.view.locator(".chip").nth(number)

    def heads(self) -> list[str]:
        return [str(tile.get_attribute("data-head")) for tile in self.view.locator(".tile").all()]

    def badges(self) -> list[str]:
        return self.view.locator(".looks .badge").all_text_contents()

    def notices(self) -> list[str]:
        return self.view.locator(".notices p").all_text_contents()

    def figures(self) -> list[str]:
        return self.view.locator(".figure strong").all_text_contents()

    def table(self) -> list[list[str]]:
        """The body of the table, with its row heads."""
        rows: list[list[str]] = self.view.locator(".large .table tbody").evaluate(
            "body => [...body.rows].map(row => [...row.cells].map(cell => cell.textContent))"
        )
        return rows

    # ---- the enlarged map

    def cell_box(self, row: int, key: int) -> dict[str, float]:
        """The place of a cell of the enlarged map, in pixels of the page."""
        # from the styles: a rectangle's sizes are rounded to 1/64 pixel, which adds up over hundreds of cells
        box: dict[str, float] = self.view.locator(".large .map .cell").evaluate(
            """(cell, [row, key]) => {
              const map = cell.closest(".map");
              map.scrollIntoView({ block: "nearest", behavior: "instant" });
              const [at, side] = [map.getBoundingClientRect(), parseFloat(cell.style.width)];
              const i = cell.parentElement.getAttribute("aria-rowindex") - 1;
              const j = cell.getAttribute("aria-colindex") - 1;
              const [x, y] = [parseFloat(cell.style.left), parseFloat(cell.style.top)];
              return { x: at.x + x + (key - j) * side, y: at.y + y + (row - i) * side, side };
            }""",
            [row, key],
        )
        return box

    def hover(self, row: int, key: int) -> str:
        """Points at a cell of the enlarged map; what is read out."""
        box = self.cell_box(row, key)
        self.page.mouse.move(box["x"] + box["side"] / 2, box["y"] + box["side"] / 2)
        return self.readout()

    def readout(self) -> str:
        return self.view.locator(".readout").inner_text()

    def click_cell(self, row: int, key: int) -> None:
        box = self.cell_box(row, key)
        self.page.mouse.click(box["x"] + box["side"] / 2, box["y"] + box["side"] / 2)

    def focused(self) -> str:
        """The name of what has the focus, inside the view or outside."""
        name: str = self.page.evaluate(
            """() => {
              let at = document.activeElement;
              while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
              return at ? at.getAttribute("aria-label") || at.textContent : "";
            }"""
        )
        return name
