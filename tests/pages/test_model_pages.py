"""Trained models on the pages: the list, the link, what fits another model, and who may see whose."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from mha_core.errors import HeadlightError
from mha_core.training import saved, tasks
from pages.kit.jobs import visitor
from pages.kit.picture import models, pictures
from pages.kit.picture.mask_codec import write_cells
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings

from .conftest import OpenApp, app_at, state

pytestmark = pytest.mark.usefixtures("shipped")
WHO, WORDS = tasks.build("who").questions, tasks.build("words").questions


def own_runs(monkeypatch: pytest.MonkeyPatch, **runs: Path) -> None:
    """Makes these folders the visitor's own runs."""
    found = {
        name: SimpleNamespace(id=name, label=f"mine, {name}", folder=folder, history=saved.read(folder))
        for name, folder in runs.items()
    }
    monkeypatch.setattr(visitor, "own_runs", lambda: found)


@pytest.fixture
def own(shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of this visitor, called "secret"."""
    folder = tmp_path / "run"
    shutil.copytree(shipped / "food-learned-1", folder)
    own_runs(monkeypatch, secret=folder)
    return folder


def test_a_link_opens_a_trained_model_with_its_first_question(open_app: OpenApp) -> None:
    shown = state(open_app(model="who-rotary-1"))
    assert shown["digest"] == Settings(WHO[0], model="who-rotary-1").digest
    assert (shown["layer"], shown["head"], shown["origin"]) == (0, 0, "trained here")
    assert shown["presets"] == list(WHO)
    assert shown["notices"] == []
    assert [figure["label"] for figure in shown["figures"] if "transformers" in figure["label"]] == []


def test_a_language_model_shows_its_own_mask(open_app: OpenApp) -> None:
    shown = state(open_app(model="words-rotary-1"))
    n = len(WORDS[0].split())
    assert shown["forbidden"] == [write_cells(torch.ones(n, n).triu(1).bool())]
    assert "causal mask: built in" in shown["label"]


def test_a_model_of_another_visit_says_whose_it_is(open_app: OpenApp) -> None:
    app = open_app(model="EAkz0123456789_-abcdef")
    (notice,) = state(app)["notices"]
    assert notice.startswith("The link says model=EAkz")
    assert notice.endswith("it belongs to that one; its owner can send the zip.")
    assert state(app.run())["notices"] == [notice]


@pytest.mark.parametrize("name", ["../who-none-1", "who-rotary-2", "x" * 5000, "secret"])
def test_any_other_name_is_told_and_ignored(open_app: OpenApp, name: str) -> None:
    app = open_app(model=name)
    shown = state(app)
    assert shown["digest"] == Settings(PRESETS[0]).digest
    (notice,) = shown["notices"]
    assert notice.startswith("The link says model=")
    assert shown["unusable"] == ["model"]
    assert state(app.run())["notices"] == [notice], "the view answers, and that run says it once more"
    assert app.text_input(key="model").value == "minilm"
    assert state(app.run())["notices"] == []


def test_changing_the_model_takes_along_what_fits(open_app: OpenApp) -> None:
    app = open_app(off=["L0 H1", "L5 H3"], at="4.7.2", look="linear_solo4.7", pos="shuffled", mask="causal")
    state(app)
    app.selectbox(key="model_choice").set_value("who-rotary-1").run()
    shown = state(app)
    wanted = Settings(WHO[0], "causal", heads_off=((0, 1),), model="who-rotary-1")
    assert shown["digest"] == wanted.digest
    assert (shown["layer"], shown["head"], shown["look"], shown["notices"]) == (0, 0, "", [])
    app.selectbox(key="model_choice").set_value("minilm").run()
    assert state(app)["digest"] == Settings(PRESETS[0], "causal", heads_off=((0, 1),)).digest
    assert state(app)["at"].startswith("3.1")


def test_a_preset_becomes_the_new_models_first_and_a_typed_sentence_stays(open_app: OpenApp) -> None:
    app = open_app(model="who-none-1", s=WHO[2])
    app.selectbox(key="model_choice").set_value("words-rotary-1").run()
    assert app.text_input(key="s").value == WORDS[0]
    app.text_input(key="s").set_value("the wolf").run()
    assert "vocabulary: “the”" in state(app)["notices"][0]
    app.selectbox(key="model_choice").set_value("who-none-1").run()
    assert state(app)["digest"] == Settings("the wolf", model="who-none-1").digest


def test_an_empty_sentence_of_a_language_model_keeps_the_last_picture(open_app: OpenApp) -> None:
    app = open_app(model="words-rotary-1", s=WORDS[1])
    app.text_input(key="s").set_value("").run()
    shown = state(app)
    assert shown["digest"] == Settings(WORDS[1], model="words-rotary-1").digest
    assert "type at least one word" in shown["notices"][0]
    app.text_input(key="s").set_value("wolf " * 400).run()
    assert "takes at most" in state(app)["notices"][0]


def test_a_text_too_long_for_the_new_model_has_a_picture_too(open_app: OpenApp) -> None:
    app = open_app(s="wolf " * 100)
    app.selectbox(key="model_choice").set_value("words-rotary-1").run()
    shown = state(app)
    assert shown["digest"] == Settings(WORDS[0], model="words-rotary-1").digest
    assert "takes at most" in shown["notices"][0]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("compare", "who-none-1"),
        ("by_hand", "words-rotary-1"),
    ],
)
def test_the_other_pages_show_it_too(path: str, name: str) -> None:
    app = app_at(path, model=name, ex="a real cell").run()
    assert not app.exception
    assert not app.error
    assert app.text_input(key="s").value == models.presets(name)[0]
    assert app.selectbox(key="model_choice").value == name


def test_a_pinned_picture_of_another_model(open_app: OpenApp) -> None:
    pin = f"0.2.1@who-none-1~none~trained~1~~{WHO[1]}"
    shown = state(open_app(pin=pin))
    assert shown["pin"]["tokens"][1:-1] == WHO[1].split()
    assert shown["pin"]["label"] == "nothing changed; Who did what, no positions"
    gone = state(open_app(pin=pin.replace("who-none-1", "nobody")))
    assert gone["pin"] is None
    assert "pin=" in gone["notices"][0]


# ---- own runs


def test_an_own_run_is_offered_and_shown(open_app: OpenApp, own: Path) -> None:
    app = open_app(model="secret")
    shown = state(app)
    assert shown["digest"] == Settings(tasks.build("food").questions[0], model="secret").digest
    assert shown["notices"] == []
    assert "mine, secret" in app.selectbox(key="model_choice").options


def test_an_own_run_is_its_visitors_alone(open_app: OpenApp, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state(open_app(model="secret"))
    own_runs(monkeypatch)
    other = open_app(model="secret", pin="0.1@secret~none~trained~1~~the food")
    shown = state(other)
    assert shown["digest"] == Settings(PRESETS[0]).digest
    assert shown["pin"] is None
    assert len(shown["notices"]) == 2
    assert "mine" not in " ".join(other.selectbox(key="model_choice").options)


def test_a_run_that_is_gone_is_told(open_app: OpenApp, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_app(model="secret")
    shutil.rmtree(own)
    own_runs(monkeypatch)
    shown = state(app.run())
    assert shown["origin"] == "pretrained"
    assert shown["notices"][0] == "The trained model that was shown here is gone: MiniLM is shown instead."
    with pytest.raises(HeadlightError, match="gone"):
        pictures.model_on("auto", "secret")


def test_damaged_weights_have_a_sentence(open_app: OpenApp, own: Path) -> None:
    (own / "model.safetensors").write_bytes(b"no weights")
    app = open_app(model="secret")
    assert "The model cannot be loaded" in app.error[0].value
    app.selectbox(key="model_choice").set_value("minilm").run()
    assert state(app)["origin"] == "pretrained"
