"""Saved runs come back bit for bit."""

import copy
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load

from mha_core import load_model
from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.models.classifier import Classifier
from mha_core.models.language_model import LanguageModel
from mha_core.training import inference, saved, tasks, tokens
from mha_core.training.events import End, History, Start, Step
from mha_core.training.loop import Training, on_threads
from mha_core.training.recipe import Recipe
from mha_core.training.tasks import Labelled, Row, Task
from mha_core.training.tasks.table import LIMITS
from tests.closeness import same_function

from .runs import TINY, TINY_WORDS, equal, state_of, task, trained

TEXTS = ["the dog chased the cat", "the cat was chased by the dog"]
EVERYTHING = replace(
    TINY, steps=2, evaluations=1, position="learned", pooling="mean", n_layers=2, d_feed_forward=8, residual=True,
    norm=True, mask_padding=False,
)  # fmt: skip
KINDS = [TINY, EVERYTHING, replace(TINY_WORDS, bias=False, dropout=0.2)]
OTHER_KINDS = [
    TINY_WORDS,
    *(replace(TINY, steps=1, evaluations=1, position="none", implementation=name) for name in ("naive", "torch")),
    *(replace(TINY_WORDS, steps=1, evaluations=1, position=name) for name in ("alibi", "t5", "shaw")),
    replace(TINY, bias=False, out_bias=True, implementation="torch", start="own"),
    replace(TINY_WORDS, bias=False, out_bias=True),
]
THOROUGH = pytest.mark.thorough("other recipes are read and written by the same lines")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with on_threads(1):
        yield


def logits_of(stack: torch.nn.Module) -> torch.Tensor:
    with torch.no_grad():
        if isinstance(stack, LanguageModel):
            return stack.logits(torch.tensor([[1, 5, 9, 1, 5]]))
        assert isinstance(stack, Classifier)
        ids = torch.tensor([[2, 7, 9, 3], [2, 8, 3, 0]])
        return stack.logits(ids, ids > 0)


@pytest.mark.parametrize(
    "recipe",
    [*KINDS, *(pytest.param(recipe, marks=THOROUGH) for recipe in OTHER_KINDS)],
    ids=lambda recipe: f"{recipe.task}-{recipe.implementation}-{recipe.position}-{recipe.biases}",
)
def test_there_and_back(tmp_path: Path, recipe: Recipe) -> None:
    made = trained(recipe)
    made.save(tmp_path / "run")
    assert saved.read(tmp_path / "run") == made.history
    model = load_model(str(tmp_path / "run"), device="cpu")
    assert equal(dict(model.encoder.state_dict()), state_of(made))
    assert made.history.start
    assert made.history.start.parameters == sum(tensor.numel() for tensor in state_of(made).values())
    assert torch.equal(logits_of(model.encoder), logits_of(made.model().encoder))
    if not recipe.dropout:  # while it trains, torch's own layer takes another way, and weights are dropped
        exact = load_model(str(tmp_path / "run"), device="cpu", dtype=torch.float64).encoder
        same_function(logits_of(exact), logits_of(copy.deepcopy(made.stack).double()))
    assert model.origin == "trained here"
    assert model.history == made.history
    assert model.sizes == made.stack.sizes
    assert not model.encoder.training
    assert not any(parameter.requires_grad for parameter in model.encoder.parameters())
    for text in made.task.questions:
        assert model.tokenize(text) == made.model().tokenize(text)
        assert torch.equal(model.run(text).weights, made.model().run(text).weights)


def test_a_saved_run_is_three_files_and_none_of_them_runs_code(saved_run: Path) -> None:
    assert sorted(file.name for file in saved_run.iterdir()) == sorted(saved.FILES)
    assert json.loads((saved_run / "run.json").read_text("utf-8"))["start"]["recipe"] == asdict(TINY)
    json.loads((saved_run / "tokenizer.json").read_text("utf-8"))
    assert equal(load((saved_run / "model.safetensors").read_bytes()), state_of(trained(TINY)))


def test_in_float64(saved_run: Path) -> None:
    model = load_model(str(saved_run), device="cpu", dtype=torch.float64)
    assert {tensor.dtype for tensor in model.encoder.state_dict().values()} == {torch.float64}
    assert inference.logits(model, TEXTS).dtype == torch.float64

    facts = load_model(str(saved_run), device="cpu").facts
    assert facts["model"] == "Who did what"
    assert len(facts["sha256"]) == 64
    assert str(saved_run) not in "".join(facts.values())


def test_a_history_alone(tmp_path: Path) -> None:
    saved.save(tmp_path / "run", trained(TINY).history)
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["run.json"]
    assert saved.read(tmp_path / "run") == replace(trained(TINY).history, snapshots=[])
    with pytest.raises(WeightsFileError, match=r"cannot read tokenizer\.json"):
        load_model(str(tmp_path / "run"))


def test_a_run_that_goes_on_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(HeadlightError, match="when it has ended"):
        saved.save(tmp_path / "run", replace(trained(TINY).history, end=None))
    assert not list(tmp_path.iterdir())


