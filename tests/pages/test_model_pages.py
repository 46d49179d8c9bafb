"""Trained models: on the wire, on the form pages, who may choose which, and what is said of one that is gone."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from mha_core.errors import HeadlightError
from mha_core.show.cells import write_cells
from mha_core.training import saved, tasks
from pages.kit.jobs import visitor
from pages.kit.picture import models, pictures
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.server import store

from .conftest import app_at, component, payloads, picture_of, told_to

pytestmark = pytest.mark.usefixtures("shipped")
WHO, WORDS = tasks.build("who").questions, tasks.build("words").questions
SECRET = "0123456789_secret-name"  # as long as a name that nobody can guess


def offered(app: AppTest) -> dict[str, str]:
    """The models that the bar offers: name -> title."""
    return {name: title for name, title, *_ in told_to(component(app, "house"))["models"]}


def shown(**values: str) -> dict[str, Any]:
    return picture_of("maps", **values)[0]


def own_runs(monkeypatch: pytest.MonkeyPatch, **runs: Path) -> None:
    """Makes these folders the visitor's own runs."""
    found = {name: SimpleNamespace(id=name, folder=folder, history=saved.read(folder)) for name, folder in runs.items()}
    monkeypatch.setattr(visitor, "own_runs", lambda: found)


@pytest.fixture
def own(shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of this visitor, called `SECRET`."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / "run"
    shutil.copytree(shipped / "food-learned-1", folder)
    models.keep(SECRET, folder)
    own_runs(monkeypatch, **{SECRET: folder})
    return folder


def test_a_link_opens_a_trained_model_with_its_first_question() -> None:
    said = shown(model="who-rotary-1")
    assert said["digest"] == Settings(WHO[0], model="who-rotary-1").digest
    assert (said["layer"], said["head"], said["origin"]) == (0, 0, "trained here")
    assert said["presets"] == list(WHO)
    assert said["presetNames"] == [""] * len(WHO)  # its task says what they show
    assert said["notices"] == []
    assert [figure["label"] for figure in said["figures"] if "transformers" in figure["label"]] == []


def test_a_language_model_shows_its_own_mask() -> None:
    said = shown(model="words-rotary-1")
    n = len(WORDS[0].split())
    assert said["forbidden"] == [write_cells(torch.ones(n, n).triu(1).bool())]
    assert "causal mask: built in" in said["label"]


def test_a_model_of_another_visit_says_whose_it_is() -> None:
    (notice,) = shown(model="EAkz0123456789_-abcdef")["notices"]
    assert notice.startswith("The link says model=EAkz")
    assert notice.endswith("it belongs to that one; its owner can send the zip.")
    assert notice in payloads(app_at("by_hand", ex="a real cell", model="EAkz0123456789_-abcdef").run())


@pytest.mark.parametrize("name", ["../who-none-1", "who-rotary-2", "x" * 5000, "secret", SECRET])
def test_any_other_name_is_told_and_ignored(name: str) -> None:
    said = shown(model=name)
    assert said["digest"] == Settings(PRESETS[0]).digest
    (notice,) = said["notices"]
    assert notice.startswith("The link says model=")
    assert set(said["unusable"]) == {"model"}
    app = app_at("by_hand", ex="a real cell", model=name).run()
    assert "The link says model=" in payloads(app)
    assert app.text_input(key="s").value == PRESETS[0]


@pytest.mark.parametrize(("page", "name"), [("by_hand", "words-rotary-1"), ("side_by_side", "who-none-1")])
def test_the_form_pages_show_it_too(page: str, name: str) -> None:
    app = app_at(page, model=name, ex="a real cell").run()
    assert not app.exception
    assert not app.error
    assert app.text_input(key="s").value == models.presets(name)[0]
    assert name in offered(app)


@pytest.mark.parametrize("page", ["explore", "compare", "masks", "shapes"])
def test_the_pages_of_views_offer_it(page: str) -> None:
    assert {"minilm", "who-none-1"} <= offered(app_at(page).run()).keys()


@pytest.mark.parametrize("page", ["positions", "implementations", "train", "claims", "glossary"])
def test_a_page_that_takes_no_model_offers_none(page: str) -> None:
    app = app_at(page, model="who-none-1").run()
    assert offered(app) == {}
    assert "The link says" not in payloads(app)


def test_a_pinned_picture_of_another_model() -> None:
    pin = f"0.2.1@who-none-1~none~trained~1~~{WHO[1]}"
    said = shown(pin=pin)
    assert said["pin"]["tokens"][1:-1] == WHO[1].split()
    assert said["pin"]["label"] == "nothing changed; Who did what, no positions"
    gone = shown(pin=pin.replace("who-none-1", "nobody"))
    assert gone["pin"] is None
    assert "pin=" in gone["notices"][0]


# ---- own runs


def test_an_own_run_is_offered_and_shown(own: Path) -> None:
    app = app_at("by_hand", ex="a real cell", model=SECRET).run()
    assert app.text_input(key="s").value == tasks.build("food").questions[0]
    assert offered(app)[SECRET] == "Food review: learned, torch, seed 1"
    assert "The link says" not in payloads(app)
    assert shown(model=SECRET)["digest"] == Settings(tasks.build("food").questions[0], model=SECRET).digest


def test_an_own_run_is_offered_to_its_visitor_alone(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SECRET in offered(app_at("explore").run())
    own_runs(monkeypatch)
    assert SECRET not in offered(app_at("explore").run())


def test_a_run_that_is_gone_is_told(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_at("by_hand", ex="a real cell", model=SECRET).run()
    store.forget("model", SECRET)
    own_runs(monkeypatch)
    assert f"The link says model={SECRET}" in payloads(app.run())
    with pytest.raises(HeadlightError, match="gone"):
        pictures.model_on("auto", SECRET)


def test_damaged_weights_have_a_sentence(own: Path) -> None:
    (own / "model.safetensors").write_bytes(b"no weights")
    store.keep("model", saved.pack(own), SECRET)
    app = app_at("by_hand", ex="a real cell", model=SECRET).run()
    assert "The model cannot be loaded" in app.error[0].value
