"""MiniLM and a few trained models once for all tests of the pages, and the whole app without a browser."""

from __future__ import annotations

import inspect
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import streamlit as st
import torch
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash
from torch import Tensor

from headlight.api.routes import Handler
from headlight.jobs import training
from headlight.jobs import workspace as visits
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.queue import single_flight
from headlight.registry import trained
from headlight.server import options
from headlight.ui.figures import Figure
from mha_core import Model
from mha_core.training import tasks
from mha_core.training.limits import TrainingPlan
from mha_core.training.loop import Training
from mha_core.training.recipe import Recipe
from pages.frame import canvas, user
from pages.handlers import HANDLERS

from .looped import run

options.read = st.get_option  # as app.py does

SHELL = Path(__file__).parents[2] / "pages" / "frame" / "shell.py"

# The views whose picture comes over the wire -> the route.
ROUTE_OF = {"maps": "maps", "pair": "pair", "steps": "steps", "masks": "masks", "film": "film"}

BELOW = {"pair": ("shuffle",), "masks": ("outcomes",), "steps": ("reshape",)}  # what stands under such a picture


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine."""
    test, given = pyfuncitem.obj, pyfuncitem.funcargs
    if not inspect.iscoroutinefunction(test):
        return None
    run(test(**{name: given[name] for name in inspect.signature(test).parameters}))
    return True


@pytest.fixture(scope="session")
def model() -> Model:
    """MiniLM, whose passes in tests take one thread, as those of short pictures do."""
    torch.set_num_threads(1)
    return pictures.model_on("auto")


def answer(route: str, raw: bytes) -> bytes:
    """The answer of the data API to a query."""
    return HANDLERS[route](raw)


def every_route(made: Callable[[str, bytes], bytes]) -> Callable[[], Mapping[str, Handler]]:
    """Handlers of all routes that are one function of the route and the query."""
    return lambda: {route: partial(made, route) for route in HANDLERS}


def train(folder: Path, **recipe: Any) -> None:
    """A run of a few steps, saved; it has learned next to nothing."""
    training = Training(Recipe(**{"steps": 2, "evaluations": 1, "batch": 8, **recipe}), tasks.build(recipe["task"]))
    for _ in training.events():
        pass
    training.save(folder)


@pytest.fixture(scope="session")
def trained_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained models as they are shipped: both kinds, and one of each thing that is special."""
    folder = tmp_path_factory.mktemp("trained")
    train(folder / "who-none-1", task="who", position="none")
    train(folder / "who-rotary-1", task="who", position="rotary")
    train(folder / "food-learned-1", task="food", position="learned", implementation="torch")
    train(folder / "words-rotary-1", task="words", position="rotary", n_layers=2, norm=True, residual=True)
    (folder / "who-rotary-2").mkdir()  # a seed whose curves alone are shipped
    return folder


