"""The long post's experiment: on a small table every line is trained, kept and told; the recorded runs are its own."""

from dataclasses import asdict
from pathlib import Path

import pytest

from mha_core import load_model
from mha_core.training import inference, reproduce, saved, sweep
from mha_core.training.report import mean_and_sd
from mha_core.training.reproduce import FAIR, LINES, POST, PROBES
from mha_core.training.tasks import from_csv

from .runs import SHIPPED, case, here

ROOT = Path(__file__).parents[2]
SEEDS = range(1, 6)
CSV = "text,label\n" + "".join(
    f"the {noun} number {number} is {what},{label}\n"
    for number in range(12)
    for noun, what, label in (("match", "won", "sport"), ("share", "sold", "business"))
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "news.csv"
    file.write_text(CSV + "the match number 0 is won,sport\n", "utf-8")
    return file


@pytest.mark.thorough("all lines of the experiment are trained on a small table")
def test_the_whole_experiment_on_a_small_table(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "in_processes", here)
    kept, recorded = tmp_path / "kept", tmp_path / "recorded"
    call = ["--csv", str(table), "--seeds", "1", "--epochs", "1", "--folder", str(kept), "--record", str(recorded)]
    reproduce.main(call)
    said = capsys.readouterr().out
    assert said.count("accuracy 0") + said.count("accuracy 1") == len(LINES)
    for line in LINES:
        assert f"\n| {line} | " in said
        history = saved.read(kept / f"{line}-1-1")
        assert saved.read(recorded / f"news-{line}-1") == history
        assert {file.name for file in (recorded / f"news-{line}-1").iterdir()} == {saved.RUN}
    model = load_model(str(kept / "post-torch-1-1"), device="cpu")
    for text, row in zip(PROBES, inference.probabilities(model, PROBES[:2]).tolist(), strict=False):
        assert f"| {text} | {' | '.join(f'{share:.3f}' for share in row)} |" in said
    run = model.run(PROBES[2])
    for token, own in zip(run.tokens, run.weights[0].mean(0).tolist(), strict=True):
        assert f"| {token} | {' | '.join(f'{weight:.2f}' for weight in own)} |" in said
    texts = [line.split(",")[0] for line in CSV.splitlines()[1:]]
    assert not any(text in file.read_text("utf-8") for file in recorded.rglob("*.json") for text in texts)
    reproduce.main([*call[:3], "2", *call[4:]])  # one seed more is all that is trained
    again = capsys.readouterr().out
    assert again.count(": accuracy ") == len(LINES)


def test_the_post_s_way_and_the_fair_one_differ_as_they_say(table: Path) -> None:
    task = from_csv(table.read_bytes())
    post, fair = (reproduce.recipe(f"{half}-torch", len(task.train), seed=1, epochs=10) for half in (POST, FAIR))
    changed = {name for name, value in asdict(post).items() if asdict(fair)[name] != value}
    assert changed == {"mask_padding", "start", "vocabulary_of"}
    assert (post.mask_padding, post.start, post.vocabulary_of) == (False, "own", "all texts")


def test_what_cannot_be_trained_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        reproduce.main(["--csv", str(tmp_path / "nowhere.csv")])
    assert stopped.value.code == 1
    assert "This cannot be trained" in capsys.readouterr().err


def test_recorded_runs_are_what_their_line_says_and_the_document_tells() -> None:
    for line in LINES:
        with case(line):
            check_recorded_runs(line)


def check_recorded_runs(line: str) -> None:
    scores = []
    for seed in SEEDS:
        history = saved.read(SHIPPED / f"news-{line}-{seed}")
        start, end = history.start, history.end
        assert start
        assert end
        assert history.recipe == reproduce.recipe(line, start.rows_train, seed=seed, epochs=10)
        assert (end.reason, end.step, history.epochs) == ("steps", history.recipe.steps, 10)
        assert (start.rows_train, start.rows_test) == ((918, 307) if line.startswith(POST) else (896, 299))
        assert (start.parameters, start.longest, start.vocabulary, len(start.classes)) == (89_605, 512, 1000, 5)
        assert len(end.predicted) == start.rows_test
        assert bool(history.snapshots) == (seed == 1)
        scores.append(history.evaluations[-1].test_accuracy)
    mean, deviation = mean_and_sd(scores)
    name = line.removeprefix(f"{POST}-").removeprefix(f"{FAIR}-").replace("-sinusoidal", " + sinusoidal")
    name = name.replace("sinusoidal-0.1", "sinusoidal × 0.1")
    cells = f"| {name} | {', '.join(f'{score:.3f}' for score in scores)} | {mean:.3f} ± {deviation:.3f} |"
    table = (ROOT / "docs" / "long-post.md").read_text("utf-8").splitlines()
    assert [row for row in table if row.startswith(cells)], cells
