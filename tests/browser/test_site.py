"""A site of static files in a real browser: lessons, links, own sentences, without a network, a storage or a server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from headlight.lessons.course import course
from headlight.lessons.schema import Lesson
from headlight.picture.settings import Settings
from headlight.registry import MINILM
from headlight.ui.pages import PAGES, path
from headlight.website.site import SERVER_COMMAND
from mha_core import Run
from pages.handlers import HANDLERS

from .conftest import OPTIONS, NewTab
from .expected import run_of
from .site import BELOW, LESSONS, NO_SCRIPT_RUNS, Host, SiteLesson, SiteMaps, address, exported
from .tab import Tab

T = TypeVar("T", bound=Tab)
COURSE = course()
NEED_A_SERVER = ("positions", "by_hand", "implementations", "train")
VIEWS = ("explore", "model_map", "compare", "masks", "shapes")
WHO = "who-rotary-1"
MAX_FIRST_BYTES = 3 * 10**6
CLOSE = 1e-4  # per weight, as the models' files are made
OWN, OTHER = "The cat sat on the mat", "the queen visited the fox"
KEPT = """async (wanted) => {
  for (const name of await caches.keys()) {
    const kept = new Set((await (await caches.open(name)).keys()).map(({ url }) => url));
    if (wanted.every((file) => kept.has(new URL(file, document.baseURI).href))) return true;
  }
  return false;
}"""
NO_STORAGE = """const denied = { get() { throw new DOMException("denied", "SecurityError"); } };
for (const name of ["localStorage", "sessionStorage", "caches"]) Object.defineProperty(window, name, denied);
Object.defineProperty(Navigator.prototype, "serviceWorker", denied);"""
NO_WORKER = "Object.defineProperty(Navigator.prototype, 'serviceWorker', { value: undefined });"
NO_WASM = "delete window.WebAssembly;"


@pytest.fixture(scope="module")
def folder(common_folder: Path) -> Path:
    return exported(common_folder)


@pytest.fixture(scope="module")
def host(folder: Path) -> Iterator[Host]:
    with closing(Host(folder.parents[1])) as host:
        yield host


@pytest.fixture
def visitor(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that has never seen the site."""
    context = browser.new_context(**OPTIONS)
    context.add_init_script(NO_SCRIPT_RUNS)
    yield context
    context.close()


@pytest.fixture
def opens(visitor: BrowserContext, host: Host, watched: Callable[[Page, str], Page]) -> NewTab:
    """Open tabs of the visitor; an error in a console or a request to anyone else fails the test."""

    def make(kind: type[T]) -> T:
        return kind(watched(visitor.new_page(), host.url), host.url)

    return make


def walk(tab: SiteLesson, lesson: Lesson) -> None:
    """Answer every step with the keyboard; each verdict is the server's. A claim's answer is the verdict's."""
    for at, step in enumerate(lesson.steps, 1):
        tab.at(lesson, at)
        expect(tab.lesson.get_by_role("heading", name=step.question)).to_be_visible()
        if step.page in VIEWS:
            tab.has_its_curtain(step)
            tab.shows(step)
        tab.keys(step.answer.lower() or " ")
        judged(tab)
        assert tab.covered() == 0
        if at < len(lesson.steps):
            tab.keys("ArrowRight")


def judged(tab: SiteLesson) -> None:
    query = urlsplit(tab.page.url).query
    if "race=" in query:  # times, which are measured again
        expect(tab.lit).to_have_count(1)
        return
    wanted = json.loads(HANDLERS["lesson"](query.encode()))
    expect(tab.verdict.locator("p").first).to_have_text(wanted["sentence"])
    expect(tab.lit).to_have_text(re.compile(f"^{wanted['picked']}.*as just measured$"))
    numbers = {label: text for label, _, text in wanted["numbers"]}
    found = dict(tab.numbers())
    assert [*found] == [*numbers]
    assert {label: text for label, text in found.items() if "e−" not in text}.items() <= numbers.items()  # no rounding


def equal(tab: SiteMaps, text: str, run: Run) -> None:
    """The map in focus is the core's."""
    found = tab.weights(text)
    layer, head = found["head"]
    assert found["tokens"] == run.tokens
    wanted = run.weights[layer, head].flatten().tolist()
    assert max(abs(a - b) for a, b in zip(found["weights"], wanted, strict=True)) <= CLOSE


