"""Headlight in frames of other sites: the page that each tool makes of its recipe in docs/embedding.md, in Chromium."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar, cast

import pytest
from playwright.sync_api import Browser, Frame, Page, expect

from headlight.picture.settings import Settings
from headlight.server.framing import VARIABLE
from headlight.ui.pages import PAGES, path
from mha_core.show import standalone

from .compare_page import Compare
from .conftest import OPTIONS, NewTab
from .expected import TIRED, run_of
from .explore_page import Explore
from .lessons_page import Beside, Lessons
from .masks_page import Masks
from .measures import scrolls_sideways, small_targets
from .server import HEALTH, ROOT, OwnServer, Server
from .shapes_page import Shapes
from .tab import Tab
from .test_every_page import KINDS
from .test_safety import fetch
from .watch import Watch

DOCUMENT = (ROOT / "docs" / "embedding.md").read_text("utf-8")
WRITTEN = "https://headlight.example.org"  # the server, in the recipes
BLOCKED = "chrome-error://chromewebdata/"
# what Canvas keeps of an iframe (gems/canvas_sanitize)
CANVAS = {"src", "width", "height", "name", "align", "sandbox", "allowfullscreen", "style", "title"}
HEAR = """if (window === top) {
  window.heard = [];
  addEventListener("message", ({ origin, data }) => window.heard.push([origin, data]));
}"""
NO_STORAGE = """for (const name of ["localStorage", "sessionStorage"]) if (window !== top)
  Object.defineProperty(window, name, { get() { throw new DOMException("refused", "SecurityError"); } });"""


def recipe(heading: str, number: int = 0) -> str:
    """The code block of a section, without the fence that the tool takes away."""
    section = DOCUMENT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^(`{3,})\w+\n(.*?)^\1$", section, re.MULTILINE | re.DOTALL)
    return re.sub(r"^```.*\n", "", blocks[number][1], flags=re.MULTILINE)


def frame_at(words: str, attributes: str) -> str:
    """A frame with the address that the recipes name behind these words."""
    found = re.search(rf"{re.escape(words)}\s+`([^`]+)`", DOCUMENT)
    assert found
    return f'<iframe src="{found[1]}" {attributes}></iframe>'


def canvas() -> str:
    """Fail where Canvas would remove something, as it does scripts."""
    html = recipe("Canvas")
    assert re.findall(r"<(\w+)", html) == ["iframe"]
    assert set(re.findall(r'\s([a-z]+)="', html)) <= CANVAS
    return f'<div class="show-content user_content">{html}</div>'


def myst() -> str:
    """What the theme of MyST makes of the directive (myst-to-react, iframe.tsx)."""
    directive = r"^:::\{iframe\} (\S+)\n:width: 100%\n(.+)\n:::$"
    ((source, caption),) = re.findall(directive, recipe("Jupyter Book and MyST"), re.MULTILINE)
    return f"""<figure><div style="position: relative; padding-bottom: 60%; width: min(max(100%, 500px), 100%)">
