"""Without plotly or pandas: one sentence where something of theirs would stand, and the rest of the page as ever."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.kit.draw import canvas

from .conftest import app_at, every, told_to
from .test_training_data import NEWS
from .train_app import Train, upload
from .waiting import PATIENCE


def without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Has every import of a package fail, as if it was not installed."""

    class Nowhere(MetaPathFinder):
        def find_spec(self, name: str, *_: object) -> None:
            if name == package:
                raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Nowhere(), *sys.meta_path])


@pytest.fixture
def no_plotly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    without(monkeypatch, "plotly")
    canvas.charts.cache_clear()
    yield
    canvas.charts.cache_clear()


@pytest.fixture
def no_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pandas")


def check_told(app: AppTest, package: str) -> None:
    """The page says it, once, and nothing has failed."""
    assert [error.value for error in app.exception] == []
    said = f"The package {package} is missing. Set Headlight up again with `make run`, then reload this page."
    assert [error.value for error in app.error] == [said]


def columns(app: AppTest) -> list[str]:
    """Those of every table on the page."""
    sheets = [one.proto for one in app.get("bidi_component") if one.proto.component_name == "headlight_sheet"]
    every_block = [block for one in sheets for block in every(told_to(one)["blocks"])]
    return [column for block in every_block if block["kind"] == "table" for column in block["head"]]


@pytest.mark.usefixtures("no_plotly")
@pytest.mark.faults
def test_train_without_plotly(shipped: Path) -> None:
    page = Train()
    check_told(page.app, "plotly")
    assert "accuracy" in columns(page.app)
    page.app.run()
    check_told(page.app, "plotly")
    assert not page.app.get("plotly_chart")
    page.open("Report")
    assert not page.app.error
    assert not page.app.exception


@pytest.mark.usefixtures("no_plotly")
def test_a_race_without_plotly() -> None:
    app = app_at("implementations", race=["fused"], secs="1", b="1", n="4", d="8", h="2").run()
    app.button(key="start").click().run()
    app.session_state["timing_job"].join(PATIENCE)
    app.run()
    check_told(app, "plotly")


@pytest.mark.usefixtures("no_pandas")
def test_predictions_without_pandas(shipped: Path) -> None:
    page = Train(tab="Report", only="typed sentences")
    check_told(page.app, "pandas")
    assert "precision" in columns(page.app)


@pytest.mark.usefixtures("no_pandas")
def test_an_upload_without_pandas(shipped: Path) -> None:
    page = Train(task="your own CSV", pe=["none"])
    upload(page, "csv_file", NEWS.encode())
    assert not page.app.exception
    assert not page.app.error
    assert not page.off("train_start")
