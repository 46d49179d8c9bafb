"""The Train page on data that the visitor brings: tables, texts, the hub, saved runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import streamlit as st

from mha_core.training import saved, tasks
from mha_core.training.tasks import Labelled
from pages.kit.jobs import visitor
from pages.kit.jobs.training import Data, Plan
from pages.train.grid import POST_CHOICES

from .train_app import TINY, Train, no_job_stays, plan_of, planned, upload

__all__ = ["no_job_stays", "planned"]

NEWS = "\n".join(["text,label", *(f"{word} {other},{word}" for word in ("sport", "tech") for other in "abcdefgh")])


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


def test_a_bad_table_is_told(shipped: Path) -> None:
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
    if task == "your own text":
        assert " ▸ " in page.panel("rotary")["blocks"][0]["text"]
    else:
        assert page.table("rotary")["rows"]
    assert not [said for said in page.notices() if "Opened" not in said and "vocabulary" not in said]
