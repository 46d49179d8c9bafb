"""The Train page: real runs of a second, what they leave behind, and everything that can go wrong."""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from mha_core.training import saved, tasks
from mha_core.training.recipe import defaults
from mha_core.training.tasks import Labelled
from pages.kit.jobs import training, visitor
from pages.kit.jobs.queue import Places
from pages.kit.jobs.training import Data, Plan
from pages.train.grid import POST_CHOICES
from pages.train.recipe_controls import LANGUAGE, TASKS

from .test_lab import wait
from .train_app import TINY, Train, no_job_stays

__all__ = ["no_job_stays"]

NEWS = "\n".join(["text,label", *(f"{word} {other},{word}" for word in ("sport", "tech") for other in "abcdefgh")])


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """Where plans go instead of being trained."""
    plans: list[Plan] = []
    monkeypatch.setattr(visitor, "start", plans.append)
    return plans


def plan_of(page: Train, plans: list[Plan]) -> Plan:
    page.app.button(key="train_start").click().run()
    return plans[-1]


def upload(page: Train, key: str, content: bytes, kind: str = "text/csv") -> None:
    page.app.file_uploader(key=key).set_value((f"file.{kind.partition('/')[2]}", content, kind)).run()


def test_runs_made_beforehand_fill_the_page(shipped: Path) -> None:
    page = Train()
    assert [row[0] for row in page.table("accuracy")["rows"]] == ["none", "rotary"]
    assert page.notices() == ["These runs were trained beforehand (make checkpoints). Train makes your own."]
    assert len(page.app.get("plotly_chart")) == 2
    assert [row[0] for row in page.table("none")["rows"]][:2] == list(tasks.build("who").questions[:2])
    assert not page.off("train_start")
    assert page.off("train_stop")


@pytest.mark.parametrize("title", TASKS)
def test_every_task_has_its_own_recipe(shipped: Path, planned: list[Plan], title: str) -> None:
    page, name = Train(task=title), TASKS[title]
    if name not in tasks.NAMES:
        assert page.off("train_start")
        assert "There is no data yet" in page.texts()
        return
    plan = plan_of(page, planned)
    usual = defaults(name)
    positions = [p for p in ("none", "sinusoidal", "rotary") for _ in range(3)]
    assert [recipe.position for recipe in plan.recipes] == positions
    assert [recipe.seed for recipe in plan.recipes] == [1, 2, 3] * 3
    for recipe in plan.recipes:
        assert recipe == replace(usual, position=recipe.position, seed=recipe.seed, seconds=plan.seconds)
    assert plan.timing
    assert plan.data is None
    assert page.notices() == ([] if name in ("brackets", "names") else page.notices()[:1])


