"""Trained models on Explore, Shapes and Compare: the list, the link, what fits, and who may see whose."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from mha_core import load_model
from mha_core.attention.base import EVERYTHING, AttentionLayer
from mha_core.errors import HeadlightError
from mha_core.measure import compare
from mha_core.models.classifier import Classifier
from mha_core.positions import NAMES
from mha_core.training import inference, saved, tasks
from mha_core.training.initial_weights import classifier_sizes
from mha_core.training.recipe import Recipe
from mha_core.training.tasks.table import LIMITS
from pages.compare import orders, pairs
from pages.compare.pairs import Pair
from pages.kit.frame import last_usable
from pages.kit.jobs import visitor
from pages.kit.picture import models, pictures, traces
from pages.kit.picture import words as text
from pages.kit.picture.limits import MOST_LAYERS, SIZES
from pages.kit.picture.mask_codec import write_cells
from pages.kit.picture.models import Own
from pages.kit.picture.pictures import Settings
from pages.kit.picture.presets import PRESETS

from .conftest import SHELL, OpenApp, state

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


# ---- the list


def test_the_list_is_made_of_the_folders_with_weights() -> None:
    assert list(models.shipped()) == ["who-none-1", "who-rotary-1", "food-learned-1", "words-rotary-1"]
    assert models.shipped()["who-none-1"] == "Who did what, no positions"
    assert models.offered({})["minilm"] == "MiniLM · pretrained"


@pytest.mark.parametrize("name", ["", "..", "../trained/who-none-1", "/etc", "who-rotary-2", "who-none-1/", "secret"])
def test_nothing_else_has_a_folder(name: str) -> None:
    with pytest.raises(HeadlightError, match="gone"):
        models.folder(name)
    with pytest.raises(HeadlightError, match="gone"):
        pictures.picture(Settings("it", model=name))


def test_a_trained_model_is_loaded_once() -> None:
    first = pictures.model_on("auto", "who-none-1")
    assert pictures.model_of(Settings("it", model="who-none-1")) is first
    assert first.origin == "trained here"
    pictures.forget()
    assert pictures.model_on("auto", "who-none-1") is not first


@pytest.mark.parametrize("position", NAMES)
@pytest.mark.parametrize("implementation", ["fused", "naive"])
def test_the_largest_model_of_a_visitor_can_be_saved_and_opened(implementation: str, position: str) -> None:
    fields = ("d_model", "n_heads", "d_feed_forward", "vocabulary", "max_len")
    most: dict[str, Any] = {field: SIZES[field][1] for field in fields}
    recipe = Recipe(n_layers=MOST_LAYERS, implementation=implementation, position=position, norm=True, **most)
    with torch.device("meta"):
        state = Classifier(classifier_sizes(recipe, recipe.vocabulary, LIMITS["classes"])).state_dict()
    assert sum(tensor.nbytes for tensor in state.values()) + 200 * len(state) <= saved.LARGEST["model.safetensors"]
    assert 200 * len(state) <= saved.LARGEST_HEADER


def test_a_model_of_a_limited_implementation_can_do_everything(shipped: Path) -> None:
    model = pictures.model_on("auto", "food-learned-1")
    attention = model.encoder.layers[0].attention
    assert isinstance(attention, AttentionLayer)
    assert attention.can == EVERYTHING
    plain, question = load_model(str(shipped / "food-learned-1")), models.presets("food-learned-1")[0]
    assert compare.relative_difference(model.run(question).weights, plain.run(question).weights) < 1e-6
    changed = Settings(question, position="alibi", temperature=2.0, heads_off=((0, 1),), model="food-learned-1")
    assert bool(pictures.picture(changed).run.weights.isfinite().all())


def test_questions_of_shipped_and_own_runs(shipped: Path, own: Path) -> None:
    assert models.presets("minilm") == PRESETS
    assert models.presets("who-rotary-1") == WHO
    assert Own.of("x", own, saved.read(own)).presets == tasks.build("food").questions
    history = saved.read(shipped / "who-none-1")
    assert history.start is not None
    foreign = saved.read(shipped / "who-none-1")
    object.__setattr__(foreign, "recipe", type(history.recipe)(**{**history.recipe.to_json(), "task": "csv"}))
    words = " ".join(history.start.probes[0][1:-1])
    assert Own.of("x", own, foreign).presets[0] == words


# ---- the numbers


@pytest.mark.parametrize("name", ["who-none-1", "who-rotary-1", "words-rotary-1"])
def test_the_picture_is_the_models_own(shipped: Path, name: str) -> None:
    question = models.presets(name)[0]
    run = load_model(str(shipped / name)).run(question, temperature=0.5)
    assert torch.equal(pictures.picture(Settings(question, temperature=0.5, model=name)).run.weights, run.weights)


def test_settings_of_two_models_never_mix() -> None:
    one, other = Settings("the fox", model="who-none-1"), Settings("the fox", model="who-rotary-1")
    assert len({one, other, Settings("the fox")}) == len({s.digest for s in (one, other, Settings("the fox"))}) == 3
    assert one.untouched.model == "who-none-1"
    assert not torch.equal(pictures.picture(one).run.weights, pictures.picture(other).run.weights)


def test_the_answer_is_the_models(shipped: Path) -> None:
    model = load_model(str(shipped / "who-rotary-1"))
    picture = pictures.picture(Settings(WHO[0], model="who-rotary-1"))
    found = inference.probabilities(model, [WHO[0]])[0]
    best = inference.classes(model)[int(found.argmax())]
    first = text.figures(picture, pictures.model_of(picture.settings), None)[0]
    assert first["value"].split()[0] == best
    assert float(first["value"].split()[1].strip("<>")) == pytest.approx(float(found.max()), abs=0.0051)
    off = pictures.picture(Settings(WHO[0], heads_off=((0, 0), (0, 1)), model="who-rotary-1"))
    assert models.answer(model, off.run) != models.answer(model, picture.run), "under these settings"
    assert models.answer(pictures.model_on("auto"), pictures.picture(Settings("it")).run) == []


# ---- the words


def test_what_is_said_of_positions_is_the_models() -> None:
    none, rotary, learned = (
        pictures.model_on("auto", name) for name in ("who-none-1", "who-rotary-1", "food-learned-1")
    )
    assert text.position_note("trained", none) == "The model was trained without positions."
    assert text.position_note("none", none).endswith("The model was trained like this.")
    assert "rotation, turns queries and keys, as it was trained" in text.position_note("trained", rotary)
    assert text.position_note("rotary", rotary).endswith("The model was trained like this.")
    assert "rotation is left out. The model was not trained" in text.position_note("none", rotary)
    assert "learned table is left out" in text.position_note("alibi", learned)
    assert (
        text.label(Settings(WHO[0], position="rotary", model="who-rotary-1")) == "rotary positions, as it was trained"
    )
    assert text.label(Settings(WHO[0], position="none", model="who-none-1")) == "no positions, as it was trained"
    assert text.label(Settings(WORDS[0], model="words-rotary-1")) == "nothing changed, causal mask: built in"
    assert pairs.fitness(Settings(WHO[0], position="rotary", model="who-rotary-1")) == ""
    assert pairs.fitness(Settings(WHO[0], position="none", model="who-rotary-1")) != ""


def test_about_says_how_it_was_trained(shipped: Path) -> None:
    settings = Settings(models.presets("food-learned-1")[0], model="food-learned-1")
    facts = text.about(pictures.model_of(settings), pictures.picture(settings))
    start = saved.read(shipped / "food-learned-1").start
    assert start is not None
    assert facts["model"] == "Food review, learned (trained here)"
    assert (
        "2 steps, torch attention (shown as fused, with the same weights), learned positions, seed 1"
        in facts["trained"]
    )
    assert start.fingerprint in facts["trained"]
    assert str(shipped) not in "".join(facts.values()), "no path of this machine"
    assert "trained" not in text.about(pictures.model_on("auto"), pictures.picture(Settings("it")))


def test_reasons_are_those_of_the_model() -> None:
    trained = Settings(WHO[0], model="who-none-1")
    found = orders.reordered(trained, " ".join(reversed(WHO[0].split())))
    assert found.difference <= pairs.SAME
    assert "nothing says where they stand" in orders.why(found)
    picture = pictures.picture(trained)
    said = pairs.sentences(Pair(picture, picture, 0, 0))
    assert "Nothing in this model says where a token stands." in said[0]
    masked = pictures.picture(Settings(WORDS[0], position="none", model="words-rotary-1"))
    assert "mask" in pairs.sentences(Pair(masked, masked, 0, 0))[0]


def test_steps_of_what_an_implementation_cannot() -> None:
    within, told = traces.settings_within(Settings(WHO[0], model="who-rotary-1"), 0, "torch")
    assert within.position == "none"
    assert told == ["torch cannot do rotary positions: its steps are those of none."]
    assert traces.traced(within, 0, "torch").steps


def test_words_that_are_not_known_are_named() -> None:
    model = pictures.model_on("auto", "words-rotary-1")
    typed = "zebra wolf zebra qualm"
    (said,) = models.unknown(model, typed)
    assert said == "2 words are not in this model’s vocabulary: “zebra”, “qualm”. It sees [UNK] there."
    assert models.unknown(model, WORDS[0]) == []


def test_a_sentence_without_a_token_has_a_sentence() -> None:
    with pytest.raises(HeadlightError, match="there is none; type one"):
        last_usable.within(Settings("", model="words-rotary-1"))
    assert last_usable.within(Settings("", model="who-none-1"))[0].text == ""


# ---- the pages


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


@pytest.mark.parametrize("name", ["nobody", "../who-none-1", "who-rotary-2", "x" * 5000, "<b>", "secret"])
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
    assert "there is none" in shown["notices"][0]
    app.text_input(key="s").set_value("wolf " * 400).run()
    assert "takes at most" in state(app)["notices"][0]


def test_a_text_too_long_for_the_new_model_has_a_picture_too(open_app: OpenApp) -> None:
    app = open_app(s="wolf " * 100)
    app.selectbox(key="model_choice").set_value("words-rotary-1").run()
    shown = state(app)
    assert shown["digest"] == Settings(WORDS[0], model="words-rotary-1").digest
    assert "takes at most" in shown["notices"][0]


@pytest.mark.parametrize("name", ["who-none-1", "food-learned-1", "words-rotary-1"])
@pytest.mark.parametrize("path", ["shapes", "compare", "by_hand"])
def test_the_other_pages_show_it_too(path: str, name: str) -> None:
    app = AppTest.from_file(str(SHELL), default_timeout=60)
    app.query_params["model"] = name
    app.query_params["ex"] = "a real cell"
    app = app.switch_page(f"../../{path}/page.py").run()
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
