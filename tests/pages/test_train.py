"""The Train page: its controls, a training from the queue to its end, and data that the visitor brings."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from headlight.queue.client import Client
from headlight.queue.policy import QueueEntry, Work
from headlight.registry import recordings
from headlight.server.public import NO_FILES, VARIABLE
from mha_core import load_model
from mha_core.pretrained.recordings import Group, Recording
from mha_core.training import saved, tasks
from mha_core.training.limits import TrainingPlan
from mha_core.training.recipe import defaults
from mha_core.training.tasks import TrainingData
from pages.train import uploads
from pages.train.page import OWN_RUNS
from pages.train.recipe_controls import TASKS
from pages.train.runs import POST_CHOICES

from .train_app import NEWS, TINY, Train, plan_of, upload
from .waiting import of_jobs, wait
from .workers import learns, stand_in

ONE = {**TINY, "pe": ["none"]}
POST = ["torch none", "naive none", "efficient none", "efficient sinusoidal"]


def test_runs_made_beforehand_fill_the_page(shipped: Path) -> None:
    page = Train(budget="1800")
    assert [row[0] for row in page.table("accuracy")["rows"]] == ["none", "rotary"]
    assert page.notices() == []
    assert "Trained in advance with the positional encodings none, rotary · fused · 1 layer of 4 heads" in page.texts()
    assert "Not trained yet: sinusoidal. Now selected: steps 400, rows in a batch 64. Press Train" in page.texts()
    assert len(page.app.get("plotly_chart")) == 2
    assert [row[0] for row in page.open("Ask").table("none")["rows"]][:2] == list(tasks.build("who").questions[:2])
    # a cell of the confusion matrix lists its sentences
    matrix = next(block for block in page.open("Report").blocks() if block.get("name") == "Confusion matrix")
    row, col = next((i, j) for i in range(10) for j in range(10) if i != j and matrix["cells"][i][j] != "0")
    page.app.session_state["judged_cell"] = (row, col)
    page.app.run()
    listed = next(block for block in page.blocks() if block["kind"] == "table" and ", taken for" in block["caption"])
    assert len(listed["rows"]) == int(matrix["cells"][row][col])
    assert "Trained in advance with the positional encodings none, rotary" in page.texts()
    assert not page.off("train_start")
    assert page.off("train_stop")
    assert Train(budget="1800", pe=["rotary"], tab="Report").app.session_state["cand"] == "rotary"


def test_recorded_news_are_a_list_of_runs_like_any_other() -> None:
    page = Train(task="BBC news")
    assert page.notices() == []
    assert "recorded on 1,225 news texts, which may not be distributed" in page.texts()
    table = page.table("accuracy")
    assert sorted(row[0] for row in table["rows"]) == sorted(POST)
    accuracy = {row[0]: row[table["head"].index("accuracy")] for row in table["rows"]}
    assert accuracy["naive none"].startswith("0.878 ± 0.018")
    assert len(page.app.get("plotly_chart")) == 2
    assert page.open("Report").table("the post, in total")["rows"][0] == [
        "torch",
        "1.8 to 3.9",
        "18 to 39",
        "15",
        "155",
    ]
    fair = Train(task="BBC news", post=POST_CHOICES[2]).table("accuracy")["rows"]
    assert "fused sinusoidal × 0.1" in [row[0] for row in fair]


def test_task_has_its_own_recipe(shipped: Path, planned: list[TrainingPlan]) -> None:
    for title in ("who did what", "full names"):
        plan = plan_of(Train(task=title), planned)
        places = [(p, seed) for p in ("none", "sinusoidal", "rotary") for seed in (1, 2, 3)]
        usual = replace(defaults(TASKS[title]), seconds=plan.seconds)
        assert list(plan.recipes) == [replace(usual, position=position, seed=seed) for position, seed in places], title
        assert plan.data is None


def test_link_gives_the_plan(shipped: Path, planned: list[TrainingPlan], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    values = {
        "task": "food review", "ampl": "0.5", "seeds": "2", "dm": "24", "nh": "3", "ff": "48", "res": "yes",
        "nrm": "yes", "pool": "mean of the tokens", "init": "each layer's own law", "tbias": "output alone",
        "tdrop": "0.15", "vocab": "77", "steps": "50", "batch": "16", "thr": "2", "cut": "40", "lr": "0.01",
        "sched": "constant", "budget": "33", "dev": "cpu",
    }  # fmt: skip
    page = Train(**values, pe=["learned", "t5"], by=["naive", "torch"], nl=["2"], keep=["on", "off"])
    assert "torch cannot compute t5 positions, so this pair is left out." in page.notices()
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
    assert plan.seconds == 33.0


def test_garbage_in_a_link_is_reported_and_ignored(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    garbage = {
        "pe": "sideways", "by": "flash", "nl": "9", "keep": "perhaps", "seeds": "11", "ampl": "x", "dm": "1e9",
        "res": "maybe", "steps": "0", "lr": "-1", "budget": "99999", "cand": "nobody",
        "head": "layer 9 head 9", "thr": "2",
    }  # fmt: skip
    for link, task in (
        (garbage, "who did what"), ({"task": "sleep"}, "sleep"), ({"temp": "-3"}, "repeated random words"),
    ):  # fmt: skip
        page = Train(**{"task": task, **link})
        for key in link:
            assert [notice for notice in page.notices() if notice.startswith(f"The link says {key}=")], key
        assert page.table("accuracy")["rows"]


def test_a_plan_that_cannot_be_trained_is_refused(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links: tuple[tuple[dict[str, Any], str], ...] = (
        ({"dm": "50", "nh": "6"}, "This cannot be trained: d_model=50 cannot be split into 6 equal heads; choose"),
        (
            {"seeds": "10", "pe": ["none", "learned", "rotary", "alibi", "t5"]},
            "This cannot be trained: 50 runs were",
        ),
        ({"pe": ["rotary"], "by": ["torch"]}, "Choose at least one of each: positions, implementations"),
    )
    for link, sentence in links:
        page = Train(**link)
        assert any(notice.startswith(sentence) for notice in page.notices()), link
        assert page.off("train_start")
        assert page.table("accuracy")["rows"]
    of_jobs(monkeypatch, Work.TRAINING, at_once=0, waiting=0)
    page = Train(**TINY)
    page.app.button(key="train_start").click().run()
    assert any("try again in a minute" in notice for notice in page.notices())
    assert page.table("accuracy")["rows"]


@pytest.mark.thorough("Two models are trained.")
def test_training_from_start_to_its_answers(shipped: Path) -> None:
    page = Train(**TINY, pe=["none", "rotary"]).trained()
    rows = page.table("accuracy")["rows"]
    assert [row[0] for row in rows] == ["none", "rotary"]
    for row, history in zip(rows, page.job.record.histories, strict=True):
        assert row[1].startswith(f"{history.evaluations[-1].test_accuracy:.3f}")
    assert page.open("Report").table("precision")["rows"]
    assert "the logits differ by at most" in page.open("Ask").texts()
    own = page.app.session_state["training_visit"].runs.values()
    assert len(own) == 2
    assert [run.folder for run in own] == list(page.job.record.saved)
    assert all(len(saved.pack(run.folder)) > 1000 and load_model(str(run.folder)).run("the dog").tokens for run in own)


def test_dates_are_written_letter_by_letter_and_every_digit_has_its_word() -> None:
    page = Train(task="dates")
    assert page.notices() == []
    assert page.table("digits that attend to their word")["rows"][0][2].startswith("0.9")
    assert len(page.app.get("plotly_chart")) == 3
    page.open("Ask")
    assert "✓ right" in page.texts()
    assert "8 of 8 digits (1.00) attend most to the word that they come from" in page.texts()
    (written,) = [block for block in page.blocks() if block["kind"] == "continuation"]
    cross, *_ = [block for block in page.blocks() if block["kind"] == "matrix"]
    assert [token for _, token, _, _ in written["tokens"]] == cross["rows"] == [*"2012-10-01", "[END]"]
    assert cross["marks"] == [[0, 5], [1, 5], [2, 5], [3, 5], [5, 3], [6, 3], [8, 1], [9, 1]]


def test_pictures_are_named_and_looked_at_patch_by_patch() -> None:
    page = Train(task="shapes", ask="square, size 9, at 10 12").open("Ask")
    assert page.table("sinusoidal")["rows"][0][1].startswith("square ")
    (seen,) = [block for block in page.blocks() if block["kind"] == "patches"]
    assert (seen["across"], len(seen["pixels"]), seen["tokens"][:3]) == (7, 28 * 28, ["[CLS]", "[REG0]", "0,0"])
    assert (16 in seen["inside"], 48 in seen["inside"]) == (True, False)
    assert "No shape in" in Train(task="shapes", ask="a house").open("Ask").notices()[0]


def test_training_is_stopped_while_another_task_is_chosen(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, learns())
    page = Train(**ONE)
    page.looked()
    assert page.off("train_start")
    assert not page.off("train_stop")
    page.app.selectbox(key="task").set_value("food review").run()
    assert "Your training of who did what continues; choose that task to watch it." in page.notices()
    assert [row[0] for row in page.table("accuracy")["rows"]] == ["learned"]
    assert page.off("train_start")
    page.app.button(key="train_stop").click().run()
    assert not page.over().off("train_start")
    page.app.selectbox(key="task").set_value("who did what").run()
    assert "Stopped. The models trained so far are kept." in page.notices()
    assert page.table("accuracy")["rows"]


# ---- while it follows a training


WARNING = "cuda:0 is out of memory; this was computed on the CPU."


@pytest.fixture
def learning(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A training has looked at its test rows at once, and ends when it is stopped or its time is up."""
    stand_in(monkeypatch, learns())