<iframe width="100%" height="100%" src="{source}" allowfullscreen allow="autoplay"
style="width: 100%; height: 100%; position: absolute; top: 0; left: 0; border: none"></iframe></div>
<figcaption>{caption}</figcaption></figure>"""


def without_key(url: str) -> str:
    """The link that opens the same in full."""
    return re.sub(r"\?$", "", re.sub(r"(?<=[?&])embed=1(&|$)", "", url)).removesuffix("&")


def types(tab: Tab) -> None:
    cast(Explore, tab).typed("you can see me")


def answers(tab: Tab) -> None:
    lesson = tab.page.locator("#headlight-lesson")
    lesson.get_by_role("button", name="On “animal”").click()
    expect(lesson.locator(".because")).to_be_visible()


def follows(tab: Tab) -> None:
    tab.page.get_by_role("link", name="What does “it” look at?").first.click()
    expect(tab.page.locator("#headlight-lesson h1")).to_have_text("What does “it” look at?")
    assert "embed=1" in tab.page.url


def presses(name: str, tab: Tab) -> None:
    before = tab.page.url
    tab.view.get_by_role("button", name=name).first.click()
    tab.page.wait_for_function("before => location.href !== before", arg=before)


MOODLE_URL = frame_at("activity *URL* with the address", 'id="resourceobject" style="width: 100%; height: 640px"')
CANVAS_ITEM = frame_at("External URL* with", 'id="file_content" style="width:100%; height: 400px; float:left;"')
# what a tool makes of its recipe, the page that is in the frame, and what is done there
TOOLS: dict[str, tuple[str, type[Tab], Callable[[Tab], None]]] = {
    "plain": (recipe("A frame as high as its page") + recipe("A plain iframe"), Explore, types),
    "Moodle, Page": (f'<div class="box"><div class="no-overflow">{recipe("Moodle")}</div></div>', Beside, answers),
    "Moodle, URL": (f'<div class="resourcecontent resourcegeneral">{MOODLE_URL}</div>', Lessons, follows),
    "Canvas, page": (canvas(), Masks, partial(presses, "window")),
    "Canvas, module": (f'<ul><li><span class="ui-listview-text">{CANVAS_ITEM}</span></li></ul>', Explore, types),
    "MyST": (myst(), Explore, types),
    "Jupyter Book": (f"<article>{recipe('Jupyter Book and MyST', 1)}</article>", Compare, partial(presses, "swap")),
    "Quarto": (f'<main class="content">{recipe("Quarto")}</main>', Shapes, partial(presses, "next")),
}


class Course(BaseHTTPRequestHandler):
    """A site with these pages: under localhost another one than Headlight's 127.0.0.1, and under that a third."""

    pages: ClassVar[dict[str, str]] = {}

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.pages.get(self.path, "").encode())

    def log_message(self, *_: object) -> None:
        """Be silent."""


def show(tab: Page, html: str, site: str) -> Frame:
    """Open a page of the course with this in it, and return its frame."""
    Course.pages["/week-3"] = f"<!doctype html><title>A course</title><h1>Week 3</h1>{html}"
    tab.goto(f"{site}/week-3")
    return tab.frames[1]


@pytest.fixture(scope="module")
def host() -> Iterator[str]:
    """The origin of the course."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Course) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def framed(host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that this site may frame."""
    server = OwnServer(tmp_path_factory.mktemp("framed") / "log", environment={VARIABLE: host})
    yield server
    server.stop()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """A page that notes what it hears."""
    context = browser.new_context(**OPTIONS | {"viewport": {"width": 1000, "height": 800}})
    context.add_init_script(HEAR)
    yield context.new_page()
    context.close()


def heights(page: Page, server: Server) -> list[int]:
    """The heights that the page around has heard; nothing else may be said, and nothing twice."""
    heard: list[tuple[str, Any]] = page.evaluate("heard")
    numbers = [data["headlight"]["height"] for _, data in heard]
    assert [list(one) for one in heard] == [[server.url, {"headlight": {"height": number}}] for number in numbers]
    assert all(first != second for first, second in itertools.pairwise(numbers)), "once for each change"
    return numbers


@pytest.mark.parametrize("tool", TOOLS)
def test_recipe_of_each_tool_shows_the_page_in_use(tool: str, host: str, framed: Server, tab: Page) -> None:
    html, kind, act = TOOLS[tool]
    if tool == "Moodle, Page":
        tab.context.add_init_script(NO_STORAGE)
    watch = Watch(tab, framed.url)
    frame = show(tab, html.replace(WRITTEN, framed.url), host)
    inside = kind(cast(Page, frame), framed.url)
    expect(frame.get_by_role("link", name="Headlight · open in full")).to_be_visible()
    act(inside.settled())
    tab.wait_for_function("heard.length > 0")
    told = heights(tab, framed)
    assert min(told) > 300
    if tool == "plain":
        tab.wait_for_function(
            "() => document.querySelector('iframe').offsetHeight === heard.at(-1)[1].headlight.height"
        )
        frame.wait_for_function("() => document.querySelector('[data-testid=stMain]').scrollHeight <= innerHeight")
    with tab.context.expect_page() as opened:
        frame.get_by_role("link", name="Headlight · open in full").click()
    assert opened.value.url == without_key(frame.url)
    assert {complaint for complaint in watch.complaints if f"request to {host}/" not in complaint} == set()


