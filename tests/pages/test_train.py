"""The Train page: real runs of a second, what they leave behind, and everything that can go wrong."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mha_core import load_model
from mha_core.training import saved, tasks
from mha_core.training.recipe import defaults
from pages.kit.jobs import job
from pages.kit.jobs.training import TrainingPlan
from pages.kit.server.queue import Work
from pages.train.recipe_controls import LANGUAGE, TASKS
from tests.closeness import quoted

from .conftest import go_to
from .train_app import NEWS, TINY, Train, plan_of, upload
from .waiting import of_jobs
from .workers import learns, stand_in

ONE = {**TINY, "pe": ["none"]}
POST = ["torch none", "naive none", "efficient none", "efficient sinusoidal"]


def test_runs_made_beforehand_fill_the_page(shipped: Path) -> None:
    page = Train()
    assert [row[0] for row in page.table("accuracy")["rows"]] == ["none", "rotary"]
    assert page.notices() == []
    assert "Trained in advance with positions none, rotary · fused · 1 layer of 4 heads" in page.texts()
    assert "Not trained yet: sinusoidal. Now chosen: steps 400, rows in a batch 64. Press Train" in page.texts()
    assert len(page.app.get("plotly_chart")) == 2
    # who acts cannot be told from the words alone: every sentence has a mirror with another answer
    assert "bag of words" not in page.app.get("plotly_chart")[0].proto.spec
    page.app.toggle(key="bag").set_value(True).run()
    accuracy, loss = (chart.proto.spec for chart in page.app.get("plotly_chart"))
    assert "bag of words 0.500" in accuracy
    assert "bag of words" not in loss
    assert [row[0] for row in page.open("Ask").table("none")["rows"]][:2] == list(tasks.build("who").questions[:2])
    assert not page.app.get("plotly_chart")
    # a cell of the confusion matrix lists its sentences
    matrix = next(block for block in page.open("Report").blocks() if block.get("name") == "Confusion matrix")
    assert matrix["marks"] == []
    row, col = next((i, j) for i in range(10) for j in range(10) if i != j and matrix["cells"][i][j] != "0")
    page.app.session_state["judged_cell"] = (row, col)
    page.app.run()
    listed = next(block for block in page.blocks() if block["kind"] == "table" and ", taken for" in block["caption"])
    assert listed["caption"].startswith(f"{matrix['cells'][row][col]} test rows of {matrix['rows'][row]}, taken for")
    assert len(listed["rows"]) == int(matrix["cells"][row][col])
    assert not page.off("train_start")
    assert page.off("train_stop")


def test_recorded_news_are_a_list_of_runs_like_any_other() -> None:
    page = Train(task="BBC news")
    assert page.notices() == []
    assert "Recorded on 1,225 texts of news, which may not be shipped" in page.texts()
    assert "Trained in advance with positions none, sinusoidal · efficient, naive, torch" in page.texts()
    table = page.table("accuracy")
    assert sorted(row[0] for row in table["rows"]) == sorted(POST)
    accuracy = {row[0]: row[table["head"].index("accuracy")] for row in table["rows"]}
    assert accuracy["naive none"].startswith("0.878 ± 0.018")
    assert len(page.app.get("plotly_chart")) == 2
    assert "Runs without weights cannot be asked." in str(page.open("Ask").blocks())
    report = page.open("Report")
    assert report.panel("How they were trained")
    fair = Train(task="BBC news", lines="made fair", apart="true")
    assert len(fair.app.get("plotly_chart")) == 2 * 5
    assert page.off("train_start")
    upload(page, "news_file", NEWS.encode())
    assert not page.off("train_start")
    assert "The runs below were trained on other data than the chosen one." in page.notices()


def test_a_task_has_its_own_recipe(shipped: Path, planned: list[TrainingPlan]) -> None:
    for title in ("who did what", "full names"):
        page, name = Train(task=title), TASKS[title]
        plan = plan_of(page, planned)
        positions = [p for p in ("none", "sinusoidal", "rotary") for _ in range(3)]
        assert [recipe.position for recipe in plan.recipes] == positions
        assert [recipe.seed for recipe in plan.recipes] == [1, 2, 3] * 3
        for recipe in plan.recipes:
            usual = replace(defaults(name), position=recipe.position, seed=recipe.seed, seconds=plan.seconds)
            assert recipe == usual, title
        assert plan.timing
        assert plan.data is None
        assert ("Trained in advance" in page.texts()) == (name == "who")
        assert page.notices() == []


def test_a_link_gives_the_plan(shipped: Path, planned: list[TrainingPlan], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    values = {
        "task": "food review", "ampl": "0.5", "seeds": "2", "dm": "24", "nh": "3", "ff": "48", "res": "yes",
        "nrm": "yes", "pool": "mean of the tokens", "init": "each layer's own law", "tbias": "output alone",
        "tdrop": "0.15", "vocab": "77", "steps": "50", "batch": "16", "thr": "2", "cut": "40", "lr": "0.01",
        "sched": "constant", "budget": "33", "ratio": "false", "apart": "true", "dev": "cpu",
    }  # fmt: skip
    page = Train(**values, pe=["learned", "t5"], by=["naive", "torch"], nl=["2"], keep=["on", "off"])
    assert page.notices()[0] == "torch cannot compute t5 positions: this pair is left out."
    plan = plan_of(page, planned)
    usual = replace(
        defaults("food"), amplitude=0.5, d_model=24, n_heads=3, n_layers=2, d_feed_forward=48, residual=True,
        norm=True, pooling="mean", start="own", bias=False, out_bias=True, dropout=0.15, vocabulary=77, steps=50,
        batch=16, threads=2, max_len=40, rate=0.01, schedule="constant", seconds=33.0,
    )  # fmt: skip
    pairs = [("learned", "naive"), ("learned", "torch"), ("t5", "naive")]
    assert list(plan.recipes) == [
        replace(usual, position=position, implementation=name, mask_padding=mask, seed=seed)
        for position, name in pairs
        for mask in (True, False)
        for seed in (1, 2)
    ]
    assert (plan.seconds, plan.timing) == (33.0, False)


def test_garbage_in_a_link_is_reported_and_ignored(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    garbage = {
        "pe": "sideways", "by": "flash", "nl": "9", "keep": "perhaps", "seeds": "11", "ampl": "x", "dm": "1e9",
        "res": "maybe", "steps": "0", "lr": "-1", "budget": "99999", "apart": "perhaps", "cand": "nobody",
        "head": "layer 9 head 9", "thr": "2",
    }  # fmt: skip
    for link, task in (
        (garbage, "who did what"), ({"task": "sleep"}, "sleep"), ({"temp": "-3"}, "repeated random words"),
    ):  # fmt: skip
        page = Train(**{"task": task, **link})
        for key in link:
            assert [said for said in page.notices() if said.startswith(f"The link says {key}=")], key
        assert page.table("accuracy")["rows"]


def test_a_plan_that_cannot_be_trained_is_refused(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links: tuple[tuple[dict[str, Any], str], ...] = (
        ({"dm": "50", "nh": "6"}, "This cannot be trained: d_model=50 cannot be split into 6 equal heads; choose"),
        ({"seeds": "10", "pe": ["none", "learned", "rotary", "alibi", "t5"]}, "This cannot be trained: 50 runs;"),
        ({"pe": ["rotary"], "by": ["torch"]}, "Choose at least one of each: positions, implementations"),
    )
    for link, sentence in links:
        page = Train(**link)
        assert any(notice.startswith(sentence) for notice in page.notices()), link
        assert page.off("train_start")
        assert page.table("accuracy")["rows"]
    assert Train(pe=["none"], by=[]).table("accuracy")["rows"]
    of_jobs(monkeypatch, Work.TRAINING, at_once=0, waiting=0)
    page = Train(**TINY)
    page.app.button(key="train_start").click().run()
    assert any("try again in a minute" in notice for notice in page.notices())
    assert page.table("accuracy")["rows"]


@pytest.mark.thorough("Four models are trained and each implementation is timed.")
def test_a_training_from_start_to_its_answers(shipped: Path) -> None:
    page = Train(**{**TINY, "seeds": "2", "ratio": "true"}, pe=["none", "rotary"]).trained()
    rows = page.table("accuracy")["rows"]
    assert [row[0] for row in rows] == ["none", "rotary"]
    histories = page.job.record.histories
    for row, group in zip(rows, (histories[:2], histories[2:]), strict=True):
        mean = sum(history.evaluations[-1].test_accuracy for history in group) / 2
        assert row[1].startswith(f"{mean:.3f} ± ")
    assert [row[0] for row in page.open("Report").table("× torch")["rows"]] == ["fused", "torch"]
    assert page.table("precision")["rows"]
    assert "the logits differ by at most" in page.open("Ask").texts()
    assert page.table("beside, without the mask")["rows"]
    page.open("Curves")
    assert page.notices() == []
    assert not page.off("train_start")
    assert page.off("train_stop")
    own = page.app.session_state["training_visit"].runs.values()
    assert len(own) == 4
    assert [run.label.partition(",")[0] for run in own] == ["Who did what: none"] * 2 + ["Who did what: rotary"] * 2
    assert [run.folder for run in own] == list(page.job.record.saved)
    assert all(len(saved.pack(run.folder)) > 1000 and load_model(str(run.folder)).run("the dog").tokens for run in own)
    # another page and back: everything is still there
    go_to(page.app, "explore").run()
    assert not page.app.exception
    go_to(page.app, "train").run()
    assert page.table("accuracy")["rows"] == rows


@pytest.mark.thorough("Two language models are trained, which takes seconds.")
def test_a_language_model(shipped: Path) -> None:
    page = Train(**TINY, task="repeated random words", pe=["rotary"], more="3", nl=["1", "2"]).trained()
    assert len(page.app.get("plotly_chart")) == 4
    assert [row[0] for row in page.table("accuracy")["rows"]] == ["1 layer", "2 layers"]
    (continued,) = page.open("Ask").panel("2 layers")["blocks"]
    assert continued["given"]
    assert len(continued["tokens"]) == 3
    page.open("Report")
    assert [block["name"] for block in page.blocks() if "induction" in block.get("name", "")] == [
        "1 layer: induction",
        "2 layers: induction",
    ]


def test_dates_are_written_letter_by_letter_and_every_digit_has_its_word() -> None:
    page = Train(task="dates")
    assert page.notices() == []
    assert page.table("digits on their word")["rows"][0][2].startswith("0.9")
    assert len(page.app.get("plotly_chart")) == 3
    page.open("Ask")
    assert "✓ right" in page.texts()
    assert "8 of 8 digits (1.00) look most at the word that they come from" in page.texts()
    (written,) = [block for block in page.blocks() if block["kind"] == "continuation"]
    cross, encoder, decoder = [block for block in page.blocks() if block["kind"] == "matrix"]
    assert [token for _, token, _, _ in written["tokens"]] == cross["rows"] == [*"2012-10-01", "[END]"]
    assert cross["cols"] == encoder["rows"] == ["the", "1st", "of", "october", ",", "2012"]
    assert cross["marks"] == [[0, 5], [1, 5], [2, 5], [3, 5], [5, 3], [6, 3], [8, 1], [9, 1]]
    assert decoder["cols"] == ["[START]", *"2012-10-01"]
    page = Train(task="dates", ask="hello").open("Ask")
    assert "nobody knows the right answer" in page.texts()
    assert "Which word each digit comes from is not known here" in page.texts()
    assert "One word is not in this model’s vocabulary: “hello”." in page.notices()[0]


def test_pictures_are_named_and_looked_at_patch_by_patch() -> None:
    page = Train(task="shapes")
    assert page.notices() == []
    assert "Accuracy on unseen pictures" in page.texts()
    assert not [link for block in page.blocks() if block["kind"] == "links" for link in block["links"]]
    page = Train(task="shapes", ask="square, size 9, at 10 12").open("Ask")
    assert page.table("sinusoidal")["rows"][0][1].startswith("square ")
    (seen,) = [block for block in page.blocks() if block["kind"] == "patches"]
    assert (seen["across"], len(seen["pixels"]), seen["tokens"][:3]) == (7, 28 * 28, ["[CLS]", "[REG0]", "0,0"])
    for row in seen["weights"]:
        quoted(sum(row), "1.00")
    assert 16 in seen["inside"]
    assert 48 not in seen["inside"]
    page.open("Report")
    assert page.table("precision")["rows"]
    assert "No shape in" in Train(task="shapes", ask="a house").open("Ask").notices()[0]


def test_a_training_is_stopped_or_killed_while_another_task_is_chosen(
    shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, learns())
    page = Train(**ONE)
    page.looked()
    assert page.off("train_start")
    assert not page.off("train_stop")
    page.app.selectbox(key="task").set_value("food review").run()
    assert "Your training of who did what goes on; choose that task to watch it." in page.notices()
    assert [row[0] for row in page.table("accuracy")["rows"]] == ["learned"]
    assert page.off("train_start")
    page.app.button(key="train_stop").click().run()
    assert not page.over().off("train_start")
    page.app.selectbox(key="task").set_value("who did what").run()
    assert "Stopped. What was learnt so far is kept." in page.notices()
    assert page.table("accuracy")["rows"]
    running = page.looked()
    assert running.pid
    os.kill(running.pid, signal.SIGKILL)
    page.over()
    assert page.notices()[0].startswith("The training ended early: the training process ended unexpectedly (SIGKILL)")
    assert not job.under_way()
    assert not page.off("train_start")
    assert page.start() is not running


def test_every_control_deselected(shipped: Path) -> None:
    page = Train()
    for key in ("pe", "by", "keep"):
        page.app.pills(key=key).set_value([]).run()
        assert page.off("train_start")
        assert page.table("accuracy")["rows"]
        page.app.pills(key=key).set_value(["on"] if key == "keep" else ["none"] if key == "pe" else ["fused"]).run()
    for key in ("seeds", "ampl", "budget", "dm"):
        page.app.number_input(key=key).set_value(None).run()
        assert not page.off("train_start")


def test_the_tasks_are_those_of_the_core() -> None:
    assert set(tasks.NAMES) < set(TASKS.values())
    assert set(TASKS.values()) >= LANGUAGE