@pytest.mark.faults
def test_a_disk_that_is_full_leaves_what_was_there(saved_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {file.name: file.read_bytes() for file in saved_run.iterdir()}

    def full(self: Path, text: str, encoding: str) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    for place in (saved_run, saved_run.with_name("new")):
        with pytest.raises(OSError, match="No space"):
            trained(TINY_WORDS).save(place)
    assert list(saved_run.parent.iterdir()) == [saved_run]
    assert {file.name: file.read_bytes() for file in saved_run.iterdir()} == before
    monkeypatch.undo()
    trained(TINY_WORDS).save(saved_run)
    assert saved.read(saved_run) == trained(TINY_WORDS).history


def test_maps_that_are_too_many_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = trained(TINY)
    made.save(tmp_path / "whole")
    saved.save(tmp_path / "bare", made.history)
    bare = (tmp_path / "bare" / "run.json").stat().st_size
    assert bare + 1000 < (tmp_path / "whole" / "run.json").stat().st_size
    monkeypatch.setitem(saved.LARGEST, "run.json", bare + 1000)
    made.save(tmp_path / "run")
    assert saved.read(tmp_path / "run") == replace(made.history, snapshots=[])
    assert load_model(str(tmp_path / "run"), device="cpu").run(TEXTS[0])


def test_steps_that_are_too_many_are_thinned(tmp_path: Path) -> None:
    made, many = trained(TINY).history, 2 * saved.MOST_STEPS + 1
    recipe = replace(TINY, steps=many)
    assert made.start is not None
    assert made.end is not None
    every = [Step(number, 0.5, 0.5) for number in range(1, many + 1)]
    end = replace(made.end, step=many)
    saved.save(tmp_path / "run", replace(made, start=replace(made.start, recipe=recipe), steps=every, end=end))
    found = saved.read(tmp_path / "run")
    assert found.steps == every[::3]
    assert found.step == many


def test_the_largest_table_of_a_visitor_opens_again(tmp_path: Path) -> None:
    names = [f"{number:,} {'x, ' * 80}"[: LIMITS["label"] - 1] + "." for number in range(LIMITS["classes"])]
    rows = "".join(f'text {row},"{name}"\n' for name in names for row in (f"a {name[:3]}", f"b {name[:3]}"))
    table = tasks.from_csv(f"text,label\n{rows}".encode())
    training = Training(replace(TINY, task="csv", steps=1000, evaluations=1000), table)
    for event in training.events(lambda: len(training.history.steps) >= 3):
        assert not isinstance(event, End) or event.reason == "stopped"
    training.save(tmp_path / "run")
    assert max(map(len, table.classes)) == LIMITS["label"]
    assert saved.read(tmp_path / "run") == training.history


def test_weights_that_could_not_be_read_again_are_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(saved.LARGEST, saved.FILES[2], 1000)
    with pytest.raises(HeadlightError, match="at most 1,000 bytes"):
        trained(TINY).save(tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_packed_and_unpacked(saved_run: Path, tmp_path: Path) -> None:
    data = saved.pack(saved_run)
    history = saved.unpack(data, tmp_path / "deep" / "own")
    assert history == trained(TINY).history
    for name in saved.FILES:
        assert (tmp_path / "deep" / "own" / name).read_bytes() == (saved_run / name).read_bytes()
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["own"]


def test_files_that_are_not_there(saved_run: Path) -> None:
    for name in saved.FILES[1:]:
        data = (saved_run / name).read_bytes()
        (saved_run / name).unlink()
        with pytest.raises(WeightsFileError, match=f"cannot read {name}: No such file"):
            load_model(str(saved_run))
        (saved_run / name).write_bytes(data)
    (saved_run / saved.RUN).unlink()
    with pytest.raises(WeightsFileError):
        saved.read(saved_run)


def test_an_empty_history_of_a_stopped_run(tmp_path: Path) -> None:
    start = trained(TINY).history.start
    assert isinstance(start, Start)
    history = History.of([start, End("stopped", 0, 0.0)])
    saved.save(tmp_path / "run", history)
    assert saved.read(tmp_path / "run") == history
    assert task("who").title == start.title


def test_every_tokenizer_there_and_back() -> None:
    rows = (Row("One two three ümläut", 0), Row("two, one", 1))
    sources: dict[str, Task] = {
        "cased": Labelled("csv", "Own", 1, ("a", "b"), rows, rows, (), (), cased=True),
        "uncased": Labelled("csv", "Own", 1, ("a", "b"), rows, rows, (), ()),
        "words": task("words"),
        "characters": tasks.from_text("One two\nthree, ümläut. " * 20),
    }
    for kind, source in sources.items():
        made = tokens.of(source)
        again = tokens.of_file(made.to_str())
        assert again.to_str() == made.to_str(), kind
        for text in ("One two, ümläut", "one\ntwo", "zebra"):
            assert again.encode(text).ids == made.encode(text).ids, kind
            assert len(made.encode(text).ids) > 0, kind
