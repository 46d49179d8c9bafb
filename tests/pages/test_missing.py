"""A package that is missing is told by its name; a failing import of ours, or of half a package, is a fault."""

from __future__ import annotations

import importlib

import pytest
from streamlit.testing.v1 import AppTest

from pages.kit.draw.web import API
from pages.kit.picture import pictures
from pages.kit.picture.settings import Settings
from pages.kit.server.missing import missing_package
from pages.kit.wire.routes import Wire

from .conftest import app_at
from .test_wire import served


def raised_by(code: str) -> ImportError:
    with pytest.raises(ImportError) as raised:
        exec(code, {})
    return raised.value


def test_a_package_that_is_not_there() -> None:
    assert missing_package(raised_by("import no_such_package")) == "no_such_package"
    assert missing_package(raised_by("from no_such_package.part import x")) == "no_such_package"


@pytest.mark.parametrize(
    "code",
    [
        "from pages.kit.draw import nothing_of_this_name",
        "import pages.nothing_of_this_name",
        "import mha_core.nothing_of_this_name",
        "from torch import nothing_of_this_name",
        "import torch.nothing_of_this_name",
        "raise ImportError",
        "raise ImportError('DLL load failed')",
        "raise ModuleNotFoundError('not told which')",
        "raise ModuleNotFoundError(name='pages')",
        "raise ModuleNotFoundError(name='_sqlite3')",
    ],
)
def test_what_is_no_missing_package(code: str) -> None:
    assert missing_package(raised_by(code)) is None


def test_a_package_that_another_one_lacks() -> None:
    """As transformers says it: without a name, raised from what pandas' absence raised."""
    lacking = "try:\n import no_such_package\nexcept ImportError as error:\n raise {} from {}"
    assert missing_package(raised_by(lacking.format("ModuleNotFoundError('Could not import BertModel')", "error")))
    named = raised_by(lacking.format("ImportError('cannot import name x from y', name='pages.x')", "error"))
    assert missing_package(named) == "no_such_package"
    during = raised_by("try:\n import no_such_package\nexcept ImportError:\n import pages.nothing")
    assert missing_package(during) == "no_such_package"


def test_an_error_that_caused_itself_ends() -> None:
    first, second = ImportError("one"), ImportError("two")
    first.__cause__, second.__cause__ = second, first
    assert missing_package(first) is None


def test_the_comparison_with_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The route says which package it lacks; everything else of the picture is there."""

    def fails(settings: Settings, *, ask: bool) -> float | None:
        if ask:
            raise ModuleNotFoundError("no", name="pandas")
        return None

    monkeypatch.setattr(pictures, "difference_to_transformers", fails)
    with served(Wire()) as client:
        answer = client.get(f"{API}/compared?s=how+are+you")
        assert (answer.status_code, answer.text.split(".")[0]) == (422, "The package pandas is missing")
        assert client.get(f"{API}/maps?s=how+are+you").status_code == 200


def opened_without(name: str, error: ImportError, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The glossary, whose page fails to be imported."""
    whole = importlib.import_module

    def import_module(asked: str, package: str | None = None) -> object:
        if asked == name:
            raise error
        return whole(asked, package)

    monkeypatch.setattr(importlib, "import_module", import_module)
    return app_at("glossary").run()


def test_a_page_names_the_package_and_no_fault_is_called_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "pages.glossary.page"
    app = opened_without(page, ModuleNotFoundError("no", name="plotly"), monkeypatch)
    assert [alert.value for alert in app.error] == [
        "The package plotly is missing. Set Headlight up again with `make run`, then reload this page."
    ]
    app = opened_without(page, ImportError("cannot import name 'x' from 'pages'"), monkeypatch)
    assert list(app.error) == []
    assert len(app.exception) == 1, "Streamlit logs it, and says that the app has a fault"
