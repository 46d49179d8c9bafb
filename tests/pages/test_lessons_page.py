"""What the browser gets of the course, and the page with all lessons."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headlight.lessons import message
from headlight.lessons.course import VARIABLE, course
from headlight.lessons.verdict import verdict
from headlight.picture.query import Query
from headlight.ui import pages
from mha_core.errors import HeadlightError

from .conftest import app_at, payloads

FIELDS = {"path", "query", "picture", "instruction", "question", "choices", "hidden", "teacher_notes", "second"}


def test_the_browser_gets_the_texts_and_not_the_answers() -> None:
    told = json.loads(message.course(b""))["lessons"]
    assert [lesson["id"] for lesson in told] == list(course().lessons)
    for lesson, own in zip(told, course().lessons.values(), strict=True):
        assert (lesson["title"], lesson["exercise"], lesson["minutes"]) == (own.title, own.exercise, own.minutes)
        for step, meant in zip(lesson["steps"], own.steps, strict=True):
            assert (step["question"], step["path"], step["query"]) == (
                meant.question,
                pages.path(meant.page),
                meant.query,
            )
            assert step["choices"] == [{"letter": one.letter, "text": one.text} for one in meant.choices]
            assert step["hidden"] == [{"part": one.part, "words": list(one.words)} for one in meant.hidden]
            assert set(step) == FIELDS  # no because
            assert set(step["second"] or {}) <= set(step) - {"teacher_notes", "second"}
    assert "<" not in message.as_json(), "it stands in a page"
    with pytest.raises(HeadlightError):
        message.course(b"learn=it.1")


def test_the_verdict_is_on_what_the_query_shows() -> None:
    step = course().lessons["it"].steps[0]
    found = json.loads(message.step_verdict(f"{step.query}&learn=it.1".encode()))
    own = verdict(step, Query(step.query.encode()))
    numbers = json.loads(json.dumps(own.numbers))
    assert found == {"picked": "B", "numbers": numbers, "sentence": own.sentence, "explanation": step.explanation}
    other = json.loads(message.step_verdict(b"at=3.1.2&s=how+are+you&learn=it.1"))
    assert (other["picked"], other["explanation"]) == (None, "")
    for learn in ("", "it.99", "nowhere.1"):
        with pytest.raises(HeadlightError, match="no step"):
            message.step_verdict(f"learn={learn}".encode())


def test_a_broken_lesson_is_named_and_the_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "90-mine.toml").write_text('version = 2\ntitle = "Mine?"\nobjective = 3\n', "utf-8")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    app = app_at("lessons").run()
    assert not app.exception
    assert "90-mine.toml, line" in payloads(app)
    cards = payloads(app)
    assert all(json.dumps(name) in cards for name, one in course().lessons.items() if not one.claims)
