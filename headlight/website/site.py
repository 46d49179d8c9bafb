"""A site of static files: pages of the app's own views, recorded answers, and models for the browser."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial

from headlight import ROOT
from headlight.api.handout import document
from headlight.api.index_html import first_block, head_tags
from headlight.api.prerender import PAGES as VIEWS
from headlight.api.routes import Handlers
from headlight.lessons.course import course
from headlight.picture import pictures
from headlight.registry import MINILM, SMOLLM2, available, get_source
from headlight.ui import pages, web
from headlight.ui.sheet import Block
from mha_core.errors import HeadlightError
from mha_core.show.model_file import pack_model

from .packs import INDEX, write_packs
from .recorder import MODELS, PICTURES, VISIBLE_STEP, Recorder

FOLDER = "app"  # of everything but the pages
ANSWERS, WEIGHTS = f"{FOLDER}/answers", f"{FOLDER}/models"
SERVER_COMMAND = "headlight"  # starts a server where Headlight is installed
# nothing is loaded from elsewhere; the engine compiles a few hundred bytes of WebAssembly
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'self'; "
    "form-action 'none'"
)
NO_SCRIPT = "<noscript><p>Headlight draws its pictures with JavaScript, which is switched off here.</p></noscript>"
_FILES = (
    web.SCRIPT,
    web.SITE_SCRIPT,
    "frame/boot.js",
    "frame/house.css",
    "frame/icon.svg",
    "lessons/lesson.css",
    web.TUTORIAL.name,
)
_LICENSES = ("LICENSE", "LICENSE-APACHE", "LICENSE-CONTENT", "NOTICE")  # NOTICE: what is under which

Sheets = Mapping[str, Callable[[bytes], dict[str, list[Block]]]]
TEXT_PAGES = ("lessons", "claims", "glossary")  # pages without a model


@dataclass(frozen=True)
class Sources:
    """Functions of the app’s pages: handlers by route, first messages and sheets by page."""

    handlers: Handlers
    first: Handlers
    sheets: Sheets

    def routes(self) -> dict[str, Callable[[bytes], bytes]]:
        """Return the handlers of the data API, and of the pages that a site asks for their sheets."""

        def to_json(name: str, raw: bytes) -> bytes:
            """Return the sheets of a page as JSON."""
            listed = [{"key": key, "blocks": blocks} for key, blocks in self.sheets[name](raw).items()]
            return json.dumps(listed, ensure_ascii=False, separators=(",", ":")).encode()

        def visible_step(raw: bytes) -> bytes:
            """Return the traces with the numbers of the visible step, for a page that asks for no others."""
            # the packed bytes state the length of this header, so that the new value must be as long
            return self.first["shapes"](raw).replace(b'"cut":true', b'"cut":null', 1)

        sheets = {f"page.{pages.path(name)}": partial(to_json, name) for name in self.sheets}
        return {**self.handlers, **sheets, VISIBLE_STEP: visible_step}


def record(recorder: Recorder, *, everything: bool) -> Iterator[str]:
    """Record all answers, with the example sentences if `everything` is; yield what is recorded next."""
    # the pages first, so that the traces of Shapes are those with all numbers
    for model in (MINILM, *MODELS) if everything else ():
        for pack in recorder.record_collection(model):
            yield f"the examples of {get_source(model).title}, {pack}"
    recorder.pack = "first"
    for page in PICTURES:
        recorder.open(page, [])
    for name in MODELS:  # a picture that the browser computes takes its texts from a recorded one
        recorder.open("explore", [("model", name)])
    recorder.pack = "course"
    recorder.record("course")
    recorder.pack = "words"
    for route in ("search", *(f"page.{pages.path(name)}" for name in TEXT_PAGES)):
        recorder.record(route)
    for lesson in course().lessons.values():
        yield f"the lesson “{lesson.title}”"
        recorder.record_lesson(lesson)


def model_files(*, with_minilm: bool) -> Iterator[tuple[str, bytes]]:
    """Pack the models that run in the browser; yield their names and files."""
    for name in (*MODELS, *([MINILM] if with_minilm else [])):
        model = pictures.model_on("auto", name)
        yield name, pack_model(model, name, get_source(name).title)


def build(sources: Sources, recorder: Recorder, models: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a site by their paths."""
    recorded = {f"{ANSWERS}/{name}": content for name, content in write_packs(recorder.packs).items()}
    weights = {f"{WEIGHTS}/{name}.bin": content for name, content in models.items()}
    fonts = {f"{FOLDER}/fonts/{font.name}": font.read_bytes() for font in web.fonts()}
    files = {
        **{f"{FOLDER}/{name}": web.FILES[name] for name in _FILES},
        **fonts,
        **recorded,
        **weights,
        "sw.js": web.FILES["site/sw.js"],
        **{name: (ROOT / name).read_bytes() for name in _LICENSES},
        ".nojekyll": b"",  # GitHub Pages serves the files as they are
    }
    version = web.version(files | _pages(sources, {}))
    facts = {
        "version": version,
        "models": [[name, *available()[name]] for name in (MINILM, *MODELS)],
        "recorded": [[SMOLLM2, *available()[SMOLLM2]]],
        "start": SERVER_COMMAND,
        "files": {name: {"file": f"models/{name}.bin", "bytes": len(content)} for name, content in models.items()},
        "answers": sorted(recorded),
    }
    html = _pages(sources, facts)
    rest = [*sorted(recorded.keys() - {f"{ANSWERS}/{INDEX}"}), *sorted(weights)]
    first = sorted({*html, *files} - {*rest, *_LICENSES, "sw.js", ".nojekyll"})
    listed = _to_json({"version": version, "index": _file(pages.DEFAULT), "first": first, "rest": rest})
    return {**html, **files, "files.js": f"self.headlightFiles = {listed};\n".encode()}


def first_lesson(files: Mapping[str, bytes]) -> int:
    """Return how many bytes a browser fetches until the first lesson shows."""
    lesson = next(iter(course().lessons.values()))
    answers = (f"{ANSWERS}/{INDEX}", *(f"{ANSWERS}/{name}-{'[0-9a-f]' * 8}.bin" for name in ("course", lesson.id)))
    app = [f"{FOLDER}/{name}" for name in _FILES if name != web.TUTORIAL.name]
    patterns = (_file(lesson.steps[0].page), *answers, *app, f"{FOLDER}/fonts/*")
    return sum(len(content) for name, content in files.items() if any(fnmatch(name, pattern) for pattern in patterns))


def _file(page: str) -> str:
    return f"{pages.path(page) or 'index'}.html"


def _pages(sources: Sources, facts: Mapping[str, object]) -> dict[str, bytes]:
    """Return the HTML files of all pages."""
    views = dict(VIEWS.values())
    return {_file(name): _page(sources, page.title, name, views, facts) for name, page in pages.PAGES.items()}


def _page(sources: Sources, title: str, name: str, views: Mapping[str, str], facts: Mapping[str, object]) -> bytes:
    blocks = [
        f'<script type="application/json" id="headlight-pages">{pages.as_json(".html")}</script>',
        f'<script type="application/json" id="headlight-site">{_to_json(facts)}</script>',
    ]
    if name in views:
        with suppress(HeadlightError):  # the page asks for it
            blocks.append(first_block(views[name], sources.first[name](b"")))
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    head = "\n".join(
        [policy, '<meta name="referrer" content="no-referrer">', head_tags(FOLDER, web.SITE_SCRIPT), *blocks]
    )
    return document(title, head, NO_SCRIPT, FOLDER, web.font_face(f"{FOLDER}/fonts")).encode()


def _to_json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