def test_frame_stays_empty_without_the_flag_in_other_sites_and_around_rooms(
    host: str, framed: Server, server: Server, tab: Page
) -> None:
    watch = Watch(tab, framed.url)
    for url, at in (
        (f"{server.url}/?embed=1", host),
        (f"{framed.url}/?embed=1", host.replace("localhost", "127.0.0.1")),
        (f"{framed.url}/room", host),
        (f"{framed.url}/handout?learn=it", host),
    ):
        frame = show(tab, f'<iframe src="{url}"></iframe>', at)
        assert frame.url == BLOCKED, (url, at)
        assert tab.evaluate("heard") == []
    assert sum("frame-ancestors" in complaint for complaint in watch.complaints) == 4


@pytest.mark.parametrize(("sites", "hears"), [('["https://example.org"]', False), ('["*"]', True)])
def test_height_is_told_to_listed_origins_alone(sites: str, hears: bool, host: str, framed: Server, tab: Page) -> None:
    """The page itself decides too: the browser would not show it in an origin that is not listed."""
    tab.context.add_init_script(f"""new MutationObserver((_, observer) => {{
      const list = document.getElementById("headlight-framing");
      if (!list) return;
      observer.disconnect();
      list.textContent = {json.dumps(sites)};
    }}).observe(document, {{ childList: true, subtree: true }})""")
    frame = show(tab, f'<iframe src="{framed.url}/?embed=1" width="900" height="700"></iframe>', host)
    Explore(cast(Page, frame), framed.url).settled()
    if hears:
        tab.wait_for_function("heard.length > 0")
    followed = frame.evaluate("document.documentElement.dataset.height ?? null")
    assert (followed, heights(tab, framed) != []) == (("700", True) if hears else (None, False))


def test_file_is_left_in_a_frame_with_a_cookie_of_its_own(host: str, framed: Server, tab: Page) -> None:
    frame = show(
        tab, f'<iframe src="{framed.url}/train?tab=Report&amp;embed=1" width="900" height="700"></iframe>', host
    )
    field = frame.locator("input[type=file][accept*='.zip']")
    with tab.expect_response(lambda answer: "upload_file" in answer.url and answer.request.method == "PUT") as sent:
        field.set_input_files({"name": "a.zip", "mimeType": "application/zip", "buffer": b"no run"})
    assert sent.value.status == 204
    assert fetch(framed.url + HEALTH)[1]["set-cookie"].endswith("SameSite=Lax"), "without TLS a browser keeps no other"
    (cookie,) = tab.context.cookies()
    assert (cookie["sameSite"], cookie["secure"], cookie.get("partitionKey")) == ("None", True, "http://localhost")


def test_file_of_share_works_in_the_strictest_frame(host: str, tab: Page) -> None:
    Course.pages["/attention.html"] = standalone(run_of(Settings(TIRED)), layer=3, head=1, row=10)
    frame = show(tab, recipe("Share's file, and the exported folder"), host)
    view = frame.locator(".view.standalone")
    expect(view).to_be_visible()
    view.locator('.tile[data-head="3.2"]').click()
    expect(view.get_by_text("layer 3, head 2").first).to_be_visible()


def test_every_page_is_without_the_bar_and_says_where_it_is_from(new_phone: NewTab) -> None:
    tab = new_phone(Explore)
    for name in PAGES:
        kind = KINDS[name](tab.page, tab.url)
        kind.page.goto(f"{tab.url}/{path(name)}?embed=1")
        kind.settled()
        shown = tab.house.locator("> *").filter(visible=True)
        expect(shown.and_(tab.page.locator(":not(.skip)"))).to_have_text(["Headlight · open in full"])
        assert shown.last.evaluate("link => link.href") == without_key(kind.page.url), name
        assert float(tab.page.locator(".question h1").evaluate("title => getComputedStyle(title).fontSize")[:-2]) < 18
        assert not scrolls_sideways(tab.page), name
        assert small_targets(tab.page) == [], name
