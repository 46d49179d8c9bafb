"""The Train page: its controls, a training from the queue to its end, and data that the visitor brings."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
import torch

from mha_core import Model, load_model
from mha_core.pretrained.recordings import Group, Recording
from mha_core.training import inference, saved, tasks
from mha_core.training.recipe import defaults
from mha_core.training.tasks import Labelled
from pages.kit.jobs import job, training, visitor
from pages.kit.jobs.record import Record
from pages.kit.jobs.training import TrainingData, TrainingPlan
from pages.kit.picture import recordings, sharing
from pages.kit.server.public import NO_FILES, VARIABLE
from pages.kit.server.queue import Turn, Work
from pages.kit.server.visits import Visitor
from pages.train import ask_section, recipe_controls, task_words, uploads
from pages.train.page import OWN_RUNS
from pages.train.recipe_controls import LANGUAGE, TASKS
from pages.train.runs import POST_CHOICES, Runs
from tests.closeness import quoted

from .conftest import go_to
from .train_app import NEWS, TINY, Train, plan_of, upload
from .waiting import Clock, of_jobs, wait
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
    assert page.job.record.timing, (page.job.record.done, page.job.error, page.job.elapsed)
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


# ---- while it follows a training


WARNING = "cuda:0 is out of memory; this was computed on the CPU."


@pytest.fixture
def learning(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A training has looked at its test rows at once, and ends when it is stopped or its time is up."""
    stand_in(monkeypatch, learns())


@pytest.mark.usefixtures("learning")
def test_the_page_follows_a_training_from_the_queue_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    queue, other = of_jobs(monkeypatch, Work.TRAINING), Turn(Visitor("", "other"), Work.TRAINING, 150)
    queue.ask(other)
    fragment, polls = st.fragment, []

    def noted(of: Any, **how: Any) -> Any:
        polls.append(how.get("run_every"))
        return fragment(of, **how)

    monkeypatch.setattr(st, "fragment", noted)
    page = Train(**ONE)
    assert polls == [None, None]  # the bar, and the curves
    assert not [toggle for toggle in page.app.toggle if toggle.key == "hides_ghosts"]
    assert OWN_RUNS not in page.texts()
    # it waits, and is polled slowly
    job = page.start()
    assert page.progress() == "Waiting: 1 training comes first, at most 3 min"
    assert polls[-2:] == [2, None]  # the axes stand there already
    # it has looked at the test rows, and has a warning
    queue.leave(other)
    wait(lambda: job.record.looked)
    job.record.take({"told": WARNING})
    page.app.run()
    assert page.progress().startswith("step ")
    assert polls[-2:] == [0.5, None]
    assert page.notices() == [WARNING]
    assert OWN_RUNS in page.texts()
    # the earlier curves are hidden
    toggle = page.app.toggle(key="hides_ghosts")
    assert toggle.label == "Hide the grey curves from before: none, rotary (trained in advance)"
    assert '"before"' in page.app.get("plotly_chart")[0].proto.spec
    toggle.set_value(True).run()
    assert '"before"' not in page.app.get("plotly_chart")[0].proto.spec
    # beside another task its bar alone copies no history
    with monkeypatch.context() as patched:
        patched.setattr(Record, "history", never)
        page.app.selectbox(key="task").set_value("food review").run()
        assert page.progress().startswith("step ")
        assert page.table("accuracy")["rows"]
    page.app.selectbox(key="task").set_value("who did what").run()
    # it is stopped; of the next one the earlier curves are hidden too
    job.stop()
    page.over()
    assert polls[-2:] == [None, None]
    assert page.progress().startswith("stopped after ")
    page.looked()
    assert page.app.toggle(key="hides_ghosts").value


def never(*_: Any, **__: Any) -> None:
    raise AssertionError


