"""A package that is missing is told by its name; a failing import of ours, or of half a package, is a fault."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from headlight.server.missing import missing_package
from pages.frame import canvas

from .conftest import every, told_to
from .train_app import Train


def raised_by(code: str) -> ImportError:
    with pytest.raises(ImportError) as raised:
        exec(code, {})
    return raised.value


def test_package_that_an_import_lacks_is_named_and_no_fault_is_called_one() -> None:
    lacking = "try:\n import no_such_package\nexcept ImportError as error:\n raise {} from {}"
    for code in (
        "import no_such_package",
        "from no_such_package.part import x",
        # as transformers says it: without a name, raised from what pandas' absence raised
        lacking.format("ModuleNotFoundError('Could not import BertModel')", "error"),
        lacking.format("ImportError('cannot import name x from y', name='pages.x')", "error"),
        "try:\n import no_such_package\nexcept ImportError:\n import pages.nothing",
    ):
        assert missing_package(raised_by(code)) == "no_such_package", code
    for code in (
        "from headlight.ui import nothing_of_this_name",
        "import pages.nothing_of_this_name",
        "import mha_core.nothing_of_this_name",
        "from torch import nothing_of_this_name",
        "import torch.nothing_of_this_name",
        "raise ImportError",
        "raise ImportError('DLL load failed')",
        "raise ModuleNotFoundError('not told which')",
        "raise ModuleNotFoundError(name='pages')",
        "raise ModuleNotFoundError(name='_sqlite3')",
    ):
        assert missing_package(raised_by(code)) is None, code
    first, second = ImportError("one"), ImportError("two")
    first.__cause__, second.__cause__ = second, first
    assert missing_package(first) is None, "an error that caused itself"


# ---- without plotly or pandas: one sentence where something of theirs would stand, and the rest of the page


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
    canvas.figure_class.cache_clear()
    yield
    canvas.figure_class.cache_clear()


def check_named(app: AppTest, package: str) -> None:
    """The page names it, once, and nothing has failed."""
    assert [error.value for error in app.exception] == []
    sentence = f"The package {package} is missing. Set Headlight up again with `make run`, then reload this page."
    assert [error.value for error in app.error] == [sentence]


def columns(app: AppTest) -> list[str]:
    """Those of every table on the page."""
    sheets = [one.proto for one in app.get("bidi_component") if one.proto.component_name == "headlight_sheet"]
    every_block = [block for one in sheets for block in every(told_to(one)["blocks"])]
    return [column for block in every_block if block["kind"] == "table" for column in block["head"]]


@pytest.mark.usefixtures("no_plotly")
@pytest.mark.faults
def test_train_without_plotly(shipped: Path) -> None:
    page = Train()
    check_named(page.app, "plotly")
    assert "accuracy" in columns(page.app)


def test_predictions_without_pandas(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pandas")
    page = Train(tab="Report", only="typed sentences")
    check_named(page.app, "pandas")
    assert "precision" in columns(page.app)