def test_a_link_gives_the_plan(shipped: Path, planned: list[Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    page = Train(
        task="food review",
        pe=["learned", "t5"],
        by=["naive", "torch"],
        nl=["2"],
        keep=["on", "off"],
        ampl="0.5",
        seeds="2",
        dm="24",
        nh="3",
        ff="48",
        res="yes",
        nrm="yes",
        pool="mean of the tokens",
        init="each layer's own law",
        vocab="77",
        steps="50",
        batch="16",
        thr="2",
        cut="40",
        lr="0.01",
        sched="constant",
        budget="33",
        ratio="false",
        apart="true",
        dev="cpu",
    )
    assert page.notices()[0] == "torch cannot compute t5 positions: this pair is left out."
    plan = plan_of(page, planned)
    usual = replace(
        defaults("food"),
        amplitude=0.5,
        d_model=24,
        n_heads=3,
        n_layers=2,
        d_feed_forward=48,
        residual=True,
        norm=True,
        pooling="mean",
        start="own",
        vocabulary=77,
        steps=50,
        batch=16,
        threads=2,
        max_len=40,
        rate=0.01,
        schedule="constant",
        seconds=33.0,
    )
    pairs = [("learned", "naive"), ("learned", "torch"), ("t5", "naive")]
    assert list(plan.recipes) == [
        replace(usual, position=position, implementation=name, mask_padding=mask, seed=seed)
        for position, name in pairs
        for mask in (True, False)
        for seed in (1, 2)
    ]
    assert (plan.seconds, plan.timing) == (33.0, False)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("task", "sleep"),
        ("pe", "sideways"),
        ("by", "flash"),
        ("nl", "9"),
        ("keep", "perhaps"),
        ("seeds", "11"),
        ("ampl", "x"),
        ("dm", "1e9"),
        ("res", "maybe"),
        ("steps", "0"),
        ("lr", "-1"),
        ("budget", "99999"),
        ("apart", "perhaps"),
        ("cand", "nobody"),
        ("head", "layer 9 head 9"),
        ("film", "9.9.9"),
        ("temp", "-3"),
    ],
)
def test_garbage_in_a_link_is_told_and_ignored(shipped: Path, key: str, value: str) -> None:
    page = Train(**{key: value, **({"task": "repeated random words"} if key == "temp" else {})})
    assert page.notices()[0].startswith(f"The link says {key}=")
    assert page.table("accuracy")["rows"]


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ({"dm": "50", "nh": "6"}, "This cannot be trained: d_model=50 cannot be split into 6 equal heads; choose"),
        ({"seeds": "10", "pe": ["none", "learned", "rotary", "alibi", "t5"]}, "This cannot be trained: 50 runs;"),
        ({"pe": ["rotary"], "by": ["torch"]}, "Choose at least one of each: positions, implementations"),
        ({"pe": ["none"], "by": []}, ""),
    ],
)
def test_what_cannot_be_trained_is_told(shipped: Path, link: dict[str, Any], told: str) -> None:
    page = Train(**link)
    if told:
        assert any(sentence.startswith(told) for sentence in page.notices())
        assert page.off("train_start")
    assert page.table("accuracy")["rows"]


def test_a_training_from_start_to_its_answers(shipped: Path) -> None:
    page = Train(**{**TINY, "seeds": "2"}, pe=["none", "rotary"]).trained()
    rows = page.table("accuracy")["rows"]
    assert [row[0] for row in rows] == ["none", "rotary"]
    for row, group in zip(rows, (page.job.histories[:2], page.job.histories[2:]), strict=True):
        mean = sum(history.evaluations[-1].test_accuracy for history in group) / 2
        assert row[1].startswith(f"{mean:.3f} ± ")
    assert "the logits differ by at most" in page.texts()
    assert page.table("beside, without the mask")["rows"]
    assert page.table("precision")["rows"]
    assert page.notices() == []
    assert not page.off("train_start")
    assert page.off("train_stop")
    own = page.app.session_state["visit_things"].runs.values()
    assert len(own) == 4
    assert [len(saved.pack(run.folder)) > 1000 for run in own] == [True] * 4
    # another page and back: everything is still there
    page.app.switch_page("../../explore/page.py").run()
    assert not page.app.exception
    page.app.switch_page("../../train/page.py").run()
    assert page.table("accuracy")["rows"] == rows


