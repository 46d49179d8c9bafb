"""Models of the list: what it says of each, its link, its picture and words, and who may choose whose."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from headlight import registry
from headlight.link.limits import POSITIONS
from headlight.link.presets import PRESETS
from headlight.picture import pictures
from headlight.picture import words as text
from headlight.picture.settings import Settings
from headlight.queue import slots
from headlight.registry import MINILM, SMOLLM2, get_source, models, pretrained, trained
from headlight.registry.trained import Trained
from headlight.server import store
from mha_core import Model, load_model
from mha_core.attention.base import AttentionLayer
from mha_core.attention.switches import EVERYTHING
from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.measure import rounding
from mha_core.pretrained import smollm2
from mha_core.show.cells import write_cells
from mha_core.training import saved, tasks
from pages.compare import pairs
from pages.frame import user
from tests.closeness import identical, within_rounding

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
    monkeypatch.setattr(user, "own_runs", lambda: found)


@pytest.fixture
def own(shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of this user, called `SECRET`."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / "run"
    shutil.copytree(shipped / "food-learned-1", folder)
    trained.save_to_store(SECRET, folder)
    own_runs(monkeypatch, **{SECRET: folder})
    return folder


# ---- the list


def test_the_list_says_size_and_direction_of_every_folder_with_weights(model: Model, own: Path) -> None:
    assert list(trained.shipped()) == ["who-none-1", "who-rotary-1", "food-learned-1", "words-rotary-1"]
    assert trained.shipped()["who-none-1"] == "Who did what, no positions"
    listed = registry.available([Trained(SECRET)])
    assert list(dict.fromkeys(group for _, group, _ in listed.values())) == ["Pretrained", "Trained here", "Yours"]
    for name, loaded in (
        {name: pictures.model_on("cpu", name) for name in trained.shipped()} | {"minilm": model}
    ).items():
        sizes, says = loaded.sizes, listed[name][2]
        assert says.startswith(f"{sizes.n_layers} × {sizes.n_heads} heads, "), name
        assert says.endswith(trained.BOTH_WAYS if loaded.own_mask == "none" else trained.ONE_WAY), name
        assert name == MINILM or f"vocabulary of {loaded.tokenizer.get_vocab_size():,} tokens" in says


def test_a_server_may_leave_smollm2_out_or_not_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(registry.available())[:2] == [MINILM, SMOLLM2]

    def missing() -> Path:
        raise WeightsFileError("the package is not installed")

    with monkeypatch.context() as patched:
        patched.setattr(smollm2, "file", missing)
        assert registry.available()[SMOLLM2][0].endswith("(not installed)")
    monkeypatch.setenv(pretrained.SWITCH, "OFF")
    assert SMOLLM2 not in registry.available()
    with pytest.raises(HeadlightError):
        pictures.model_on("cpu", SMOLLM2)


# ---- its numbers


def test_the_picture_is_the_models_own(shipped: Path) -> None:
    for name in ("who-none-1", "who-rotary-1", "words-rotary-1"):
        question = get_source(name).presets[0]
        with slots.pass_slot(len(question.split())):  # on as many threads
            run = load_model(str(shipped / name)).run(question, temperature=0.5)
        identical(pictures.picture(Settings(question, temperature=0.5, model=name)).run.weights, run.weights)
    # one of a limited implementation can do everything
    model, plain = pictures.model_on("auto", "food-learned-1"), load_model(str(shipped / "food-learned-1"))
    attention, question = model.stack.layers[0].attention, get_source("food-learned-1").presets[0]
    assert isinstance(attention, AttentionLayer)
    assert attention.can == EVERYTHING
    bound = rounding.sum_bound(64, 64, 16, 64, 16) * 4  # of q, k, their product, a row, and scores of up to four
    within_rounding(model.run(question).weights, plain.run(question).weights, bound)


# ---- words computed from what is shown


def test_labels_and_what_a_position_does(model: Model) -> None:
    for settings, label in (
        (Settings("it"), "nothing changed"),
        (Settings("it", mask="window:3"), "mask window 3"),
        (Settings("it", position="none"), "no positions"),
        (Settings("it", position="sinusoidal"), "sinusoidal positions (this model was not trained for them)"),
        (Settings("it", position="scaled:0.5"), "halved positions (this model was not trained for them)"),
        (Settings("it", temperature=0.5), "temperature 0.5"),
        (Settings("it", heads_off=((0, 0),)), "1 head off"),
        (Settings("it", "causal", heads_off=((0, 0), (0, 1))), "mask causal, 2 heads off"),
        (Settings("it", heads_off=((0, 0),), mlps_off=(1,), layers_off=(2, 3)), "1 head off, 1 MLP off, 2 layers off"),
    ):
        assert text.label(settings, model) == label
    for position in POSITIONS.values():
        note, places = text.position_note(position, model), text.position_places(position, model)
        assert note.endswith(f"{text.NOT_TRAINED}.") == (position != "trained")
        assert ("is left out" in note) == ("add" not in places or position in ("sinusoidal", "none"))
        assert ("in every layer" in note) == bool(places - {"add"})
        assert ("random numbers instead of trained ones" in note) == (position in ("t5", "shaw"))
    assert text.error_sentence(HeadlightError("50 tokens, too many")) == "50 tokens, too many."
    none, rotary, learned, words = (
        pictures.model_on("auto", name) for name in ("who-none-1", "who-rotary-1", "food-learned-1", "words-rotary-1")
    )
    assert text.position_note("trained", none) == "The model was trained without positions."
    assert "rotation, turns queries and keys, as in training" in text.position_note("trained", rotary)
    assert text.position_note("rotary", rotary).endswith("The model was trained like this.")
    assert "rotation is left out. The model was not trained" in text.position_note("none", rotary)
    assert "learned table is left out" in text.position_note("alibi", learned)
    assert text.label(Settings(WHO[0], position="rotary"), rotary) == "rotary positions, as in training"
    assert text.label(Settings(WHO[0], position="none"), none) == "no positions, as in training"
    assert text.label(Settings(WORDS[0]), words) == "nothing changed, causal mask: built in"
    usual, unusual = (
        pictures.picture(Settings(WHO[0], position=position, model="who-rotary-1")) for position in ("rotary", "none")
    )
    assert (pairs.fitness(usual), pairs.fitness(unusual)) == ("", f"{text.NOT_TRAINED}.")


def test_unknown_words_are_those_of_the_model() -> None:
    masked = pictures.picture(Settings(WORDS[0], position="none", model="words-rotary-1"))
    (sentence,) = models.unknown_token_notices(masked.model, "zebra wolf zebra qualm")
    assert sentence == "2 words are not in this model’s vocabulary (“zebra”, “qualm”), so it reads [UNK] instead."
    assert models.unknown_token_notices(masked.model, WORDS[0]) == []
    with pytest.raises(HeadlightError, match="type at least one word"):
        pictures.fit_settings(Settings("", model="words-rotary-1"))
    assert pictures.fit_settings(Settings("", model="who-none-1"))[0].text == ""


# ---- links and pages


def test_a_link_opens_a_trained_model_with_its_first_question() -> None:
    header = shown(model="who-rotary-1")
    assert header["digest"] == Settings(WHO[0], model="who-rotary-1").digest
    assert (header["layer"], header["head"], header["origin"]) == (0, 0, "trained here")
    assert (header["presets"], header["notices"]) == (list(WHO), [])
    header = shown(model="words-rotary-1")
    n = len(WORDS[0].split())
    assert header["forbidden"] == [write_cells(torch.ones(n, n).triu(1).bool())]
    assert "causal mask: built in" in header["label"]
    pin = f"0.2.1@who-none-1~none~trained~1~~{WHO[1]}"
    assert shown(pin=pin)["pin"]["tokens"][1:-1] == WHO[1].split()
    gone = shown(pin=pin.replace("who-none-1", "nobody"))
    assert (gone["pin"], "pin=" in gone["notices"][0]) == (None, True)


def test_any_other_name_is_named_and_ignored_and_has_no_folder() -> None:
    for name in ("", "../trained/who-none-1", "/etc", "who-rotary-2", "nobody"):
        with pytest.raises(HeadlightError, match="deleted"):
            Trained(name).to_zip()
        with pytest.raises(HeadlightError, match="there is no model of this name"):
            pictures.picture(Settings("it", model=name))
    for name in ("../who-none-1", "x" * 5000, SECRET):
        header = shown(model=name)
        assert (header["digest"], set(header["unusable"])) == (Settings(PRESETS[0]).digest, {"model"})
        (notice,) = header["notices"]
        assert notice.startswith("The link says model=")
    app = app_at("by_hand", ex="a real cell", model="../who-none-1").run()
    assert "The link says model=" in payloads(app)
    other = "EAkz0123456789_-abcdef"  # of another visit
    (notice,) = shown(model=other)["notices"]
    assert notice.startswith("The link says model=EAkz")
    assert notice.endswith("or is not yours: train it again, choose another, or ask its owner for the zip.")
    assert notice in payloads(app_at("by_hand", ex="a real cell", model=other).run())


def test_an_own_run_is_offered_to_its_visitor_alone(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_at("by_hand", ex="a real cell", model=SECRET).run()
    assert app.text_input(key="s").value == tasks.build("food").questions[0]
    assert SECRET in offered(app_at("explore").run())
    own_runs(monkeypatch)
    assert SECRET not in offered(app_at("explore").run())
    store.delete("model", SECRET)
    assert f"The link says model={SECRET}" in payloads(app.run())
    with pytest.raises(HeadlightError, match="deleted"):
        pictures.model_on("auto", SECRET)


def test_damaged_weights_have_a_sentence(own: Path) -> None:
    (own / "model.safetensors").write_bytes(b"no weights")
    store.put("model", saved.pack(own), SECRET)
    app = app_at("by_hand", ex="a real cell", model=SECRET).run()
    assert "The model cannot be loaded" in app.error[0].value
