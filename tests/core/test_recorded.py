"""Runs that are recorded as numbers alone: written, read, refused when damaged; and those that come with Headlight."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from mha_core import load_model
from mha_core.errors import WeightsFileError
from mha_core.training import inference, long_post, recorded, reproduce, saved
from mha_core.training.long_post import PROBES, ROWS, Line
from mha_core.training.recorded import Recorded
from mha_core.training.report import mean_and_sd
from mha_core.training.tasks import from_csv

from .test_reproduce import CSV

NAME = "fair/fused-sinusoidal-0.1-1"
TASK = replace(from_csv(CSV.encode(), name="news"), probes=PROBES)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recorded run, and beside it the saved one that it was made from."""
    folder = tmp_path_factory.mktemp("made")
    list(reproduce.runs(ROWS[-1], TASK, folder / "kept", seeds=1, epochs=1, record=folder / "recorded"))
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """A copy of the recorded run's folder, to be damaged."""
    place = tmp_path / NAME
    place.mkdir(parents=True)
    for file in (made / "recorded" / NAME).iterdir():
        (place / file.name).write_bytes(file.read_bytes())
    return tmp_path


def test_what_is_recorded_is_what_the_model_says(made: Path) -> None:
    assert recorded.names(made / "recorded") == [NAME]
    run = recorded.read(NAME, made / "recorded")
    model = load_model(str(made / "kept" / "fair-fused-sinusoidal-0.1-1-1"), device="cpu")
    assert run.history == model.history
    assert (run.line, run.seed, run.classes) == (ROWS[-1], 1, TASK.classes)
    assert run.labels.tolist() == [row.label for row in TASK.test]
    each = torch.cat([inference.probabilities(model, [row.text]) for row in TASK.test])
    torch.testing.assert_close(run.probabilities, each, rtol=0, atol=1e-6)
    for number, text in enumerate(TASK.probes):
        torch.testing.assert_close(run.answers[[number]], inference.probabilities(model, [text]), rtol=0, atol=1e-6)
        torch.testing.assert_close(run.maps[number], model.run(text).weights, rtol=0, atol=1e-6)
    assert recorded.tokenizer(NAME, made / "recorded").get_vocab() == model.tokenizer.get_vocab()
    assert run.accuracy == run.history.evaluations[-1].test_accuracy


def test_no_text_is_recorded(made: Path) -> None:
    files = [file.read_text("utf-8", "replace") for file in (made / "recorded").rglob("*") if file.is_file()]
    assert len(files) == 3
    for text in {row.text for row in (*TASK.train, *TASK.test)}:
        assert not any(text in content for content in files)


def test_names_that_are_none(made: Path) -> None:
    for name in ("", "post/torch", "post/torch-0", "../kept/fair-fused-1", "post/torch-11", f"{NAME}/"):
        for read in (recorded.read, recorded.tokenizer):
            with pytest.raises(WeightsFileError, match="is recorded"):
                read(name, made / "recorded")
    with pytest.raises(WeightsFileError, match=r"cannot read run\.json"):
        recorded.read("post/torch-1", made / "recorded")


def _other(name: str, change: Callable[[Tensor], Tensor]) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
    return lambda tensors: {**tensors, name: change(tensors[name])}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda tensors: {name: t for name, t in tensors.items() if name != "labels"}, "not those that its history"),
        (lambda tensors: {**tensors, "more": torch.zeros(2)}, "not those that its history"),
        (_other("probabilities", lambda t: t[1:].clone()), "not those that its history"),
        (_other("probabilities", lambda t: 2 * t), "shares of probabilities do not sum to 1"),
        (_other("maps.1", lambda t: t * torch.nan), r"shares of maps\.1 do not sum to 1"),
        (_other("answers", lambda t: t.double()), "shares of answers"),
        (_other("labels", lambda t: t + 2), "labels are not whole numbers below 2"),
        (_other("labels", lambda t: t.int()), "labels are not whole numbers below 2"),
        (_other("probabilities", lambda t: t.flip(1).contiguous()), "not those of the classes that its history ends"),
    ],
)
def test_answers_that_do_not_fit_are_refused(
    copy: Path, change: Callable[[dict[str, Tensor]], dict[str, Tensor]], why: str
) -> None:
    file = copy / NAME / "answers.safetensors"
    save_file(change(load_file(file)), file)
    with pytest.raises(WeightsFileError, match=why):
        recorded.read(NAME, copy)