def test_the_time_of_an_epoch_is_measured(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Train(**{**TINY, "ratio": "true"}, pe=["none"]).trained()
    assert [row[0] for row in page.table("× torch")["rows"]] == ["fused", "torch"]


def test_a_language_model(shipped: Path) -> None:
    page = Train(**TINY, task="repeated random words", pe=["rotary"], more="3", nl=["1", "2"]).trained()
    assert len(page.app.get("plotly_chart")) == 4
    assert [row[0] for row in page.table("accuracy")["rows"]] == ["1 layer", "2 layers"]
    continued = page.panel("2 layers")["blocks"][0]["text"]
    assert len(continued.split(" ▸ ")[1].split()) == 3
    assert [block["name"] for block in page.blocks() if "induction" in block.get("name", "")] == [
        "1 layer: induction",
        "2 layers: induction",
    ]


def test_a_cell_of_the_confusion_matrix_lists_its_sentences(shipped: Path) -> None:
    page = Train(cand="rotary")
    matrix = next(block for block in page.blocks() if block.get("name") == "Confusion matrix")
    assert matrix["marks"] == []
    row, col = next((i, j) for i in range(10) for j in range(10) if i != j and matrix["cells"][i][j] != "0")
    page.app.session_state["judged_cell"] = (row, col)
    page.app.run()
    listed = next(block for block in page.blocks() if block["kind"] == "table" and ", taken for" in block["caption"])
    assert listed["caption"].startswith(f"{matrix['cells'][row][col]} test rows of {matrix['rows'][row]}, taken for")
    assert len(listed["rows"]) == int(matrix["cells"][row][col])


def test_stopping(shipped: Path) -> None:
    page = Train(**{**TINY, "steps": "5000"}, pe=["none"])
    job = page.start()
    assert page.off("train_start")
    wait(lambda: job.histories[0].step)
    page.app.button(key="train_stop").click().run()
    wait(lambda: job.over)
    page.app.run()
    assert "Stopped: what was learnt up to there is kept." in page.notices()
    assert not page.off("train_start")
    assert page.table("accuracy")["rows"]


def test_a_killed_worker_is_told_and_its_place_is_free(shipped: Path) -> None:
    page = Train(**{**TINY, "steps": "5000"}, pe=["none"])
    job = page.start()
    wait(lambda: job.histories[0].step)
    process = job._process
    assert process
    os.kill(process.pid, signal.SIGKILL)
    wait(lambda: job.over)
    page.app.run()
    assert page.notices()[0].startswith("The training ended early: the training process ended unexpectedly (SIGKILL)")
    assert not training.under_way()
    assert not page.off("train_start")
    assert page.start() is not job


def test_a_full_queue_is_told(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "places", Places(0, 0))
    page = Train(**TINY)
    page.app.button(key="train_start").click().run()
    assert any("try again in a minute" in sentence for sentence in page.notices())
    assert page.table("accuracy")["rows"]


def test_a_table_of_the_visitors(shipped: Path) -> None:
    page = Train(**TINY, task="your own CSV", pe=["none"])
    upload(page, "csv_file", NEWS.encode())
    assert not page.off("train_start")
    assert "Your own table. 12 rows for training, 4 for testing, 2 classes: “sport”, “tech”." in page.texts()
    page.trained()
    assert not any("other data" in sentence for sentence in page.notices())
    assert page.job.plan.data
    assert page.job.plan.data.content == NEWS.encode()
    assert page.table("precision")["rows"][0][0] == "sport"
    assert [row[0] for row in page.table("none")["rows"]][:2] == ["how are you", "you how are"]
    upload(page, "csv_file", NEWS.replace(" a", " z").encode())
    assert "The runs below were trained on other data than what is chosen now." in page.notices()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "This data cannot be used: "),
        (b"a,b\n1,2", "This data cannot be used: "),
        ("text,label\nä,ö".encode("utf-16"), "UTF-8"),
        (b"text,label\nx,one\ny,one", "This data cannot be used: "),
    ],
)
def test_a_bad_table_is_told(shipped: Path, content: bytes, told: str) -> None:
    page = Train(task="your own CSV")
    upload(page, "csv_file", content)
    assert any(told in sentence for sentence in page.notices())
    assert page.off("train_start")
    upload(page, "csv_file", NEWS.encode())
    assert page.notices() == []
    assert not page.off("train_start")


@pytest.mark.parametrize("choice", POST_CHOICES[1:])
def test_the_long_posts_experiment(shipped: Path, planned: list[Plan], choice: str) -> None:
    page = Train(task="your own CSV", post=choice, seeds="1")
    upload(page, "csv_file", (NEWS + "\nsport a,sport").encode())
    plan = plan_of(page, planned)
    as_posted = choice == POST_CHOICES[1]
    assert plan.data
    assert plan.data.keep_duplicates is as_posted
    kinds = [(recipe.implementation, recipe.position, recipe.amplitude) for recipe in plan.recipes]
    assert kinds[:4] == [
        ("torch", "none", 1),
        ("naive", "none", 1),
        ("efficient", "none", 1),
        ("efficient", "sinusoidal", 1),
    ]
    assert {recipe.mask_padding for recipe in plan.recipes} == {not as_posted}
    assert {recipe.start for recipe in plan.recipes} == {"own" if as_posted else "shared"}
    assert {recipe.max_len for recipe in plan.recipes} == {512}


