"""The study kit: the notebook on made-up data, the quiz and its key, and the page of the second arm."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

from headlight.lessons import course
from tests.study_page import FILE, LESSONS, section

STUDY = FILE.parent
COURSE = course.read_folders((course.SHIPPED,)).lessons
SLOW = pytest.mark.thorough("one pass without each head is needed for its steps")
NUMBER = re.compile(r"-?\d+\.\d+|\d+%")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(STUDY / "key.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*cells: str) -> dict[str, Any]:
    """Run these cells of the notebook after the imports; each prints what is stored below it, or reads other data."""
    names = dict[str, Any]()
    for cell in nbformat.read(STUDY / "comparison.ipynb", 4).cells:
        if cell.cell_type == "code" and (not cells or cell.id in ("imports", *cells)):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(cell.source, cell.id, "exec"), names)
            stored = "".join(output.text for output in cell.outputs)
            assert cells or NUMBER.sub("#", out.getvalue()).split() == NUMBER.sub("#", stored).split()
    return names


def save(folder: Path, **tables: Any) -> None:
    (folder / "data").mkdir(exist_ok=True)
    for name, table in tables.items():
        table.to_csv(folder / "data" / f"{name}.csv", index=False)


def test_every_cell_of_the_notebook_prints_what_stands_below_it(folder: Path) -> None:
    names = run()
    assert {trace.name for trace in names["figure"].data} == set(names["ARMS"])


@pytest.mark.parametrize("effects", [(1.2, 0.2, 0.0), (0.0, 0.0, 0.0)], ids=["an effect", "no effect"])
def test_comparison_finds_the_effect_that_was_built_in(folder: Path, effects: tuple[float, ...]) -> None:
    people, answers = run("made-up")["made_up"](effects, n=30, seed=11)
    save(folder, participants=people, answers=answers)
    names = run("made-up", "who-counts", "mixed-logit", "main", "population")
    for table in (names["main"], names["check"]):
        assert list(table.index) == [(test, arm) for test in names["TESTS"] for arm in names["ARMS"][1:]]
        for (_, arm), row in table.iterrows():
            advantage = effects[0] - effects[names["ARMS"].index(arm)]
            assert row.low < advantage < row.high
            assert (row.holm < 0.05) == (advantage > 0)


def test_who_counts_follows_the_protocol(folder: Path) -> None:
    people, answers = run("made-up")["made_up"](n=2)
    people.loc[0, "checks"], people.loc[1, "focus_min"] = 1, 4
    absent = (answers.participant == "p003") & (answers.test == "two weeks")
    unanswered = (answers.participant == "p004") & (answers.test == "at once") & (answers.question != "Q1")
    save(folder, participants=people, answers=answers[~absent & ~unanswered])
    data = run("made-up", "who-counts")["data"]
    expected = {(f"p00{number}", test): 17 for number in range(3, 7) for test in ("at once", "two weeks")}
    del expected["p003", "two weeks"]
    assert Counter(data[["participant", "test"]].itertuples(index=False, name=None)) == expected
    assert set(data[(data.participant == "p004") & (data.test == "at once") & (data.right == 1)].question) <= {"Q1"}
    save(folder, answers=answers.loc[[0, *answers.index]])
    with pytest.raises(AssertionError):
        run("made-up", "who-counts")


@pytest.mark.numeric
def test_likelihood_is_the_integral_over_the_intercept(folder: Path) -> None:
    random, groups = np.random.default_rng(3), np.repeat([5, 2, 9], 4)
    design, right = random.normal(size=(12, 2)), random.integers(0, 2, 12)
    params, grid = np.array([0.4, -0.7, np.log(0.9)]), np.linspace(-12, 12, 24_001)
    model = run("mixed-logit")["MixedLogit"](right, design, groups)
    logits = (design @ params[:2])[:, None] + 0.9 * grid
    p = 1 / (1 + np.exp(-np.where(right == 1, 1, -1)[:, None] * logits))
    density = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi)
    whole = sum(np.log(np.trapezoid(p[groups == group].prod(axis=0) * density, grid)) for group in (5, 2, 9))
    assert abs(model.loglike(params) - whole) < 1e-9
    slopes = [(model.loglike(params + step) - model.loglike(params - step)) / 2e-5 for step in 1e-5 * np.eye(3)]
    assert np.allclose(model.score(params), slopes, rtol=0, atol=1e-8)


def test_hakes_gain_of_a_room_is_the_one_in_its_table(folder: Path) -> None:
    """As `csvOf` writes: questions 1 and 4 have a gain, 2 one vote, 3 only right first votes, 5 no answer."""
    votes = "1,9,4,no,0.64 1,11,21,yes,0.64 2,1,,yes, 2,2,,no, 3,3,2,yes, 3,0,1,no, 4,1,2,no,-1 4,1,0,yes,-1 5,2,1,,"
    rows = (row.replace(",", ",Which?,A,x,", 1) for row in votes.split())
    head = "question,asked,answer,text,first vote,second vote,right,gain"
    names = run("rooms")
    table = names["gains"](names["pd"].read_csv(io.StringIO("\n".join([head, *rows]))))
    assert {number: round(gain, 2) for number, gain in table.gain.dropna().items()} == {1: 0.64, 4: -1}
    assert np.allclose(table["first"], [11 / 20, 1 / 3, 1, 1 / 2])


def test_quiz_has_one_key_to_each_question() -> None:
    text = (STUDY / "quiz.md").read_text("utf-8")
    questions = re.findall(r"^### (\w+)\n\n[^#]+?\n\n((?:- [A-Z]\. .+\n)+)", text, re.MULTILINE)
    with (STUDY / "key.csv").open(encoding="utf-8", newline="") as file:
        keys = {row["question"]: (row["objective"], row["key"]) for row in csv.DictReader(file)}
    assert [name for name, _ in questions] == list(keys)
    table = re.findall(r"^\| (\w+) \| (LO\d|H) \| ([A-D]) \|", text, re.MULTILINE)
    assert {name: (objective, key) for name, objective, key in table} == keys
    assert Counter(objective for objective, _ in keys.values()) == {f"LO{at}": 2 for at in range(1, 7)} | {"H": 5}
    choices = {name: dict(re.findall(r"^- ([A-Z])\. (.+)$", block, re.MULTILINE)) for name, block in questions}
    assert {"".join(letters) for letters in choices.values()} == {"ABCD"}
    longest = [name for name in keys if len(choices[name][keys[name][1]]) == max(map(len, choices[name].values()))]
    assert len(longest) <= len(keys) / 2, "the longest choice gives the answer away"


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW if name == "explanation" else ()) for name in LESSONS])
def test_page_has_the_pictures_and_explanations_of_each_lesson(name: str) -> None:
    assert section(COURSE[name]) in FILE.read_text("utf-8")


def test_lessons_of_the_protocol_take_as_long_as_it_says() -> None:
    names = ", ".join(f"*{name}*" for name in LESSONS)
    minutes = sum(COURSE[name].minutes for name in LESSONS)
    assert f"lessons 1, 3, 6, 7 and 14 ({names}), {minutes} minutes" in (STUDY / "protocol.md").read_text("utf-8")
