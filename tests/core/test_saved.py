"""Saved runs come back bit for bit."""

import copy
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load

from mha_core import load_model
from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.models.classifier import Classifier
from mha_core.models.language_model import LanguageModel
from mha_core.training import saved, tasks, tokens
from mha_core.training.recipe import Recipe
from mha_core.training.tasks import Labelled, Row
from tests.closeness import same_function

from .runs import TINY, TINY_WORDS, equal, state_of, trained

EVERYTHING = replace(
    TINY, steps=2, evaluations=1, position="learned", pooling="mean", n_layers=2, d_feed_forward=8, residual=True,
    norm=True, mask_padding=False,
)  # fmt: skip
pytestmark = pytest.mark.usefixtures("one_thread")

KINDS = [TINY, EVERYTHING, replace(TINY_WORDS, bias=False, dropout=0.2)]


def logits_of(stack: torch.nn.Module) -> torch.Tensor:
    with torch.no_grad():
        if isinstance(stack, LanguageModel):
            return stack.logits(torch.tensor([[1, 5, 9, 1, 5]]))
        assert isinstance(stack, Classifier)
        ids = torch.tensor([[2, 7, 9, 3], [2, 8, 3, 0]])
        return stack.logits(ids, ids > 0)


@pytest.mark.parametrize(
    "recipe", [*KINDS, replace(TINY_WORDS, steps=1, evaluations=1, bias=False, out_bias=True, position="shaw")],
    ids=lambda recipe: f"{recipe.task}-{recipe.implementation}-{recipe.position}-{recipe.biases}",
)  # fmt: skip
def test_save_and_load_round_trip(tmp_path: Path, recipe: Recipe) -> None:
    made = trained(recipe)
    made.save(tmp_path / "run")
    assert saved.read(tmp_path / "run") == made.history
    model, exact = (
        load_model(str(tmp_path / "run"), device="cpu", dtype=one) for one in (torch.float32, torch.float64)
    )
    assert equal(dict(model.stack.state_dict()), state_of(made))
    assert torch.equal(logits_of(model.stack), logits_of(made.model().stack))
    if not recipe.dropout:  # while it trains, torch's own layer takes another way, and weights are dropped
        same_function(logits_of(exact.stack), logits_of(copy.deepcopy(made.stack).double()))
    assert (model.origin, model.history, model.sizes) == ("trained here", made.history, made.stack.sizes)
    assert not model.stack.training
    assert not any(parameter.requires_grad for parameter in model.stack.parameters())
    for text in made.task.questions[:2]:
        assert torch.equal(model.run(text).weights, made.model().run(text).weights)


def test_a_saved_run_is_three_files_and_none_of_them_runs_code(saved_run: Path, tmp_path: Path) -> None:
    assert sorted(file.name for file in saved_run.iterdir()) == sorted(saved.FILES)
    json.loads((saved_run / "tokenizer.json").read_text("utf-8"))
    assert equal(load((saved_run / "model.safetensors").read_bytes()), state_of(trained(TINY)))
    model = load_model(str(saved_run), device="cpu", dtype=torch.float64)
    assert (model.facts["model"], len(model.facts["sha256"])) == ("Who did what", 64)
    assert str(saved_run) not in "".join(model.facts.values()), "they name the task and not the path"
    # packed and unpacked
    history = saved.unpack(saved.pack(saved_run), tmp_path / "deep" / "own")
    assert history == trained(TINY).history
    for name in saved.FILES:
        assert (tmp_path / "deep" / "own" / name).read_bytes() == (saved_run / name).read_bytes()
    # without one of the files
    for name in saved.FILES[1:]:
        data = (saved_run / name).read_bytes()
        (saved_run / name).unlink()
        with pytest.raises(WeightsFileError, match=f"cannot read {name}: No such file"):
            load_model(str(saved_run))
        (saved_run / name).write_bytes(data)


def test_unfinished_or_unreadable_run_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HeadlightError, match="when it has ended"):
        saved.save(tmp_path / "run", replace(trained(TINY).history, end=None))
    monkeypatch.setitem(saved.MAX_BYTES, saved.FILES[2], 1000)
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


def test_maps_that_are_too_many_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = trained(TINY)
    history = made.history
    made.save(tmp_path / "whole")
    saved.save(tmp_path / "bare", replace(history, snapshots=[]))
    bare = (tmp_path / "bare" / "run.json").stat().st_size
    assert bare + 1000 < (tmp_path / "whole" / "run.json").stat().st_size
    with monkeypatch.context() as bounds:
        bounds.setitem(saved.MAX_BYTES, "run.json", bare + 1000)
        made.save(tmp_path / "run")
        assert saved.read(tmp_path / "run") == replace(history, snapshots=[])


def test_every_tokenizer_there_and_back() -> None:
    rows = (Row("One two three ümläut", 0), Row("two, one", 1))
    own = Labelled("csv", "Own", 1, ("a", "b"), rows, rows, (), ())
    for source in (own, tasks.Characters("One two\nthree, ümläut. " * 20)):
        made = tokens.for_task(source)
        again = tokens.from_file(made.to_str())
        for text in ("One two, ümläut", "one\ntwo", "zebra"):
            assert again.encode(text).ids == made.encode(text).ids != [], source.title