def test_the_hub_is_asked_only_when_a_button_says_so(
    shipped: Path, planned: list[Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def from_hub() -> Labelled:
        asked.append(True)
        return tasks.from_csv(NEWS.encode(), name="news")

    monkeypatch.setattr(tasks, "from_hub", from_hub)
    page = Train(task="BBC news", seeds="1", pe=["none"])
    assert not asked
    assert page.off("train_start")
    page.app.button(key="hub").click().run()
    plan = plan_of(page, planned)
    assert plan.data == Data("hub")
    assert plan.recipes[0].task == "news"
    assert plan.recipes[0].evaluations == 10
    page.app.run()
    assert asked == [True]


def test_a_server_for_others_does_not_ask_the_hub(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    option = st.get_option
    monkeypatch.setattr(st, "get_option", lambda name: "0.0.0.0" if name == "server.address" else option(name))
    page = Train(task="BBC news", seeds="1", pe=["none"])
    assert page.app.button(key="hub").disabled


def test_a_text_of_the_visitors(shipped: Path) -> None:
    page = Train(**TINY, task="your own text", pe=["rotary"], nl=["1"])
    page.app.text_area(key="pasted").set_value("too short").run()
    assert page.notices()[0].startswith("This data cannot be used: ")
    page.app.text_area(key="pasted").set_value("the cat sat on the mat. " * 40).run()
    page.trained()
    assert page.table("accuracy")["rows"]


def test_a_saved_run_is_opened_and_a_bad_one_is_told(shipped: Path) -> None:
    page = Train()
    upload(page, "run_file", b"PK no zip", "application/zip")
    assert page.notices()[-1].startswith("This run cannot be opened: ")
    assert [row[0] for row in page.table("accuracy")["rows"]] == ["none", "rotary"]
    upload(page, "run_file", saved.pack(shipped / "food-learned-1"), "application/zip")
    assert page.notices()[-1].startswith("Opened: Food review: learned")
    assert page.app.selectbox(key="task").value == "food review"
    assert [row[0] for row in page.table("accuracy")["rows"]] == ["learned", "learned (file)"]


def test_a_saved_run_of_an_unknown_task_is_told(shipped: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "run"
    shutil.copytree(shipped / "food-learned-1", foreign)
    record = (foreign / saved.RUN).read_text()
    assert '"task":"food"' in record
    (foreign / saved.RUN).write_text(record.replace('"task":"food"', '"task":"nosuch"'))
    page = Train()
    upload(page, "run_file", saved.pack(foreign), "application/zip")
    assert page.notices()[-1].startswith("This run cannot be opened: there is no task 'nosuch' here.")
    assert visitor.own_runs() == {}


@pytest.mark.parametrize(
    ("task", "content"), [("your own CSV", NEWS), ("your own text", "the cat sat on the mat. " * 40)]
)
def test_a_run_is_asked_without_the_data_that_it_was_trained_on(shipped: Path, task: str, content: str) -> None:
    first = Train(**TINY, task=task, pe=["rotary"], nl=["1"])
    if task == "your own text":
        first.app.text_area(key="pasted").set_value(content).run()
    else:
        upload(first, "csv_file", content.encode())
    folder = first.trained().job.saved[0]
    assert folder
    page = Train()
    upload(page, "run_file", saved.pack(folder), "application/zip")
    assert page.app.selectbox(key="task").value == task
    assert [row[0] for row in page.table("accuracy")["rows"]] == ["rotary"]
    if task == "your own text":
        assert " ▸ " in page.panel("rotary")["blocks"][0]["text"]
    else:
        assert page.table("rotary")["rows"]
    assert not [said for said in page.notices() if "Opened" not in said and "vocabulary" not in said]


def test_a_training_of_another_task_goes_on(shipped: Path) -> None:
    page = Train(**{**TINY, "steps": "5000"}, pe=["none"])
    job = page.start()
    page.app.selectbox(key="task").set_value("food review").run()
    assert "Your training of who did what goes on; choose that task to watch it." in page.notices()
    assert [row[0] for row in page.table("accuracy")["rows"]] == ["learned"]
    assert page.off("train_start")
    page.app.button(key="train_stop").click().run()
    wait(lambda: job.over)
    page.app.run()
    assert not page.off("train_start")


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