@pytest.mark.usefixtures("learning")
def test_page_follows_a_training_from_the_queue_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    queue, other = of_jobs(monkeypatch, Work.TRAINING), QueueEntry(Client("", "other"), Work.TRAINING)
    queue.enqueue(other)
    page = Train(**ONE)
    assert OWN_RUNS not in page.texts()
    job = page.start()
    assert page.progress() == "Waiting: 1 training comes first"
    # it has looked at the test rows, and has a warning
    queue.release(other)
    wait(lambda: job.record.has_evaluations)
    job.record.add({"notice": WARNING})
    page.app.run()
    assert page.progress().startswith("step ")
    assert page.notices() == [WARNING]
    assert OWN_RUNS in page.texts()
    job.stop()
    page.over()
    assert page.progress().startswith("stopped after ")


# ---- data that the visitor brings


def test_table_of_the_visitors(shipped: Path) -> None:
    page = Train(**TINY, task="your own CSV", pe=["none"])
    assert page.off("train_start")
    assert "There is no data to train on yet" in page.texts()
    upload(page, "csv_file", NEWS.encode())
    assert not page.off("train_start")
    assert "Your own table. 12 rows for training, 4 for testing, 2 classes: “sport”, “tech”." in page.texts()
    page.trained()
    assert page.job.plan.data
    assert page.job.plan.data.content == NEWS.encode()
    assert page.open("Report").table("precision")["rows"][0][0] == "sport"
    assert page.open("Ask").table("none")["rows"][0][0] == tasks.from_outside(page.job.plan.data).questions[0]
    upload(page, "csv_file", NEWS.replace(" a", " z").encode())
    assert "The runs below were trained on data other than the selected one." in page.notices()


