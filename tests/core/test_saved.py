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
    TINY_WORDS, replace(TINY_WORDS, bias=False, out_bias=True),
    replace(TINY, bias=False, out_bias=True, implementation="torch", start="own"),
    *(replace(TINY, steps=1, evaluations=1, position="none", implementation=name) for name in ("naive", "torch")),
    *(replace(TINY_WORDS, steps=1, evaluations=1, position=name) for name in ("alibi", "t5", "shaw")),
]  # fmt: skip
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
    "recipe", [*KINDS, *(pytest.param(recipe, marks=THOROUGH) for recipe in OTHER_KINDS)],
    ids=lambda recipe: f"{recipe.task}-{recipe.implementation}-{recipe.position}-{recipe.biases}",
)  # fmt: skip
def test_there_and_back(tmp_path: Path, recipe: Recipe) -> None:
    made = trained(recipe)
    made.save(tmp_path / "run")
    assert saved.read(tmp_path / "run") == made.history
    model, exact = (
        load_model(str(tmp_path / "run"), device="cpu", dtype=one) for one in (torch.float32, torch.float64)
    )
    assert equal(dict(model.encoder.state_dict()), state_of(made))
    assert made.history.start
    assert made.history.start.parameters == sum(tensor.numel() for tensor in state_of(made).values())
    assert torch.equal(logits_of(model.encoder), logits_of(made.model().encoder))
    if not recipe.dropout:  # while it trains, torch's own layer takes another way, and weights are dropped
        same_function(logits_of(exact.encoder), logits_of(copy.deepcopy(made.stack).double()))
    assert (model.origin, model.history, model.sizes) == ("trained here", made.history, made.stack.sizes)
    assert not model.encoder.training
    assert not any(parameter.requires_grad for parameter in model.encoder.parameters())
    for text in made.task.questions:
        assert model.tokenize(text) == made.model().tokenize(text)
        assert torch.equal(model.run(text).weights, made.model().run(text).weights)
    assert {tensor.dtype for tensor in exact.encoder.state_dict().values()} == {torch.float64}


def test_a_saved_run_is_three_files_and_none_of_them_runs_code(saved_run: Path, tmp_path: Path) -> None:
    assert sorted(file.name for file in saved_run.iterdir()) == sorted(saved.FILES)
    assert json.loads((saved_run / "run.json").read_text("utf-8"))["start"]["recipe"] == asdict(TINY)
    json.loads((saved_run / "tokenizer.json").read_text("utf-8"))
    assert equal(load((saved_run / "model.safetensors").read_bytes()), state_of(trained(TINY)))
    model = load_model(str(saved_run), device="cpu", dtype=torch.float64)
    assert inference.logits(model, TEXTS).dtype == torch.float64
    assert (model.facts["model"], len(model.facts["sha256"])) == ("Who did what", 64)
    assert str(saved_run) not in "".join(model.facts.values()), "they name the task and not the path"
    # packed and unpacked
    history = saved.unpack(saved.pack(saved_run), tmp_path / "deep" / "own")
    assert history == trained(TINY).history
    for name in saved.FILES:
        assert (tmp_path / "deep" / "own" / name).read_bytes() == (saved_run / name).read_bytes()
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["own"]
    # without one of the files
    for name in saved.FILES[1:]:
        data = (saved_run / name).read_bytes()
        (saved_run / name).unlink()
        with pytest.raises(WeightsFileError, match=f"cannot read {name}: No such file"):
            load_model(str(saved_run))
        (saved_run / name).write_bytes(data)
    (saved_run / saved.RUN).unlink()
    with pytest.raises(WeightsFileError):
        saved.read(saved_run)


def test_a_history_alone_and_that_of_a_run_stopped_at_once(tmp_path: Path) -> None:
    made = trained(TINY).history
    saved.save(tmp_path / "run", made)
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["run.json"]
    assert saved.read(tmp_path / "run") == replace(made, snapshots=[])
    with pytest.raises(WeightsFileError, match=r"cannot read tokenizer\.json"):
        load_model(str(tmp_path / "run"))
    assert isinstance(made.start, Start)
    history = History.of([made.start, End("stopped", 0, 0.0)])
    saved.save(tmp_path / "stopped", history)
    assert saved.read(tmp_path / "stopped") == history


def test_a_run_that_goes_on_or_could_not_be_read_again_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(HeadlightError, match="when it has ended"):
        saved.save(tmp_path / "run", replace(trained(TINY).history, end=None))
    monkeypatch.setitem(saved.LARGEST, saved.FILES[2], 1000)
    with pytest.raises(HeadlightError, match="at most 1,000 bytes"):
        trained(TINY).save(tmp_path / "run")
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


def test_maps_and_steps_that_are_too_many_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, many = trained(TINY), 2 * saved.MOST_STEPS + 1
    history = made.history
    assert history.start is not None
    assert history.end is not None
    made.save(tmp_path / "whole")
    saved.save(tmp_path / "bare", history)
    bare = (tmp_path / "bare" / "run.json").stat().st_size
    assert bare + 1000 < (tmp_path / "whole" / "run.json").stat().st_size
    with monkeypatch.context() as bounds:
        bounds.setitem(saved.LARGEST, "run.json", bare + 1000)
        made.save(tmp_path / "run")
        assert saved.read(tmp_path / "run") == replace(history, snapshots=[])
        assert load_model(str(tmp_path / "run"), device="cpu").run(TEXTS[0])
    start, end = replace(history.start, recipe=replace(TINY, steps=many)), replace(history.end, step=many)
    every = [Step(number, 0.5, 0.5) for number in range(1, many + 1)]
    saved.save(tmp_path / "long", replace(history, start=start, steps=every, end=end))
    found = saved.read(tmp_path / "long")
    assert (found.steps, found.step) == (every[::3], many)


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
