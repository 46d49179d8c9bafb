"""Trained models on Explore, Shapes and Compare: the list, the link, what fits, and who may see whose."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from mha_core import Model, load_model
from mha_core.attention.base import AttentionLayer
from mha_core.attention.switches import EVERYTHING
from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.measure import measures
from mha_core.positions import NAMES
from mha_core.pretrained import llama_file, smollm2
from mha_core.pretrained.gguf import GGUF
from mha_core.training import inference, saved, tasks
from mha_core.training.initial_weights import stack_of
from mha_core.training.recipe import Recipe
from mha_core.training.tasks.table import LIMITS
from pages.compare import orders, pairs
from pages.kit.picture import fitting, models, pictures, sharing, traces
from pages.kit.picture import words as text
from pages.kit.picture.limits import LONGEST_TEXT, MOST_LAYERS, SIZES
from pages.kit.picture.models import Own
from pages.kit.picture.presets import EXAMPLES, PRESETS, TO_GO_ON
from pages.kit.picture.settings import Settings

pytestmark = pytest.mark.usefixtures("shipped")
WHO, WORDS = tasks.build("who").questions, tasks.build("words").questions


# ---- the list


def test_the_list_is_made_of_the_folders_with_weights() -> None:
    assert list(models.shipped()) == ["who-none-1", "who-rotary-1", "food-learned-1", "words-rotary-1"]
    assert models.shipped()["who-none-1"] == "Who did what, no positions"
    assert models.offered({})["minilm"].title == "MiniLM · pretrained"


def test_the_list_says_size_and_direction_of_every_model(model: Model, tmp_path: Path) -> None:
    history = saved.read(models.SHIPPED / "words-rotary-1")
    runs = {"mine": Own.of(history)}
    listed = models.offered(runs)
    assert list(dict.fromkeys(choice.group for choice in listed.values())) == ["Pretrained", "Trained here", "Yours"]
    assert listed["mine"].says == listed["words-rotary-1"].says
    own = {name: pictures.model_on("cpu", name) for name in models.shipped()} | {models.MINILM: model}
    for name, loaded in own.items():
        sizes, says = loaded.sizes, listed[name].says
        assert says.startswith(f"{sizes.n_layers} × {sizes.n_heads} heads, "), name
        assert says.endswith(models.BOTH_WAYS if loaded.own_mask == "none" else models.ONE_WAY), name
        assert name == models.MINILM or f"knows {loaded.tokenizer.get_vocab_size():,} tokens" in says
    in_file = llama_file.config(GGUF(smollm2.file()), smollm2.MOST_TOKENS)  # as much as is known before it is unpacked
    assert listed[models.SMOLLM2].says == f"{in_file.n_layers} × {in_file.n_heads} heads, English, {models.ONE_WAY}"


def test_the_lines_for_a_model_of_ones_own_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-folder").symlink_to(models.SHIPPED / "who-none-1")
    exec(models.OWN_CODE, {})
    assert "<html" in (tmp_path / "my-model.html").read_text("utf-8")


def test_nothing_else_has_a_folder() -> None:
    for name in ("", "..", "../trained/who-none-1", "/etc", "who-rotary-2", "who-none-1/", "nobody"):
        with pytest.raises(HeadlightError, match="gone"):
            models.packed(name)
        with pytest.raises(HeadlightError, match="gone"):
            pictures.picture(Settings("it", model=name))


def test_a_trained_model_is_loaded_once() -> None:
    first = pictures.model_on("auto", "who-none-1")
    assert pictures.model_of(Settings("it", model="who-none-1")) is first
    assert first.origin == "trained here"
    sharing.forget()
    assert pictures.model_on("auto", "who-none-1") is not first


@pytest.mark.parametrize(("implementation", "position"), [*(("fused", name) for name in NAMES), ("naive", "shaw")])
def test_the_largest_model_of_a_visitor_can_be_saved_and_opened(implementation: str, position: str) -> None:
    fields = ("d_model", "n_heads", "d_feed_forward", "vocabulary", "max_len")
    most: dict[str, Any] = {field: SIZES[field][1] for field in fields}
    recipe = Recipe(n_layers=MOST_LAYERS, implementation=implementation, position=position, norm=True, **most)
    with torch.device("meta"):
        state = stack_of(recipe, recipe.vocabulary, classes=LIMITS["classes"]).state_dict()
    assert sum(tensor.nbytes for tensor in state.values()) + 200 * len(state) <= saved.LARGEST["model.safetensors"]
    assert 200 * len(state) <= saved.LARGEST_HEADER


def test_a_model_of_a_limited_implementation_can_do_everything(shipped: Path) -> None:
    model = pictures.model_on("auto", "food-learned-1")
    attention = model.encoder.layers[0].attention
    assert isinstance(attention, AttentionLayer)
    assert attention.can == EVERYTHING
    plain, question = load_model(str(shipped / "food-learned-1")), models.presets("food-learned-1")[0]
    assert measures.relative_difference(model.run(question).weights, plain.run(question).weights) < 1e-6
    changed = Settings(question, position="alibi", temperature=2.0, heads_off=((0, 1),), model="food-learned-1")
    assert bool(pictures.picture(changed).run.weights.isfinite().all())


def test_presets(model: Model) -> None:
    tired = "The animal didn't cross the street because it was too tired"
    assert PRESETS[0] == tired
    assert {
        tired,
        tired.replace("tired", "wide"),
        "can you can that",
        "how are you",
        "orange is my favorite fruit",
    } <= set(PRESETS)
    assert len(set(PRESETS)) == len(PRESETS)
    for examples in (EXAMPLES, TO_GO_ON):
        assert len({example.name for example in examples}) == len(examples), "a name tells its sentence from the others"
    for preset in PRESETS:
        assert len(preset) <= LONGEST_TEXT
        assert "[UNK]" not in model.run(preset).tokens


def test_questions_of_shipped_and_own_runs(shipped: Path) -> None:
    assert models.presets("minilm") == PRESETS
    assert models.presets("who-rotary-1") == WHO
    assert Own.of(saved.read(shipped / "food-learned-1")).presets == tasks.build("food").questions
    history = saved.read(shipped / "who-none-1")
    assert history.start is not None
    foreign = saved.read(shipped / "who-none-1")
    object.__setattr__(foreign, "recipe", replace(history.recipe, task="csv"))
    words = " ".join(history.start.probes[0][1:-1])
    assert Own.of(foreign).presets[0] == words


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
    first = text.figures(picture)[0]
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
    assert text.label(Settings(WHO[0], position="rotary"), rotary) == "rotary positions, as it was trained"
    assert text.label(Settings(WHO[0], position="none"), none) == "no positions, as it was trained"
    words = pictures.model_on("auto", "words-rotary-1")
    assert text.label(Settings(WORDS[0]), words) == "nothing changed, causal mask: built in"
    usual, unusual = (
        pictures.picture(Settings(WHO[0], position=position, model="who-rotary-1")) for position in ("rotary", "none")
    )
    assert (pairs.fitness(usual), pairs.fitness(unusual)) == ("", f"{text.NOT_TRAINED}.")


def test_about_says_how_it_was_trained(shipped: Path) -> None:
    settings = Settings(models.presets("food-learned-1")[0], model="food-learned-1")
    facts = text.about(pictures.picture(settings))
    start = saved.read(shipped / "food-learned-1").start
    assert start is not None
    assert facts["model"] == "Food review, learned (trained here)"
    assert (
        "2 steps, torch attention (shown as fused, with the same weights), learned positions, seed 1"
        in facts["trained"]
    )
    assert start.fingerprint in facts["trained"]
    assert str(shipped) not in "".join(facts.values()), "no path of this machine"
    assert "trained" not in text.about(pictures.picture(Settings("it")))


def test_reasons_are_those_of_the_model() -> None:
    trained = Settings(WHO[0], model="who-none-1")
    order = " ".join(reversed(WHO[0].split()))
    assert orders.difference(trained, order) <= pairs.SAME
    assert "nothing marks their places" in orders.why(trained, order)
    picture = pictures.picture(trained)
    assert "Nothing tells this model where a token stands." in pairs.story(picture, 0, 0)
    masked = pictures.picture(Settings(WORDS[0], position="none", model="words-rotary-1"))
    assert "mask" in pairs.story(masked, 0, 0)


def test_steps_of_what_an_implementation_cannot() -> None:
    within, told = traces.settings_within(Settings(WHO[0], model="who-rotary-1"), 0, "torch")
    assert within.position == "none"
    assert told == ["torch cannot apply rotary positions; shown with none."]
    assert traces.traced(within, 0, "torch").steps


def test_words_that_are_not_known_are_named() -> None:
    model = pictures.model_on("auto", "words-rotary-1")
    typed = "zebra wolf zebra qualm"
    (said,) = models.unknown(model, typed)
    assert said == "2 words are not in this model’s vocabulary: “zebra”, “qualm”. The model reads [UNK] instead."
    assert models.unknown(model, WORDS[0]) == []


def test_a_sentence_without_a_token_has_a_sentence() -> None:
    with pytest.raises(HeadlightError, match="type at least one word"):
        fitting.within(Settings("", model="words-rotary-1"))
    assert fitting.within(Settings("", model="who-none-1"))[0].text == ""


# ---- the pretrained ones


def test_a_server_may_leave_smollm2_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(models.offered({}))[:2] == [models.MINILM, models.SMOLLM2]
    monkeypatch.setenv(models.SWITCH, "OFF")
    assert models.SMOLLM2 not in models.offered({})
    with pytest.raises(HeadlightError):
        pictures.model_on("cpu", models.SMOLLM2)


def test_what_is_not_installed_is_said_in_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise WeightsFileError("the package is not installed")

    monkeypatch.setattr(smollm2, "file", missing)
    models.has_smollm2.cache_clear()
    try:
        assert models.offered({})[models.SMOLLM2].title.endswith("(not installed)")
    finally:
        models.has_smollm2.cache_clear()


def test_a_large_model_is_loaded_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    loads, own, found = list[str](), pictures.model_on("cpu"), list[Model]()

    def load(name: str, device: str) -> Model:
        loads.append(name)
        time.sleep(0.2)
        return own

    monkeypatch.setattr(pictures, "load_model", load)

    def ask() -> None:
        found.append(pictures.pretrained_on("a device of this test", models.SMOLLM2))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [own, own]
    assert loads == [models.SMOLLM2], "two who ask at the same moment wait for the same one"
