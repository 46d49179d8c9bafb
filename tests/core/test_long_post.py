"""The long post's experiment: on a small table every line is trained, kept and told; the recorded runs are its own."""

from pathlib import Path

import pytest

from mha_core.training import checkpoints, saved, sweep
from mha_core.training.checkpoints import FAIR, NEWS, POST, news_recipe
from mha_core.training.report import mean_and_sd

from .runs import SHIPPED, here

ROOT = Path(__file__).parents[2]
SEEDS = range(1, 6)
CSV = "text,label\n" + "".join(
    f"the {noun} number {number} is {what},{label}\n"
    for number in range(12)
    for noun, what, label in (("match", "won", "sport"), ("share", "sold", "business"))
)


@pytest.mark.thorough("all lines of the experiment are trained on a small table")
def test_the_whole_experiment_on_a_small_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, place = tmp_path / "news.csv", tmp_path / "trained"
    table.write_text(CSV + "the match number 0 is won,sport\n", "utf-8")
    for name, value in (("EPOCHS", 1), ("SEEDS", 1)):
        monkeypatch.setattr(checkpoints, name, value)
    monkeypatch.setattr(sweep, "run_in_processes", here)
    checkpoints.main([str(place), "--csv", str(table)])
    assert {folder.name for folder in place.iterdir()} == {f"news-{line}-1" for line in NEWS}
    for folder in place.iterdir():
        assert [file.name for file in folder.iterdir()] == [saved.RUN], "no weights"
        start = saved.read(folder).start
        assert start
        assert start.rows_train + start.rows_test == 24 + ("post" in folder.name), "its duplicate"
    texts = [line.split(",")[0] for line in CSV.splitlines()[1:]]
    assert not any(text in file.read_text("utf-8") for file in place.rglob("*.json") for text in texts)


@pytest.mark.parametrize("line", NEWS)
def test_recorded_runs_agree_with_their_line_and_the_document(line: str) -> None:
    scores = []
    for seed in SEEDS:
        history = saved.read(SHIPPED / f"news-{line}-{seed}")
        start, end = history.start, history.end
        assert start
        assert end
        assert history.recipe == news_recipe(line, start.rows_train, seed)
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