def test_bad_table_is_reported_and_columns_of_other_names_are_guessed(shipped: Path) -> None:
    page = Train(task="your own CSV")
    for content, sentence in (
        (b"", "This data cannot be used: "),
        ("text,label\nä,ö".encode("utf-16-le"), "UTF-8"),
        (b"text,label\nx,one\ny,one", "This data cannot be used: "),
    ):
        upload(page, "csv_file", content)
        assert any(sentence in notice for notice in page.notices())
        assert page.off("train_start")
    upload(page, "csv_file", NEWS.encode())
    assert page.notices() == []
    assert not page.off("train_start")
    upload(page, "csv_file", NEWS.replace("text,label", "Meldung;Rubrik", 1).replace(",", ";").encode())
    assert "Texts were found in the column “Meldung”, labels in “Rubrik”" in page.texts()
    assert "Rows in the file: " in page.texts()
    assert not page.off("train_start")
    page.app.text_input(key="lc").set_value("Thema").run()
    assert any("no column 'Thema'; its columns are 'Meldung', 'Rubrik'" in notice for notice in page.notices())


def test_text_is_there_until_the_visitor_brings_one(shipped: Path, planned: list[TrainingPlan]) -> None:
    page = Train(task="your own text", seeds="1", cut="96", pe=["rotary"])
    assert "Shakespeare’s Coriolanus, acts I to IV, in the public domain" in page.texts()
    plan = plan_of(page, planned)
    assert plan.data == TrainingData("text", uploads.shakespeare())
    assert [recipe.max_len for recipe in plan.recipes] == [96]
    own = "the cat sat on the mat. " * 40
    page.app.text_area(key="pasted").set_value(own).run()
    assert "Shakespeare" not in page.texts()
    assert plan_of(page, planned).data == TrainingData("text", own.encode())
    page = Train(task="your own text", seeds="1", cut="512", pe=["rotary"])
    assert "This data cannot be used: a context of 512 characters; choose 16 to 256." in page.notices()
    assert page.off("train_start")


