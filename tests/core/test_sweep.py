"""Many runs at once: the bits of a run alone, whatever is killed; what is refused, and how."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from headlight import command
from mha_core import load_model
from mha_core.training import saved, sweep
from mha_core.training.tasks import Batch
from mha_core.training.tasks.words import Words

from . import stand_ins
from .runs import TINY_WORDS, here, task

SMALL = replace(TINY_WORDS, steps=2, evaluations=1)
JOB = sweep.PlannedRun(SMALL, task("words"))
IMPOSSIBLE = sweep.PlannedRun(replace(SMALL, implementation="torch", position="rotary"), JOB.task)


class Deadly(Words):
    """The first process that trains on it is killed, as by a system that is out of memory."""

    def __init__(self, trap: Path) -> None:
        super().__init__()
        self.trap = trap

    def batch(self, rows: int, generator: torch.Generator) -> Batch:
        if self.trap.exists():
            self.trap.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().batch(rows, generator)


def weights(place: Path) -> list[bytes]:
    return [(place / name).read_bytes() for name in saved.FILES if name != saved.RUN]


@pytest.mark.faults
@pytest.mark.thorough("processes import torch, train and are killed")
def test_run_of_a_killed_worker_is_repeated_bit_for_bit(tmp_path: Path) -> None:
    (tmp_path / "trap").touch()
    jobs = {tmp_path / "killed": sweep.PlannedRun(SMALL, Deadly(tmp_path / "trap")), tmp_path / "no": IMPOSSIBLE}
    results = sweep.run(jobs, 1)
    assert not (tmp_path / "trap").exists()
    assert results[tmp_path / "no"] == sweep.train(IMPOSSIBLE, tmp_path / "no") != ""
    assert not (tmp_path / "no").exists()
    assert sweep.train(JOB, tmp_path / "alone") == ""
    assert weights(tmp_path / "killed") == weights(tmp_path / "alone")
    assert load_model(str(tmp_path / "killed")).run("a b").weights.shape[:2] == (2, 2)


@pytest.mark.faults
@pytest.mark.thorough("processes are killed three times")
def test_a_run_that_kills_every_worker_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sweep, "train", stand_ins.dies)
    place = tmp_path / "run"
    assert sweep.run({place: JOB}, 2) == {place: sweep.KILLED}
    assert not place.exists()


def test_sweep_command_resumes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sweep, "run_in_processes", here)
    line = ["train", "--sweep", "--task", "who", "words", "--position", "none", "--steps", "2", "--out", str(tmp_path)]
    assert command.main(line) == 0
    names = ["who-none-fused-1layer", "words-none-fused-2layers"]
    assert sorted(place.name for place in tmp_path.iterdir() if place.is_dir()) == [f"{name}-1" for name in names]
    opened = saved.unpack((tmp_path / f"{names[0]}-1.zip").read_bytes(), tmp_path / "opened")
    assert opened == saved.read(tmp_path / f"{names[0]}-1")
    assert capsys.readouterr().out.count(": accuracy ") == 2
    assert command.main([*line, "--seeds", "2"]) == 0
    output = capsys.readouterr().out
    assert output.count(": accuracy ") == 2, "what is there is not trained again"
    for name in names:
        assert f"\n{name} " in output
    assert command.main(["train", "--task", "who", "--position", "none", "--steps", "3", "--out", str(tmp_path)]) == 1
    assert "contains another run" in capsys.readouterr().err
    assert command.main([*line[:-2], "--position", "rotary", "--implementation", "torch", "--out", str(tmp_path)]) == 1
    assert "words-rotary-torch-2layers-1 could not be trained: " in capsys.readouterr().err


def test_wrong_arguments_are_refused_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    for code, arguments, sentence in (
        (2, "--task nobody", "--task: “nobody” is unknown; choose from who, food"),
        (2, "--position none north", "--position: “north” is unknown"),
        (2, "--implementation none", "--implementation: “none” is unknown"),
        (2, "--position none rotary", "--sweep is needed for several runs at once"),
        (2, "--seeds 2", "--sweep is needed for several runs at once"), (2, "--seeds 0", "--seeds must be 1 or more"),
        (2, "--worker 1", "unrecognized arguments: --worker 1; headlight train --help"),
        (1, "--steps 0", "steps=0: choose 1 to 100,000"), (1, "--workers 0", "--workers=0: choose 1 to 256"),
        (1, f"--out {tmp_path / 'file'}", "is not writable"),
    ):  # fmt: skip
        try:
            ended = command.main(["train", "--out", str(tmp_path), *arguments.split()])
        except SystemExit as end:
            ended = int(end.code or 0)
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("headlight: ")
        assert sentence in line
        assert ended == code, line
