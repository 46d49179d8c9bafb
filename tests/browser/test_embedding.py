"""Headlight in frames of other sites: the page that each tool makes of its recipe in docs/embedding.md, in Chromium."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Literal, NamedTuple, cast

import pytest
from playwright.sync_api import Browser, Frame, Page, expect

from headlight.picture.settings import Settings
from headlight.server.framing import VARIABLE
from headlight.ui import web
from headlight.ui.pages import PAGES, path
from mha_core.show import standalone

from .conftest import OPTIONS, NewTab
from .expected import TIRED, run_of
from .explore_page import Explore
from .lessons_page import Beside
from .measures import scrolls_sideways, small_targets
from .server import HEALTH, ROOT, OwnServer, Server
from .tab import Tab
from .test_every_page import KINDS
from .test_safety import fetch
from .watch import Watch

DOCUMENT = (ROOT / "docs" / "embedding.md").read_text("utf-8")
WRITTEN = "https://headlight.example.org"  # the server, in the recipes
BLOCKED = "chrome-error://chromewebdata/"
# what Canvas keeps of an iframe (gems/canvas_sanitize)
CANVAS = {"src", "width", "height", "name", "align", "sandbox", "allowfullscreen", "style", "title"}
MAXIMISED = 'id="resourceobject" style="width: 100%; height: 640px"'  # Moodle's URL
FILE_CONTENT = 'id="file_content" style="width:100%; height: 400px; float:left;"'  # Canvas's External URL
IN_FULL = r'link => link.href === location.href.replace(/embed=1&?/, "").replace(/[?&]$/, "")'
HEAR = """if (window === top) {
  window.received = [];
  addEventListener("message", ({ origin, data }) => window.received.push([origin, data]));
}"""
NO_STORAGE = """for (const name of ["localStorage", "sessionStorage"]) if (window !== top)
  Object.defineProperty(window, name, { get() { throw new DOMException("refused", "SecurityError"); } });"""


def recipe(heading: str, number: int = 0) -> str:
    """The code block of a section, without the fence that the tool takes away."""
    section = DOCUMENT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^(`{3,})\w+\n(.*?)^\1$", section, re.MULTILINE | re.DOTALL)
    return re.sub(r"^```.*\n", "", blocks[number][1], flags=re.MULTILINE)


def canvas() -> str:
    """Fail where Canvas would remove something, as it does scripts."""
    html = recipe("Canvas")
    assert re.findall(r"<(\w+)", html) == ["iframe"]
    assert set(re.findall(r'\s([a-z]+)="', html)) <= CANVAS
    return f'<div class="show-content user_content">{html}</div>'


def myst() -> str:
    """What the theme of MyST makes of the directive (myst-to-react, iframe.tsx)."""
    source = recipe("Jupyter Book and MyST").split()[1]
    return f"""<div style="position: relative; padding-bottom: 60%; width: min(max(100%, 500px), 100%)">
