"""Lesson files: a teacher's own folder, the example of the docs, and mistakes, each named with file and line."""

from __future__ import annotations

import logging
import os
import random
import re
import tomllib
from pathlib import Path

import pytest

from headlight.lessons import course, reading
from headlight.lessons.schema import Curtain
from headlight.lessons.variants import holding_options, variant_scene
from headlight.lessons.verdict import verdict
from headlight.picture.query import Query

from .numbers_shown import assert_shows

DOCS = Path(__file__).parents[2] / "docs" / "lessons.md"
BLOCK = re.search(r"```toml\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
assert BLOCK is not None
EXAMPLE = BLOCK[1]
LINES = EXAMPLE.splitlines()


def line(start: str) -> int:
    """The line of the example that begins like this, from 1."""
    return next(at for at, text in enumerate(LINES, 1) if text.strip().startswith(start))


def wrong(text: str, name: str = "90-back.toml") -> str:
    """The sentence about a file that cannot be used."""
    with pytest.raises(reading.LessonError) as error:
        reading.read(name, text)
    said = str(error.value)
    assert "\n" not in said
    return said


def test_the_example_of_the_docs_is_a_lesson() -> None:
    lesson = reading.read("90-back.toml", EXAMPLE)
    assert (lesson.id, lesson.minutes, lesson.audiences) == ("back", 3, ("students",))
    (step,) = lesson.steps
    assert (step.page, step.query) == ("explore", "s=how+are+you&at=0.2")
    assert (step.picture, step.curtain) == ("map", (Curtain("map"), Curtain("numbers")))
    assert step.because.startswith("It puts nearly all")
    found = verdict(step, Query(step.query.encode()))
    assert found.picked == step.right == "B"
    assert_shows(found.numbers[0][2], found.numbers[0][1])
    assert [holding_options(step, variant)[0] for variant in step.variants] == [["B"]] * len(step.variants)
    assert variant_scene(step.page, step.query, "are → were").query["s"] == "how were you"


def test_a_mistake_is_one_sentence_with_file_and_line() -> None:
    for old, new, at, why in (
        ('title = "Which head looks one word back?"', "", 1, "the lesson lacks the field “title”"),
        ("minutes = 3", 'minutes = "3"', "minutes", "“minutes” is a whole number"),
        ('audiences = ["students"]', 'audiences = ["cats"]', "audiences", "not “cats”"),
        ("minutes = 3", "minutes = 3\ncolour = 1", line("minutes") + 1, "there is no field “colour”"),
        ('aim = "Find', 'aim = "<script>alert(1)</script> Find', "aim", "“aim” contains markup or a script"),
        ('say = "Look', f'say = "{"x" * 901} Look', "say", "may have 900 characters"),
        ('ask = "Where does each word look?"', "", "[[steps]]", "step 1 lacks the field “ask”"),
        ('link = "/?s', 'link = "/nowhere?s', "link", "there is no page “/nowhere”"),
        ("&at=0.2", "&at=9.2", "link", "this model has no head “9.2”"),
        ("&at=0.2", "&head_count=7", "link", "a link has no key “head_count”"),
        ("mean(diag(W[0,2], 0)) > .5", "mean(diag(Z, 0)) > .5", '{ text = "At itself', "“Z” is neither a quantity"),
        ('right = "B"', 'right = "C"', "right", "“right” is one of A, B"),
        ('picture = "map"', 'picture = "two maps"', "picture", "Explore has no picture “two maps”; it has “map”,"),
        ('"map", "numbers"', '"map", "nothing"', "curtain", "not “nothing”"),
        ('"are → were"', '"is → was"', "variants", "“is” is not in the sentence"),
        ("minutes = 3", "minutes = three", "minutes", "this is not TOML"),
    ):
        assert old in EXAMPLE, new
        said = wrong(EXAMPLE.replace(old, new, 1))
        assert said.startswith(f"90-back.toml, line {line(at) if isinstance(at, str) else at}: "), new
        assert why in said, new


def test_a_mistake_in_a_claim_is_one_sentence_too() -> None:
    claims = (course.CLAIMS / "1-words-and-heads.toml").read_text("utf-8")
    for old, new, why in (
        (
            'claim = "orange"\n',
            'claim = "Orange?"\n',
            "a name consists of lower-case letters",
        ),
        ("$heads / 6", "$luck / 6", "there is no number “$luck” before this rule"),
        ("$heads / 6", "$heads / 6" + " + $heads" * 40, "200 parts"),
        ("{found}", "{lost}", "names the number “lost”; there are heads, found, "),
        ('  "$luck < .01",\n  "$luck < .01 and 2 * $found >= $heads",\n', "", "“cases” has 1 to 8 entries, not 0"),
        ("numbers = [", 'right = "B"\nnumbers = [', "a claim has “cases”, and neither “options” nor “right”"),
        ("cases = [", "caces = [", "there is no field “caces”; did you mean “cases”? There are ask, because, cases, "),
    ):
        assert old in claims, new
        said = wrong(claims.replace(old, new, 1))
        assert re.match(r"90-back\.toml, line \d+: ", said), new
        assert why in said, new


def test_the_line_is_that_of_the_right_step_and_name_and_length_are_bounded() -> None:
    second = EXAMPLE[EXAMPLE.index("[[steps]]") :].replace('right = "B"', 'right = "D"')
    said = wrong(EXAMPLE + "\n" + second)
    assert said.startswith(f"90-back.toml, line {len(LINES) + 1 + line('right') - line('[[steps]]') + 1}: ")
    for name in ("Back.toml", "../back.toml"):
        assert "has a name like “01-it.toml”" in wrong(EXAMPLE, name), name
    assert "200,000 characters" in wrong(EXAMPLE + "#" * 200_000)


NAMES = ".".join("a" * 60_000)  # `tomllib` would take a minute over such a key
HOSTILE = [
    (f"{NAMES}=1", 1, "at most 8 names in one key"),
    (f"title = 'a'\n[{NAMES}]", 2, "at most 8 names in one key"),
    (f'a = {{ x = """ y """", {NAMES} = 1 }}', 1, "at most 8 names in one key"),
    ("a = " + "[" * 5_000 + "]" * 5_000, 1, "at most 8 nested tables and lists"),
    ("\n".join(f"a{n} = 1" for n in range(9_000)), 2_001, "at most 2,000 keys and lists in a lesson"),
    ("title = 'a'\nminutes = " + "9" * 5_000, 2, "at most 100 digits in a number"),
]


def test_keys_and_nesting_are_bounded_before_toml_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tomllib, "loads", lambda _: pytest.fail("it must not come so far"))
    for text, at, why in HOSTILE:
        said = wrong(text)
        assert said.startswith(f"90-back.toml, line {at}: "), text
        assert why in said, text