@pytest.fixture
def shipped(trained_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Headlight with these models."""
    monkeypatch.setattr(trained, "SHIPPED", trained_folder)
    trained.shipped.cache_clear()
    single_flight.clear_caches()
    yield trained_folder
    trained.shipped.cache_clear()
    single_flight.clear_caches()


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of the passes from now on."""
    texts, run = list[str](), Settings.run

    def counted(self: Settings, *given: Any, **more: Any) -> Any:
        texts.append(self.text)
        return run(self, *given, **more)

    monkeypatch.setattr(Settings, "run", counted)
    return texts


@pytest.fixture(scope="session", autouse=True)
def packages_are_searched_once() -> Iterator[None]:
    """Every new AppTest reads what all installed packages say of themselves, which takes longer than most pages do."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(autouse=True)
def figures_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have plotly check every figure that a page draws; on the screen they are sent as they are."""
    draw = canvas.chart

    def chart(key: str, figure: Figure, alt: str, *rest: Any) -> None:
        from plotly.graph_objects import Figure as Checked

        Checked(figure)
        draw(key, figure, alt, *rest)

    monkeypatch.setattr(canvas, "chart", chart)


@pytest.fixture(scope="session", autouse=True)
def nothing_is_swept_beside_a_test() -> Iterator[None]:
    """Keep the sweeper thread out of tests: with a patched clock or bound it would delete other processes' files."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(visits, "start_sweeping", lambda: None)
        yield


@pytest.fixture(autouse=True)
def no_job_stays() -> Iterator[None]:
    """End every training and timing with its test."""
    yield
    training.reset()
    assert not training.active_jobs()


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[TrainingPlan]:
    """The plans that would be trained."""
    plans: list[TrainingPlan] = []
    monkeypatch.setattr(user, "start", plans.append)
    return plans


def app_at(page: str = "explore", **values: str | list[str]) -> AppTest:
    """The app before its first run, at the link of a page (a name of `PAGES`) with these values."""
    app = AppTest.from_file(str(SHELL), default_timeout=120)
    for key, value in values.items():
        app.query_params[key] = value
    return go_to(app, page)


def go_to(app: AppTest, page: str) -> AppTest:
    """Choose a page by its address; Streamlit's own switch_page goes by file names, and all pages' are page.py."""
    app._page_hash = "" if page == "explore" else calc_hash(page.replace("_", "-"))
    return app


def unpacked(packed: bytes) -> tuple[dict[str, Any], bytes]:
    """The header and the values of a message, read as the browser reads them."""
    (length,) = struct.unpack_from("<I", packed)
    return json.loads(packed[4 : 4 + length]), packed[4 + length :]


def components(app: AppTest, name: str, key: str = "") -> list[Any]:
    """What the browser's components of that name were given, in the page's order; `key`: of those of that key alone."""
    assert not app.exception
    assert not app.error
    found = [component.proto for component in app.get("bidi_component")]
    return [
        one for one in found if one.component_name == f"headlight_{name}" and one.id.endswith(f"-{key}" * bool(key))
    ]


def component(app: AppTest, name: str, key: str = "") -> Any:
    (found,) = components(app, name, key)
    return found


def told_to(component: Any) -> dict[str, Any]:
    """The state that a view or a sheet was given."""
    (told,) = json.loads(component.json)
    return dict(told)


def every(some: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Blocks, each before those within it."""
    for block in some:
        yield block
        yield from every(block.get("blocks", []))


def blocks(app: AppTest, key: str = "") -> list[dict[str, Any]]:
    """Every block of all sheets, or of that of a key."""
    return [block for sheet in components(app, "sheet", key) for block in every(told_to(sheet)["blocks"])]


def answers(route: str, query: str) -> list[bytes]:
    """The messages with which the wire answers a query."""
    header, body = unpacked(answer(route, query.encode()))
    ends = list(accumulate(header["parts"]))
    return [body[end - length : end] for length, end in zip(header["parts"], ends, strict=True)]


def picture_of(route: str, **values: str | list[str]) -> tuple[dict[str, Any], Tensor]:
    """What the wire says of the picture of a link, and its maps one after another, float32 (n,)."""
    header, body = unpacked(answers(route, urlencode(values, doseq=True))[0])
    return header, torch.tensor(np.frombuffer(body, "<f4"))


def payloads(app: AppTest) -> str:
    """Everything that the page's views and sheets were given, and what the wire answers them, as one text."""
    assert not app.exception
    assert not app.error
    texts = []
    for part in (component.proto for component in app.get("bidi_component")):
        texts.append(part.json or part.bytes.decode("utf-8", "replace"))
        route = ROUTE_OF.get(part.component_name.removeprefix("headlight_"))
        if route is not None:
            # a view that owns what is shown asks with the link, the film with its name
            state, link = told_to(part), urlencode(app.query_params, doseq=True)
            query = f"name={state['digest']}" if route == "film" else state.get("query", link)
            messages = [*answers(route, query), *(answer(name, query.encode()) for name in BELOW.get(route, ()))]
            texts.append(query)
            texts += [message.decode("utf-8", "replace") for message in messages]
    return " ".join(texts)