<iframe width="100%" height="100%" src="{source}" allowfullscreen allow="autoplay"
style="width: 100%; height: 100%; position: absolute; top: 0; left: 0; border: none"></iframe></div>"""


def types(tab: Tab) -> None:
    cast(Explore, tab).typed("you can see me")


def answers(tab: Tab) -> None:
    lesson = tab.page.locator("#headlight-lesson")
    lesson.get_by_role("button", name="On “animal”").click()
    expect(lesson.locator(".because")).to_be_visible()


def presses(role: Literal["button", "link"], name: str, tab: Tab) -> None:
    before = tab.page.url
    tab.page.get_by_role(role, name=name).first.click()
    tab.page.wait_for_function("before => location.href !== before", arg=before)


LESSON = partial(presses, "link", "What does “it” look at?")
# what a tool makes of its recipe, the page that is in the frame, and what is done there
TOOLS: dict[str, tuple[str, str, Callable[[Tab], None]]] = {
    "plain": (recipe("A frame as high as its page") + recipe("A plain iframe"), "explore", types),
    "Moodle, Page": (f'<div class="box"><div class="no-overflow">{recipe("Moodle")}</div></div>', "lesson", answers),
    "Moodle, URL": (f'<iframe src="{WRITTEN}/lessons?embed=1" {MAXIMISED}></iframe>', "lessons", LESSON),
    "Canvas, page": (canvas(), "masks", partial(presses, "button", "window")),
    "Canvas, module": (f'<iframe src="{WRITTEN}/?embed=1" {FILE_CONTENT}></iframe>', "explore", types),
    "MyST": (myst(), "explore", types),
    "Jupyter Book": (recipe("Jupyter Book and MyST", 1), "compare", partial(presses, "button", "swap")),
    "Quarto": (recipe("Quarto"), "shapes", partial(presses, "button", "next")),
}


class Host(NamedTuple):
    """A site with a course: under localhost another one than Headlight's 127.0.0.1, and under that a third."""

    origin: str
    folder: Path

    def show(self, tab: Page, html: str, at: str = "") -> Frame:
        """Open a page with this in it, and return its frame."""
        page = self.folder / f"{len([*self.folder.iterdir()])}.html"
        page.write_text(f'<!doctype html><meta charset="utf-8"><title>A course</title>{html}', "utf-8")
        tab.goto(f"{at or self.origin}/{page.name}")
        return tab.frames[1]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("course")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield Host(f"http://localhost:{server.server_port}", folder)
        server.shutdown()


