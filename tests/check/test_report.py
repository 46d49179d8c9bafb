"""The report as a table, JSON and a page, and the command."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headlight.ui.pages import PAGES, path
from mha_core import check
from mha_core.check import CheckFailure, Report
from mha_core.check.finding import CAUSES, TITLES
from tests.check.layers import ALARMS, D_MODEL, MUTANTS, N_HEADS, OPTIONS, build

ROOT = Path(__file__).parents[2]
LAYER = """
import sys, time
import torch
from torch import nn

class Mine(nn.Module):
    def __init__(self, d_model, n_heads, scale=True):
        super().__init__()
        self.layer = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.scale = scale

    def forward(self, x):
        return self.layer(x, x if self.scale else x.detach(), x)[0]

class Shared(nn.Module):
    def __init__(self, width):
        super().__init__()

class Endless(Mine):
    def forward(self, x):
        time.sleep(1000)
"""


def broken() -> Report:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == "√d_model")
    return check(mutant.build(), D_MODEL, N_HEADS, **mutant.options)


def test_a_failure_in_pytest_is_the_table() -> None:
    report = broken()
    with pytest.raises(CheckFailure) as caught:
        report.raise_for_failures()
    assert str(report) in str(caught.value)
    for part in ("✗  7", "√d_model instead of √d_head", "http://127.0.0.1:8501/by-hand", "1 / √d_head is"):
        assert part in str(report)
    check(build("Separate"), D_MODEL, N_HEADS, **OPTIONS["Separate"]).raise_for_failures()


SHEETS = re.findall(
    r"^\| ([^|]+) \| [^|]+ \| `(check\(layer.*)` \|$", (ROOT / "docs" / "check.md").read_text("utf-8"), re.M
)
STYLES = ("Annotated", "Copy", "Lesson", "Naive", "Joined", "Notebook")


@pytest.mark.parametrize("place", range(6), ids=STYLES)
def test_each_exercise_sheet_grades_the_layer_of_its_text(place: int) -> None:
    assert len(SHEETS) == len(STYLES)
    call = SHEETS[place][1]
    eval(call, {"check": check, "layer": build(STYLES[place], 64, 4)})
    exempt = re.search(r"exempt=\[(\d+)\]", call)
    assert ALARMS.get(STYLES[place], []) == ([int(exempt[1])] if exempt else [])
    if exempt:
        with pytest.raises(CheckFailure):
            eval(call.replace(exempt[0], ""), {"check": check, "layer": build(STYLES[place], 64, 4)})


def test_json_has_every_finding() -> None:
    values = json.loads(broken().json())
    assert [finding["number"] for finding in values["findings"]] == list(TITLES)
    assert values["failures"] == [7, 15]
    assert values["findings"][6]["cause"] == "scale of d_model"
    assert (
        "math.sqrt" in values["findings"][6]["line"]["code"] or "k.transpose" in values["findings"][6]["line"]["code"]
    )


def test_the_page_is_whole_without_network_and_escapes_what_a_user_wrote() -> None:
    report = broken()
    page = report.html()
    assert "<script" not in page
    assert "http" not in page.replace("http://127.0.0.1", "")
    assert "difference" in page
    assert page.count("<figure") == 3
    object.__setattr__(report, "name", "<b>&")
    assert "<b>&" not in report.html()
    assert "&lt;b&gt;&amp;" in report.html()


def test_every_cause_names_a_page_that_exists() -> None:
    pages = {cause["page"].lstrip("/").partition("?")[0] for cause in CAUSES.values()}
    assert pages <= {path(name) for name in PAGES}


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "headlight", "check", *arguments]
    done = subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin"}, capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.thorough("it takes tens of seconds and repeats the quick cases")
def test_command_reports_by_its_exit_status(tmp_path: Path) -> None:
    (tmp_path / "layer.py").write_text(LAYER, encoding="utf-8")
    sizes = ("--d-model", "32", "--n-heads", "4")
    status, out, _ = run(tmp_path, "layer.py:Mine", *sizes, "--json", "--html", "report.html")
    assert status == 0
    assert json.loads(out)["failures"] == []
    assert (tmp_path / "report.html").read_text("utf-8").startswith("<!doctype html>")
    status, out, _ = run(tmp_path, "layer.py:Mine", *sizes, "--with", "scale=False")
    assert status == 1
    assert "✗" in out
    for target, words in (
        ("layer.py:Gone", "has no Gone"),
        ("gone.py:Mine", "no file"),
        ("layer.py:Shared", "cannot be made"),
        ("layer", "no file and name"),
    ):
        status, _, error = run(tmp_path, target, *sizes)
        assert status == 2, error
        assert words in error, error
    status, _, error = run(tmp_path, "layer.py:Endless", *sizes, "--seconds", "15")
    assert status == 2
    assert error