def load_minilm(tab: SiteMaps) -> None:
    offer = tab.page.get_by_role("region", name="Load the model")
    expect(offer).to_contain_text(re.compile(r"Load MiniLM.* \(\d\d\.\d MB\)"))
    offer.get_by_role("button", name="Load MiniLM").press("Enter")
    expect(offer).to_have_count(0)


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_walked_to_its_end_with_the_verdicts_of_the_server(name: str, opens: NewTab) -> None:
    lesson = COURSE.lessons[name]
    walk(opens(SiteLesson).begin(lesson), lesson)


def test_the_first_lesson_loads_three_megabytes_at_most(opens: NewTab, folder: Path) -> None:
    tab, lesson = opens(SiteLesson), COURSE.lessons["it"]
    files = set[str]()
    below = f"/{BELOW}/"
    tab.page.on("response", lambda answer: files.add(urlsplit(answer.url).path.removeprefix(below)))
    tab.begin(lesson).has_its_curtain(lesson.steps[0])
    assert {"index.html", "app/app.js", "app/answers/index.bin"} < files
    assert sum((folder / name).stat().st_size for name in files) <= MAX_FIRST_BYTES


@pytest.mark.timeout(1800)
@pytest.mark.thorough("each lesson of the whole site is walked as the two of the quick tests are")
def test_both_courses_are_walked_to_their_ends(common_folder: Path, visitor: BrowserContext) -> None:
    with closing(Host(exported(common_folder, tuple(COURSE.lessons)).parents[1])) as host:
        tab = SiteLesson(visitor.new_page(), host.url)
        for lesson in COURSE.lessons.values():
            walk(tab.begin(lesson), lesson)


def test_every_page_stands_below_a_path_and_leads_to_the_others(
    opens: NewTab, host: Host, visitor: BrowserContext
) -> None:
    page = opens(Tab).page
    page.goto(f"{host.url}/")
    for name, info in PAGES.items():
        if name not in ("glossary", "explore"):
            tab = Tab(page, host.url)
            tab.go(info.title)
            assert urlsplit(page.url).path == f"/{BELOW}{address(path(name))}"
        else:
            page.goto(f"{host.url}{address(path(name))}")
        expect(page.get_by_role("heading", name=info.question)).to_be_visible()
        assert page.title() == f"{info.title} · Headlight"
        if name in NEED_A_SERVER:
            expect(page.get_by_role("heading", name="This page needs a server")).to_be_visible()
            expect(page.locator("code").first).to_contain_text(SERVER_COMMAND)
        else:
            expect(page.locator(".view:visible").first).to_be_visible()
    with visitor.expect_page() as opened:
        Tab(page, host.url).link("Learn").click(modifiers=["Control"])
    expect(opened.value.get_by_role("heading", name=PAGES["lessons"].question)).to_be_visible()


def test_back_reload_and_a_link_that_is_passed_on_show_the_same(
    opens: NewTab, visitor: BrowserContext, host: Host
) -> None:
    lesson = COURSE.lessons["it"]
    tab = opens(SiteLesson).begin(lesson)
    tab.keys("b", "ArrowRight")
    tab.at(lesson, 2)
    tab.page.go_back()
    tab.at(lesson, 1)
    judged(tab)  # the answer is still there
    tab.page.go_forward()
    tab.at(lesson, 2).has_its_curtain(lesson.steps[1])
    tab.page.reload()
    tab.at(lesson, 2).has_its_curtain(lesson.steps[1])
    other = SiteLesson(visitor.new_page(), host.url)
    other.page.goto(tab.page.url)
    other.at(lesson, 2).has_its_curtain(lesson.steps[1])


def test_a_page_whose_file_is_lost_does_not_say_that_it_needs_a_server(visitor: BrowserContext, host: Host) -> None:
    visitor.add_init_script(NO_WORKER)
    page = visitor.new_page()
    page.route("**/answers/words-*.bin", lambda route: route.abort())
    page.goto(f"{host.url}{address('glossary')}")
    expect(page.locator(".notices:visible")).to_have_text("A file of this site cannot be reached; try again.")
    expect(page.get_by_role("heading", name="This page needs a server")).to_have_count(0)
    page.unroute_all()