def test_the_page_asks_nothing_twice(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Train(tab="Ask")
    told = page.blocks()
    monkeypatch.setattr(inference, "logits", never)
    monkeypatch.setattr(Model, "run", never)
    page.app.run()
    assert page.blocks() == told
    page.app.toggle(key="apart").set_value(True).run()
    assert not page.app.exception


@pytest.mark.usefixtures("learning")
def test_a_training_that_had_its_share_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    queue = of_jobs(monkeypatch, Work.TRAINING, clock)
    page = Train(**{**ONE, "budget": "600"})
    job = page.start()
    wait(lambda: job.record.step)
    queue.ask(Turn(Visitor("", "other"), Work.TRAINING, 150))
    clock.now += training.SHARED_SECONDS + 1
    page.over()
    (said,) = page.notices()
    assert said == "Ended after 181 s because others were waiting; what was learnt so far is kept."
    assert page.table("accuracy")["rows"]


def test_a_folder_that_cannot_be_written_is_reported(shipped: Path) -> None:
    def read_only(*_: Any, **__: Any) -> str:
        raise OSError(errno.EROFS, "Read-only file system")

    why = "nothing can be kept on this server, because its temporary folder cannot be written (Read-only file system)."
    for has_a_folder in (False, True):
        page = Train(**TINY)
        with pytest.MonkeyPatch.context() as patched:
            if has_a_folder:
                upload(page, "run_file", saved.pack(shipped / "who-none-1"), "application/zip")
                patched.setattr(Path, "mkdir", read_only)
            else:
                patched.setattr(tempfile, "mkdtemp", read_only)
            page.app.button(key="train_start").click().run()
            assert f"This cannot be trained now: {why}" in page.notices()
            upload(page, "run_file", saved.pack(shipped / "who-rotary-1"), "application/zip")
            assert f"This run cannot be opened: {why} What was trained before is still there." in page.notices()
            assert page.table("accuracy")["rows"]


def test_data_that_stayed_are_read_once(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Train(task="your own CSV", pe=["none"])
    upload(page, "csv_file", NEWS.encode())
    told = page.texts()
    assert "Your own table." in told
    from_csv, read = tasks.from_csv, []

    def noted(*args: Any, **kwargs: Any) -> Labelled:
        read.append(True)
        return from_csv(*args, **kwargs)

    monkeypatch.setattr(tasks, "from_csv", noted)
    page.app.run()
    assert page.texts() == told
    assert not read
    page.app.toggle(key="dups").set_value(True).run()
    assert read == [True]


@pytest.mark.usefixtures("learning")
def test_a_look_between_page_and_bar_draws_the_page_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look at the test rows may come at any moment; the page never stays without its curves."""
    page = Train(**ONE)
    calls: list[bool] = []
    histories = Record.histories.fget  # type: ignore[attr-defined]

    def late(record: Record) -> Any:
        before = histories(record)
        if not calls:
            calls.append(True)
            wait(lambda: record.looked)
        return before

    monkeypatch.setattr(Record, "histories", property(late))
    page.start()
    assert calls
    assert page.table("accuracy")["rows"]


def test_a_training_whose_time_is_up_says_so_at_its_bar(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, learns(time_is_up=True))
    page = Train(**ONE).trained()
    assert re.fullmatch(r"stopped after \d+ s: its time was up; step 1 of 8", page.progress()), page.progress()


# ---- where the GPU is full, and the CPU takes over


def test_auto_stays_auto_where_it_can_fall_back(
    shipped: Path, planned: list[TrainingPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    for present, device in (("cuda", "auto"), ("cpu", "cpu")):
        monkeypatch.setattr(recipe_controls, "devices", SimpleNamespace(pick=lambda _, at=present: torch.device(at)))
        plan = plan_of(Train(**ONE), planned)
        assert {recipe.device for recipe in plan.recipes} == {device}


def test_answers_say_so_once_and_again_when_they_are_kept(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Model, "compute", lambda self, call: (call(self.encoder), (WARNING,)))
    for task in ("who did what", "repeated random words"):
        sharing.forget()
        page = Train(task=task, tab="Ask")
        for _ in range(2):
            assert page.notices() == [WARNING], task
            page.app.run()
        assert Train(task=task).notices() == []  # nothing is asked in the other tabs


@pytest.mark.thorough("Every test row is asked; answers say the same of a few texts.")
def test_every_prediction_says_so(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Model, "compute", lambda self, call: (call(self.encoder), (WARNING,)))
    sharing.forget()
    assert Train(tab="Report", only="typed sentences").texts().count(WARNING) == 1


# ---- data that the visitor brings


def test_a_table_of_the_visitors(shipped: Path) -> None:
    page = Train(**TINY, task="your own CSV", pe=["none"])
    assert page.off("train_start")
    assert "There is no data to train on yet" in page.texts()
    upload(page, "csv_file", NEWS.encode())
    assert not page.off("train_start")
    assert "Your own table. 12 rows for training, 4 for testing, 2 classes: “sport”, “tech”." in page.texts()
    page.trained()
    assert not any("other data" in sentence for sentence in page.notices())
    assert page.job.plan.data
    assert page.job.plan.data.content == NEWS.encode()
    assert page.open("Report").table("precision")["rows"][0][0] == "sport"
    task = tasks.from_csv(NEWS.encode())
    assert isinstance(task, Labelled)
    asked = [row[0] for row in page.open("Ask").table("none")["rows"]]
    assert asked[:2] == list(task.questions)
    assert set(asked) >= {text for text, _ in task_words.rows(task)}
    upload(page, "csv_file", NEWS.replace(" a", " z").encode())
    assert "The runs below were trained on other data than the chosen one." in page.notices()


def test_of_a_table_in_english_the_posts_sentences_are_asked_first() -> None:
    """Its own rows may be articles, whose maps have a thousand times as many cells."""
    long = "and how are you today, said the man who can do that before you know it. " * 20
    lines = [f'"{word} {other}: {long}",{word}' for word in ("sport", "tech") for other in "abcdefgh"]
    asked = ask_section.Questions(Runs(), tasks.from_csv("\n".join(["text,label", *lines]).encode()))
    assert (asked.typed(0), asked.typed(1), asked.texts[2]) == ("how are you", "you how are", "can you can that")
    assert len(asked.texts) > 3


def test_a_bad_table_is_reported_and_columns_of_other_names_are_guessed(shipped: Path) -> None:
    page = Train(task="your own CSV")
    for content, sentence in (
        (b"", "This data cannot be used: "),
        ("text,label\nä,ö".encode("utf-16"), "UTF-8"),
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
    assert not page.off("train_start")
    page.app.text_input(key="lc").set_value("Thema").run()
    assert any("no column 'Thema'; its columns are 'Meldung', 'Rubrik'" in notice for notice in page.notices())


def test_a_text_is_there_until_the_visitor_brings_one(shipped: Path, planned: list[TrainingPlan]) -> None:
    page = Train(task="your own text", seeds="1", cut="96", pe=["rotary"])
    assert "Shakespeare’s Coriolanus, acts I to IV, in the public domain" in page.texts()
    assert "Which character comes next in the text?" in page.texts()
    plan = plan_of(page, planned)
    assert plan.data == TrainingData("text", uploads.shakespeare())
    assert [recipe.max_len for recipe in plan.recipes] == [96]
    own = "the cat sat on the mat. " * 40
    page.app.text_area(key="pasted").set_value(own).run()
    assert "Shakespeare" not in page.texts()
    assert plan_of(page, planned).data == TrainingData("text", own.encode())
    page.app.text_area(key="pasted").set_value("").run()
    assert plan_of(page, planned).data == TrainingData("text", uploads.shakespeare())
    page = Train(task="your own text", seeds="1", cut="512", pe=["rotary"])
    assert "This data cannot be used: a context of 512 characters; choose 16 to 256." in page.notices()
    assert page.off("train_start")


def test_the_experiment_of_the_long_post(shipped: Path, planned: list[TrainingPlan]) -> None:
    for choice in POST_CHOICES[1:]:
        page = Train(task="your own CSV", post=choice, seeds="1")
        upload(page, "csv_file", (NEWS + "\nsport a,sport").encode())
        plan, as_posted = plan_of(page, planned), choice == POST_CHOICES[1]
        assert plan.data
        assert plan.data.keep_duplicates is as_posted
        kinds = [(recipe.implementation, recipe.position, recipe.amplitude) for recipe in plan.recipes]
        none = [(name, "none", 1) for name in ("torch", "naive", "efficient")]
        assert kinds[:4] == [*none, ("efficient", "sinusoidal", 1)]
        assert {recipe.mask_padding for recipe in plan.recipes} == {not as_posted}
        assert {recipe.start for recipe in plan.recipes} == {"own" if as_posted else "shared"}
        assert {recipe.vocabulary_of for recipe in plan.recipes} == {"all texts" if as_posted else "training rows"}
        assert {recipe.max_len for recipe in plan.recipes} == {512}


def test_the_hub_is_asked_only_when_a_button_says_so(
    shipped: Path, planned: list[TrainingPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def from_hub() -> Labelled:
        asked.append(True)
        return tasks.from_csv(NEWS.encode(), name="news")

    monkeypatch.setattr(tasks, "can_ask_hub", lambda: False)
    assert not [button for button in Train(task="BBC news").app.button if button.key == "hub"]
    monkeypatch.setattr(tasks, "can_ask_hub", lambda: True)
    monkeypatch.setattr(tasks, "from_hub", from_hub)
    page = Train(task="BBC news", seeds="1", pe=["none"])
    assert not asked
    assert page.off("train_start")
    page.app.button(key="hub").click().run()
    plan = plan_of(page, planned)
    assert plan.data == TrainingData("hub")
    assert plan.recipes[0].task == "news"
    assert plan.recipes[0].evaluations == 10
    page.app.run()
    assert asked == [True]


def test_a_server_for_others_does_not_ask_the_hub_and_a_public_one_takes_no_files(
    shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    option = st.get_option
    monkeypatch.setattr(tasks, "can_ask_hub", lambda: True)
    with monkeypatch.context() as patched:
        patched.setattr(st, "get_option", lambda name: "0.0.0.0" if name == "server.address" else option(name))
        assert Train(task="BBC news", seeds="1", pe=["none"]).app.button(key="hub").disabled
    monkeypatch.setenv(VARIABLE, "1")
    page = Train(task="BBC news", seeds="1", pe=["none"])
    assert page.app.button(key="hub").disabled
    assert not page.app.file_uploader
    assert [caption.value for caption in page.app.caption].count(NO_FILES) == 2  # a table, a saved run


def test_a_saved_run_is_opened_and_a_bad_one_is_reported(shipped: Path) -> None:
    page = Train()
    upload(page, "run_file", b"PK no zip", "application/zip")
    assert page.notices()[-1].startswith("This run cannot be opened: ")
    assert [row[0] for row in page.table("accuracy")["rows"]] == ["none", "rotary"]
    upload(page, "run_file", saved.pack(shipped / "food-learned-1"), "application/zip")
    assert page.notices()[-1].startswith("Opened: Food review: learned")
    assert page.app.selectbox(key="task").value == "food review"
    assert [row[0] for row in page.table("accuracy")["rows"]] == ["learned", "learned (file)"]
    upload(page, "run_file", b"no recording", "application/safetensors")
    assert page.notices()[-1].startswith("This file cannot be opened: this is not a recording of Headlight")
    for title in ("the first", "the second"):
        maps = torch.eye(3).expand(2, 1, 2, 3, 3).contiguous()
        made = Recording((Group("attn", ("attn",), ["a", "b", "c"], None, maps),), (0, 7), title)
        upload(page, "run_file", made.to_bytes(), "application/safetensors")
        assert page.notices()[-1].startswith(f"Opened: {title}. It is one of the models of the page Explore.")
    (name,) = page.app.session_state["training_visit"].data.values()  # the first one made room
    assert recordings.says(f"{recordings.PREFIX}{name}") == "1 × 2 heads, 2 steps"


def test_a_saved_run_of_an_unknown_task_is_refused(shipped: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "run"
    shutil.copytree(shipped / "food-learned-1", foreign)
    record = (foreign / saved.RUN).read_text()
    assert '"task":"food"' in record
    (foreign / saved.RUN).write_text(record.replace('"task":"food"', '"task":"nosuch"'))
    page = Train()
    upload(page, "run_file", saved.pack(foreign), "application/zip")
    assert page.notices()[-1].startswith("This run cannot be opened: there is no task 'nosuch' here.")
    assert visitor.own_runs() == {}


@pytest.mark.thorough("Two models are trained, which takes seconds.")
def test_a_run_is_asked_without_the_data_that_it_was_trained_on(shipped: Path) -> None:
    for task, content in (("your own CSV", NEWS), ("your own text", "the cat sat on the mat. " * 40)):
        first, is_text = Train(**TINY, task=task, pe=["rotary"], nl=["1"]), task == "your own text"
        if is_text:
            first.app.text_area(key="pasted").set_value("too short").run()
            assert first.notices()[0].startswith("This data cannot be used: ")
            first.app.text_area(key="pasted").set_value(content).run()
        else:
            upload(first, "csv_file", content.encode())
        folder = first.trained().job.record.saved[0]
        assert folder
        assert first.table("accuracy")["rows"]
        page = Train()
        upload(page, "run_file", saved.pack(folder), "application/zip")
        assert page.app.selectbox(key="task").value == task
        assert [row[0] for row in page.table("accuracy")["rows"]] == ["rotary"]
        page.open("Ask")
        if is_text:
            (continued,) = page.panel("rotary")["blocks"]
            assert continued["given"]
            assert continued["tokens"]
        else:
            assert page.table("rotary")["rows"]
        usual = ("Opened", "vocabulary", *(["on other data"] if is_text else []))  # Shakespeare is there
        assert not [notice for notice in page.notices() if not any(word in notice for word in usual)]