@pytest.fixture(scope="module")
def framed(host: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that this site may frame."""
    server = OwnServer(tmp_path_factory.mktemp("framed") / "log", environment={VARIABLE: host.origin})
    yield server
    server.stop()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """A page that keeps the messages it receives."""
    context = browser.new_context(**OPTIONS | {"viewport": {"width": 1000, "height": 800}})
    context.add_init_script(HEAR)
    yield context.new_page()
    context.close()


def heights(page: Page, server: Server) -> list[int]:
    """The heights that the page around has received; no other message, and none twice."""
    received: list[tuple[str, Any]] = page.evaluate("received")
    numbers = [data["headlight"]["height"] for _, data in received]
    assert [list(one) for one in received] == [[server.url, {"headlight": {"height": number}}] for number in numbers]
    assert all(first != second for first, second in itertools.pairwise(numbers)), "once for each change"
    return numbers


@pytest.mark.parametrize("tool", TOOLS)
def test_recipe_of_each_tool_shows_the_page_in_use(tool: str, host: Host, framed: Server, tab: Page) -> None:
    html, name, act = TOOLS[tool]
    if tool == "Moodle, Page":
        tab.context.add_init_script(NO_STORAGE)
    watch = Watch(tab, framed.url)
    frame = host.show(tab, html.replace(WRITTEN, framed.url))
    act(KINDS.get(name, Beside)(cast(Page, frame), framed.url).settled())
    tab.wait_for_function("received.length > 0")
    assert heights(tab, framed)
    if tool == "plain":
        tab.wait_for_function("document.querySelector('iframe').offsetHeight === received.at(-1)[1].headlight.height")
        frame.wait_for_function("() => document.querySelector('[data-testid=stMain]').scrollHeight <= innerHeight")
    link = frame.get_by_role("link", name="Headlight · open in full")
    assert link.evaluate(IN_FULL)
    with tab.context.expect_page() as opened:
        link.click()
    assert opened.value.url.startswith(framed.url)
    assert {complaint for complaint in watch.complaints if f"request to {host.origin}/" not in complaint} == set()


def test_frame_stays_empty_without_the_flag_in_other_sites_and_around_rooms(
    host: Host, framed: Server, server: Server, tab: Page
) -> None:
    watch = Watch(tab, framed.url)
    for url, at in (
        (f"{server.url}/?embed=1", host.origin),
        (f"{framed.url}/?embed=1", host.origin.replace("localhost", "127.0.0.1")),
        (f"{framed.url}/room", host.origin),
        (f"{framed.url}/handout?learn=it", host.origin),
    ):
        frame = host.show(tab, f'<iframe src="{url}"></iframe>', at)
        assert frame.url == BLOCKED, (url, at)
        assert tab.evaluate("received") == []
    for address in ("/room", "/handout", f"{web.PREFIX}/frame/boot.js", f"{web.API}/maps", HEALTH):
        assert fetch(framed.url + address)[1]["x-frame-options"] == "DENY", address
    assert "x-frame-options" not in fetch(f"{framed.url}/masks")[1]
    assert sum("frame-ancestors" in complaint for complaint in watch.complaints) == 4


@pytest.mark.parametrize(("sites", "is_listed"), [('["https://example.org"]', False), ('["*"]', True)])
def test_height_is_sent_to_listed_origins_alone(
    sites: str, is_listed: bool, host: Host, framed: Server, tab: Page
) -> None:
    """The page itself decides too: the browser would not show it in an origin that is not listed."""
    tab.context.add_init_script(f"""new MutationObserver(() => {{
      const list = document.getElementById("headlight-framing");
      if (list && list.textContent !== {json.dumps(sites)}) list.textContent = {json.dumps(sites)};
    }}).observe(document, {{ childList: true, subtree: true }})""")
    frame = host.show(tab, f'<iframe src="{framed.url}/?embed=1" width="900" height="700"></iframe>')
    Explore(cast(Page, frame), framed.url).settled()
    if is_listed:
        tab.wait_for_function("received.length > 0")
    followed = frame.evaluate("document.documentElement.dataset.height ?? null")
    assert (followed, heights(tab, framed) != []) == (("700", True) if is_listed else (None, False))


def test_file_is_left_in_a_frame_with_a_cookie_of_its_own(host: Host, framed: Server, tab: Page) -> None:
    frame = host.show(tab, f'<iframe src="{framed.url}/train?tab=Report&amp;embed=1"></iframe>')
    field = frame.locator("input[type=file][accept*='.zip']")
    with tab.expect_response(lambda answer: "upload_file" in answer.url and answer.request.method == "PUT") as sent:
        field.set_input_files({"name": "a.zip", "mimeType": "application/zip", "buffer": b"no run"})
    assert sent.value.status == 204
    assert fetch(framed.url + HEALTH)[1]["set-cookie"].endswith("SameSite=Lax"), "without TLS a browser keeps no other"
    (cookie,) = tab.context.cookies()
    assert (cookie["sameSite"], cookie["secure"], cookie.get("partitionKey")) == ("None", True, "http://localhost")


def test_file_of_share_works_in_the_strictest_frame(host: Host, tab: Page) -> None:
    file = standalone(run_of(Settings(TIRED)), layer=3, head=1, row=10)
    (host.folder / "attention.html").write_text(file, "utf-8")
    frame = host.show(tab, recipe("Share's file, and the exported folder"))
    frame.locator('.view.standalone .tile[data-head="3.2"]').click()
    expect(frame.get_by_text("layer 3, head 2").first).to_be_visible()


def test_every_page_is_without_the_bar_and_says_where_it_is_from(new_phone: NewTab) -> None:
    tab = new_phone(Explore)
    for name in PAGES:
        kind = KINDS[name](tab.page, tab.url)
        kind.page.goto(f"{tab.url}/{path(name)}?embed=1")
        kind.settled()
        strip = tab.house.locator("> *").filter(visible=True)
        expect(strip.and_(tab.page.locator(":not(.skip)"))).to_have_text(["Headlight · open in full"])
        assert strip.last.evaluate(IN_FULL), name
        assert float(tab.page.locator(".question h1").evaluate("title => getComputedStyle(title).fontSize")[:-2]) < 18
        assert not scrolls_sideways(tab.page), name
        assert small_targets(tab.page) == [], name