def test_after_the_first_visit_it_needs_no_network(opens: NewTab, host: Host, folder: Path) -> None:
    tab = opens(SiteMaps).open()
    files = [file.relative_to(folder).as_posix() for file in folder.rglob("*.*")]
    unused = ("sw.js", "files.js", ".nojekyll", f"app/models/{MINILM}.bin")
    wanted = [file for file in files if file not in unused]
    tab.until(lambda: tab.page.evaluate(KEPT, wanted), "the browser keeps the site")
    host.close()
    try:
        tab.page.goto(f"{host.url}{address('lessons')}")
        tab.page.get_by_role("link", name=COURSE.lessons["it"].title).click()
        walk(tab.on(SiteLesson), COURSE.lessons["it"])
        for name in VIEWS:
            tab.page.goto(f"{host.url}{address(path(name))}")
            expect(tab.page.locator(".view").first).to_be_visible()
    finally:
        host.start()


def test_own_sentences_are_computed_as_by_the_core(opens: NewTab) -> None:
    """On a small model at once, on MiniLM once it is loaded, which the browser keeps."""
    tab = opens(SiteMaps).open(model=WHO)
    tab.box.fill(OTHER)
    equal(tab, OTHER, run_of(Settings(OTHER, model=WHO)))
    tab.open()
    tab.box.fill(OWN)
    expect(tab.view.locator(".notices")).to_contain_text("This is computed here as soon as MiniLM")
    load_minilm(tab)
    equal(tab, OWN, run_of(Settings(OWN, model=MINILM)))
    tab.mask("causal")
    tab.wait_for_query(mask="causal")
    tab.settled()
    equal(tab, OWN, run_of(Settings(OWN, model=MINILM, mask="causal")))
    tab.wait_for_query(s=OWN)
    tab.page.reload()
    equal(tab, OWN, run_of(Settings(OWN, model=MINILM, mask="causal")))
    expect(tab.page.get_by_role("region", name="Load the model")).to_have_count(0)


@pytest.mark.parametrize("script", [NO_STORAGE, NO_WASM], ids=["no storage", "no WebAssembly"])
def test_a_browser_with_less_computes_too(script: str, opens: NewTab, visitor: BrowserContext) -> None:
    visitor.add_init_script(script)
    tab = opens(SiteMaps).open()
    tab.box.fill(OWN)
    keeps = "loaded once and kept" if script == NO_WASM else "keeps no files"
    expect(tab.page.get_by_role("region", name="Load the model")).to_contain_text(keeps)
    load_minilm(tab)
    equal(tab, OWN, run_of(Settings(OWN, model=MINILM)))
    theme = tab.theme
    tab.theme_button.click()
    assert tab.theme != theme


@pytest.mark.parametrize("damage", ["cut off", "damaged", "another model"])
def test_a_damaged_model_is_a_sentence_and_the_recorded_picture_stays(
    damage: str, opens: NewTab, visitor: BrowserContext, folder: Path
) -> None:
    visitor.add_init_script(NO_WORKER)  # its requests cannot be answered by a test
    tab = opens(SiteMaps)
    whole, other = ((folder / "app/models" / f"{name}.bin").read_bytes() for name in (MINILM, WHO))
    bodies = {"cut off": whole[: 10**5], "damaged": other[:-1] + bytes([other[-1] ^ 1]), "another model": other}
    tab.page.route("**/models/*.bin", lambda route: route.fulfill(body=bodies[damage]))
    tab.open()
    before = tab.badges()
    tab.box.fill(OWN)
    tab.page.get_by_role("button", name="Load MiniLM").click()
    expect(tab.page.get_by_role("region", name="Load the model")).to_contain_text(damage)
    assert tab.badges() == before
    tab.page.unroute_all()
    load_minilm(tab)
    equal(tab, OWN, run_of(Settings(OWN, model=MINILM)))


def test_what_needs_a_server_says_so_and_keeps_the_picture(opens: NewTab) -> None:
    page = opens(Tab).page
    page.goto(f"{opens(Tab).url}{address('compare')}")
    page.get_by_role("textbox", name="Sentence").first.fill(OWN)
    notice = page.locator(".notices").first
    expect(notice).to_contain_text("Without a server, Compare shows its own examples only; Maps computes any sentence.")
    expect(page.locator(".left .map")).to_be_visible()
    opener = page.get_by_role("button", name="Share", exact=True)
    opener.click()
    expect(page.get_by_role("button", name="Open a room for the class")).to_be_hidden()
    expect(page.locator(".share .link code")).to_have_text(page.url)


def test_a_folder_that_is_opened_as_such_says_what_to_type(folder: Path, visitor: BrowserContext) -> None:
    page = visitor.new_page()
    page.goto((folder / "index.html").as_uri())
    expect(page.locator("body")).to_contain_text("python -m http.server")
