"""The Train page on data that the visitor brings: tables, texts, the hub, saved runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import streamlit as st
import torch

from mha_core.pretrained.recordings import Group, Recording
from mha_core.training import plan_time, saved, tasks
from mha_core.training.tasks import Labelled
from pages.kit.jobs import visitor
from pages.kit.jobs.training import TrainingData, TrainingPlan
from pages.kit.picture import recordings
from pages.kit.server.public import NO_FILES, VARIABLE
from pages.train import ask_section, task_words, uploads
from pages.train.runs import POST_CHOICES, Runs

from .train_app import NEWS, TINY, Train, plan_of, upload


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


def test_a_plan_says_how_long_it_takes_and_offers_what_fits(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_time, "READING", 0.0)
    monkeypatch.setattr(plan_time, "run_seconds", lambda recipe, *_: 0.5 * recipe.steps)
    page = Train(task="your own CSV", pe=["none"], seeds="3", steps="100", budget="120")
    upload(page, "csv_file", NEWS.encode())
    assert page.progress() == "3 short trainings (1 × 3 seeds) of 100 steps: about 150 s here (limit 120 s)"
    offer = page.app.button(key="what_fits")
    assert offer.label == "What fits into 120 s: 2 seeds"
    offer.click().run()
    assert page.progress().startswith("2 short trainings (1 × 2 seeds) of 100 steps: about 100 s here")
    page.app.number_input(key="steps").set_value(400).run()
    offer = page.app.button(key="what_fits")
    assert offer.label == "What fits into 120 s: 1 seed, 216 steps"
    offer.click().run()
    assert page.progress().startswith("1 short training of 216 steps: about 108 s here")
    assert not [button for button in page.app.button if button.key == "what_fits"]
