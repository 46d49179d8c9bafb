"""MiniLM and a few trained models once for all tests of the pages, and the whole app without a browser."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from mha_core import Model
from mha_core.training import tasks
from mha_core.training.loop import Training
from mha_core.training.recipe import Recipe
from pages.kit.draw import canvas
from pages.kit.draw.figures import Figure
from pages.kit.picture import models, pictures, sharing

SHELL = Path(__file__).parents[2] / "pages" / "kit" / "frame" / "shell.py"

OpenApp = Callable[..., AppTest]


@pytest.fixture(scope="session")
def model() -> Model:
    return pictures.model_on("auto")


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
    monkeypatch.setattr(models, "SHIPPED", trained_folder)
    models.shipped.cache_clear()
    yield trained_folder
    models.shipped.cache_clear()
    sharing.forget()


@pytest.fixture(autouse=True)
def figures_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has plotly check every figure that a page draws; on the screen they are sent as they are."""
    draw = canvas.chart

    def chart(key: str, figure: Figure, alt: str) -> None:
        from plotly.graph_objects import Figure as Checked

        Checked(figure)
        draw(key, figure, alt)

    monkeypatch.setattr(canvas, "chart", chart)


def app_at(page: str = "explore", **values: str | list[str]) -> AppTest:
    """The app before its first run, at the link of a page (a name of `PAGES`) with these values."""
    app = AppTest.from_file(str(SHELL), default_timeout=120)
    for key, value in values.items():
        app.query_params[key] = value
    return go_to(app, page)


def go_to(app: AppTest, page: str) -> AppTest:
    """Chooses a page by its address; Streamlit's own switch_page goes by file names, and all pages' are page.py."""
    app._page_hash = "" if page == "explore" else calc_hash(page.replace("_", "-"))
    return app


@pytest.fixture
def open_app() -> OpenApp:
    """Opens Explore with the values of a link."""
    return lambda **values: app_at(**values).run()


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
    """What the only one of them was given."""
    (found,) = components(app, name, key)
    return found


def every(some: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Blocks, each before those within it."""
    for block in some:
        yield block
        yield from every(block.get("blocks", []))


def blocks(app: AppTest, key: str = "") -> list[dict[str, Any]]:
    """Every block of all sheets, or of that of a key."""
    return [block for sheet in components(app, "sheet", key) for block in every(json.loads(sheet.json)["blocks"])]


def messages(app: AppTest) -> tuple[bytes, bytes]:
    """The two messages of the map view: all maps, and the state with the maps in focus."""
    return component(app, "maps").bytes, component(app, "focus").bytes


def state(app: AppTest) -> dict[str, Any]:
    """The state that the map view was given."""
    return unpacked(messages(app)[1])[0]


def payloads(app: AppTest) -> str:
    """Everything that the page's views and sheets were given, as one text."""
    assert not app.exception
    assert not app.error
    parts = [component.proto for component in app.get("bidi_component")]
    return " ".join(part.json or part.bytes.decode("utf-8", "replace") for part in parts)