def test_whatever_a_file_holds_only_a_lessons_error_comes() -> None:
    """The example with characters that are changed, left out or doubled: a lesson, or one sentence with its line."""
    draw, said = random.Random(0), list[str]()
    for _ in range(400):
        text = list(EXAMPLE)
        for _ in range(draw.randrange(1, 4)):
            at = draw.randrange(len(text))
            text[at] = draw.choice(["", text[at] * 2, draw.choice("[]{}\"'=<>#&,.0aé\n\x00")])
        try:
            reading.read("90-back.toml", "".join(text))
        except reading.LessonError as error:
            said.append(str(error))
    assert 0 < len(said) < 400
    assert [one for one in said if not re.fullmatch(r"90-back\.toml, line \d+: [^\n]+", one)] == []


def test_own_lessons_stand_behind_ours_and_a_broken_one_harms_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(course.VARIABLE, "")  # put back at the end, whatever `begin` makes of it
    (tmp_path / "90-back.toml").write_text(EXAMPLE, "utf-8")
    (tmp_path / "92-broken.toml").write_text(EXAMPLE.replace('right = "B"', 'right = "D"'), "utf-8")
    (tmp_path / "93-latin.toml").write_bytes(b'title = "caf\xe9"')
    ours, claims = (course.read_folders((folder,)).lessons for folder in (course.SHIPPED, course.CLAIMS))
    with caplog.at_level(logging.WARNING):
        found = course.load_at_startup(["--server.port", "1", "--lessons", str(tmp_path)])
    assert (os.environ[course.VARIABLE], [*found.lessons]) == (str(tmp_path.resolve()), [*ours, "back", *claims])
    assert found.errors == (
        f"92-broken.toml, line {line('right')}: “right” is one of A, B.",
        "93-latin.toml, line 1: this file cannot be read as UTF-8.",
    )
    assert [record.getMessage() for record in caplog.records] == [f"Lessons: {error}" for error in found.errors]
    found = course.load_at_startup([f"--lessons={tmp_path / 'none'}"])
    assert found.errors == (f"There is no folder of lessons “{tmp_path / 'none'}”.",)


def test_a_link_names_a_step() -> None:
    found = course.read_folders((course.SHIPPED,))
    lesson = found.lessons["it"]
    assert found.find("it.2") == (lesson, lesson.steps[1], 2)
    again = found.find("it.1.2")
    assert again
    assert again[1].options[1].text == "On “cat”", "the second question of the same idea"
    for learn in ("", "it", "it.0", "it.9", "it.-1", "it.2.1", "other.1", "IT.1", "it.٢"):
        assert found.find(learn) is None
    assert (found.path(5, "adults"), found.path(45, "adults")["explanation"][:2]) == ({"it": (1, 2, 3, 4)}, (1, 2))
    assert found.path(45, "cats") == {}
