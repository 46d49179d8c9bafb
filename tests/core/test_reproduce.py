"""The long post's experiment on a small table: every line is trained, kept, and told in tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from mha_core.training import long_post, reproduce, saved
from mha_core.training.tasks import from_csv

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


def test_all_of_it(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["--csv", str(table), "--seeds", "2", "--epochs", "1", "--folder", str(tmp_path / "kept")]
    reproduce.main(call)
    said = capsys.readouterr().out
    assert len(list((tmp_path / "kept").iterdir())) == 2 * len(long_post.ROWS)
    for line in long_post.ROWS:
        assert f"| {line.name} | " in said
    reproduce.main(call)  # nothing is trained twice
    again = capsys.readouterr().out
    assert "accuracy 0" not in again
    assert again.split("| |")[1] == said.split("| |")[1]


def test_one_run_more_is_all_that_is_trained(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = from_csv(table.read_bytes())
    how = {"epochs": 1, "threads": 1, "device": "cpu"}
    first = list(reproduce.runs(long_post.ROWS[-1], task, tmp_path, seeds=1, **how))  # type: ignore[arg-type]
    capsys.readouterr()
    both = list(reproduce.runs(long_post.ROWS[-1], task, tmp_path, seeds=2, **how))  # type: ignore[arg-type]
    assert capsys.readouterr().out.count("accuracy") == 1
    assert both[0] == saved.read(next(tmp_path.glob("*-1-1")))
    assert both[0].end == first[0].end


def test_the_post_s_way_and_the_fair_one_differ_as_they_say(table: Path) -> None:
    task = from_csv(table.read_bytes())
    post, fair = (
        long_post.recipe(line, len(task.train), seed=1, epochs=10, threads=1)
        for line in (long_post.ROWS[0], long_post.ROWS[4])
    )
    changed = {name for name, value in post.to_json().items() if fair.to_json()[name] != value}
    assert changed == {"mask_padding", "start", "vocabulary_of"}
    assert (post.mask_padding, post.start, post.vocabulary_of) == (False, "own", "all texts")


def test_what_cannot_be_trained_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        reproduce.main(["--csv", str(tmp_path / "nowhere.csv")])
    assert stopped.value.code == 1
    assert "This cannot be trained" in capsys.readouterr().err