def test_experiment_of_the_long_post(shipped: Path, planned: list[TrainingPlan]) -> None:
    links = [
        ("BBC news", POST_CHOICES[1], {}),
        *(("your own CSV", choice, {"post": choice}) for choice in POST_CHOICES[1:]),
    ]
    for title, choice, link in links:
        page = Train(task=title, seeds="1", **link)
        upload(page, f"{TASKS[title]}_file", (NEWS + "\nsport a,sport").encode())
        plan, as_posted = plan_of(page, planned), choice == POST_CHOICES[1]
        assert plan.data
        assert plan.data.keep_duplicates is as_posted
        kinds = [(recipe.implementation, recipe.position, recipe.amplitude) for recipe in plan.recipes]
        own = "efficient" if as_posted else "fused"
        none = [(name, "none", 1) for name in ("torch", "naive", own)]
        assert kinds == [*none, (own, "sinusoidal", 1), *[(own, "sinusoidal", 0.1)] * (not as_posted)]
        assert {recipe.mask_padding for recipe in plan.recipes} == {not as_posted}
        assert {recipe.start for recipe in plan.recipes} == {"own" if as_posted else "shared"}


def test_public_server_takes_no_files(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    page = Train(task="BBC news", seeds="1", pe=["none"])
    assert not page.app.file_uploader
    assert [caption.value for caption in page.app.caption].count(NO_FILES) == 2  # a table, a saved run


def test_saved_run_is_opened_and_a_bad_one_is_reported(shipped: Path, tmp_path: Path) -> None:
    page = Train()
    upload(page, "run_file", b"PK no zip", "application/zip")
    assert page.notices()[-1].startswith("This run cannot be opened: ")
    assert [row[0] for row in page.table("accuracy")["rows"]] == ["none", "rotary"]
    upload(page, "run_file", saved.pack(shipped / "food-learned-1"), "application/zip")
    assert page.notices()[-1].startswith("Opened: Food review: learned")
    assert [row[0] for row in page.table("accuracy")["rows"]] == ["learned", "learned (file)"]
    upload(page, "run_file", b"no recording", "application/safetensors")
    assert page.notices()[-1].startswith("This file cannot be opened: this is not a recording of Headlight")
    maps = torch.eye(3).expand(2, 1, 2, 3, 3).contiguous()
    made = Recording((Group("attn", ("attn",), ["a", "b", "c"], None, maps),), (0, 7), "the first")
    upload(page, "run_file", made.to_bytes(), "application/safetensors")
    assert page.notices()[-1].startswith("Opened: the first. It can be chosen as a model on Maps.")
    (name,) = page.app.session_state["training_visit"].data.values()
    assert recordings.Recorded(f"{recordings.PREFIX}{name}").about.summary == "1 × 2 heads, 2 steps"
    # of a task that is not here
    foreign = tmp_path / "run"
    shutil.copytree(shipped / "food-learned-1", foreign)
    (foreign / saved.RUN).write_text((foreign / saved.RUN).read_text().replace('"task":"food"', '"task":"nosuch"'))
    upload(page, "run_file", saved.pack(foreign), "application/zip")
    assert page.notices()[-1].startswith("This run cannot be opened: there is no task 'nosuch' here.")
    assert len(page.app.session_state["training_visit"].runs) == 1