def test_damaged_and_large_files_are_refused(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = copy / NAME / "answers.safetensors"
    whole = file.read_bytes()
    for content in (b"", whole[:-1], b"\xff" * 100, whole[:8] + b"[" + whole[9:]):
        file.write_bytes(content)
        with pytest.raises(WeightsFileError, match="does not hold the answers"):
            recorded.read(NAME, copy)
    file.write_bytes(whole)
    monkeypatch.setattr(recorded, "MOST_BYTES", 100)
    with pytest.raises(WeightsFileError, match="more than 100 bytes"):
        recorded.read(NAME, copy)
    record = json.loads((copy / NAME / saved.RUN).read_text("utf-8"))
    record["end"]["predicted"] = [9]
    (copy / NAME / saved.RUN).write_text(json.dumps(record), "utf-8")
    with pytest.raises(WeightsFileError, match="not the record of a training run"):
        recorded.read(NAME, copy)


# Those that come with Headlight.

SEEDS = range(1, 6)
SHIPPED = [f"{line.key}-{seed}" for line in ROWS for seed in SEEDS]
DOCUMENT = Path(__file__).parents[2] / "docs" / "long-post.md"


@cache
def shipped(name: str) -> Recorded:
    return recorded.read(name)


def test_five_seeds_of_each_line_are_there_and_nothing_else() -> None:
    assert recorded.names() == SHIPPED
    files = {file.relative_to(recorded.FOLDER).as_posix() for file in recorded.FOLDER.rglob("*") if file.is_file()}
    of_runs = {f"{name}/{file}" for name in SHIPPED for file in ("run.json", "answers.safetensors")}
    assert files == of_runs | {"README.md", "post/tokenizer.json", "fair/tokenizer.json"}
    assert sum((recorded.FOLDER / file).stat().st_size for file in files) <= 3_000_000


@pytest.mark.parametrize("line", ROWS, ids=lambda line: line.key)
def test_each_reads_and_is_what_its_line_says(line: Line) -> None:
    for seed in SEEDS:
        run = shipped(f"{line.key}-{seed}")
        recipe, start, end = run.history.recipe, run.start, run.history.end
        assert recipe == long_post.recipe(line, start.rows_train, seed=seed, epochs=10)
        assert end
        assert (end.reason, end.step, run.history.epochs) == ("steps", recipe.steps, 10)
        assert (start.rows_train, start.rows_test) == ((918, 307) if line.as_the_post else (896, 299))
        assert (start.parameters, start.longest, len(start.classes)) == (89_605, 512, 5)
        vocabulary = recorded.tokenizer(run.name)
        assert vocabulary.get_vocab_size() == start.vocabulary == 1000
        assert start.probes == [vocabulary.encode(text).tokens for text in PROBES]
        assert len({(maps.step, maps.probe) for maps in run.history.snapshots}) == 11 * len(PROBES)


@pytest.mark.parametrize("line", ROWS, ids=lambda line: line.key)
def test_what_is_counted_is_what_was_predicted(line: Line) -> None:
    for seed in SEEDS:
        run = shipped(f"{line.key}-{seed}")
        counted = torch.zeros(5, 5, dtype=torch.int64)
        for label, shares in zip(run.labels.tolist(), run.probabilities, strict=True):
            counted[label, int(shares.argmax())] += 1
        assert run.confusion == counted.tolist()
        last = run.history.evaluations[-1]
        assert run.accuracy == pytest.approx(last.test_accuracy, abs=1e-12)
        of_labels = run.probabilities.gather(1, run.labels[:, None])
        assert float(-of_labels.log().mean()) == pytest.approx(last.test_loss, abs=2e-5)


def test_without_positions_two_orders_of_the_same_words_get_one_answer() -> None:
    for name in SHIPPED:
        answers = shipped(name).answers
        if "sinusoidal" in name:
            assert float((answers[0] - answers[1]).abs().max()) > 1e-4
        else:
            torch.testing.assert_close(answers[0], answers[1], rtol=0, atol=1e-5)


def test_the_document_tells_their_figures() -> None:
    told = DOCUMENT.read_text("utf-8").splitlines()
    for line in ROWS:
        scores = [shipped(f"{line.key}-{seed}").accuracy for seed in SEEDS]
        mean, sd = mean_and_sd(scores)
        cells = f"| {line.name} | {', '.join(f'{score:.3f}' for score in scores)} | {mean:.3f} ± {sd:.3f} |"
        assert [row for row in told if row.startswith(cells)], cells
