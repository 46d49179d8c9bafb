"""Lesson files: a teacher's own folder, the example of the docs, and mistakes, each named with file and line."""

from __future__ import annotations

import logging
import os
import random
import re
import tomllib
from pathlib import Path

import pytest

from headlight.lessons import course, reading, upgrade
from headlight.lessons.schema import HiddenPart, Lesson
from headlight.lessons.variants import variant_scene
from headlight.lessons.verdict import verdict
from headlight.picture.query import Query

from .lesson_variants import holding_choices
from .numbers_shown import assert_shows

DOCS = Path(__file__).parents[2] / "docs" / "lessons.md"
BLOCK = re.search(r"```toml\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
assert BLOCK is not None
EXAMPLE = BLOCK[1]
OLD = Path(__file__).parent / "lesson-version-1.toml"  # a bundled lesson of version 1
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


def read_old() -> tuple[Lesson, str]:
    """The lesson of version 1, and its text."""
    text = OLD.read_text("utf-8")
    return reading.read(OLD.name, text), text


def keys(value: object) -> set[str]:
    """All keys of nested tables."""
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set[str]().union(*map(keys, value)) if isinstance(value, list) else set()


def test_the_example_of_the_docs_is_a_lesson() -> None:
    lesson = reading.read("90-back.toml", EXAMPLE)
    assert (lesson.id, lesson.minutes, lesson.audiences) == ("back", 3, ("students",))
    (step,) = lesson.steps
    assert (step.page, step.query) == ("explore", "s=how+are+you&at=0.2")
    assert (step.picture, step.hidden) == ("map", (HiddenPart("map"), HiddenPart("numbers")))
    assert step.explanation.startswith("It puts nearly all")
    found = verdict(step, Query(step.query.encode()))
    assert found.picked == step.answer == "B"
    assert_shows(found.numbers[0][2], found.numbers[0][1])
    assert [holding_choices(step, variant)[0] for variant in step.variants] == [["B"]] * len(step.variants)
    assert variant_scene(step.page, step.query, "are → were").query["s"] == "how were you"


def test_a_mistake_is_one_sentence_with_file_and_line() -> None:
    for old, new, at, why in (
        ('title = "Which head looks one word back?"', "", 1, "the lesson lacks the field “title”"),
        ("minutes = 3", 'minutes = "3"', "minutes", "“minutes” is a whole number"),
        ('audiences = ["students"]', 'audiences = ["cats"]', "audiences", "not “cats”"),
        ("minutes = 3", "minutes = 3\ncolour = 1", line("minutes") + 1, "there is no field “colour”"),
        (
            'objective = "Find',
            'objective = "<script>alert(1)</script> Find',
            "objective",
            "“objective” contains markup or a script",
        ),
        ('instruction = "Look', f'instruction = "{"x" * 901} Look', "instruction", "may have 900 characters"),
        ('question = "Where does each word look?"', "", "[[steps]]", "step 1 lacks the field “question”"),
        ('link = "/?s', 'link = "/nowhere?s', "link", "there is no page “/nowhere”"),
        ("&at=0.2", "&at=9.2", "link", "this model has no head “9.2”"),
        ("&at=0.2", "&head_count=7", "link", "a link has no key “head_count”"),
        ("mean(diag(W[0,2], 0)) > .5", "mean(diag(Z, 0)) > .5", '{ text = "At itself', "“Z” is neither a quantity"),
        ('answer = "B"', 'answer = "C"', "answer", "“answer” is one of A, B"),
        ('picture = "map"', 'picture = "two maps"', "picture", "Maps has no picture “two maps”; it has “map”,"),
        ('"map", "numbers"', '"map", "nothing"', "hidden", "not “nothing”"),
        ('"are → were"', '"is → was"', "variants", "“is” is not in the sentence"),
        ("minutes = 3", "minutes = three", "minutes", "this is not TOML"),
    ):
        assert old in EXAMPLE, new
        said = wrong(EXAMPLE.replace(old, new, 1))
        assert said.startswith(f"90-back.toml, line {line(at) if isinstance(at, str) else at}: "), new
        assert why in said, new


def test_a_file_of_version_1_is_read_and_its_errors_name_its_own_keys() -> None:
    lesson, old_text = read_old()
    assert lesson.objective.startswith("One number decides")
    assert [step.answer for step in lesson.steps] == [step["right"] for step in tomllib.loads(old_text)["steps"]]
    assert reading.read(OLD.name, f"version = 1\n{old_text}") == lesson
    for old, new, at, why in (
        ('right = "C"', 'right = "D"', "right", "“right” is one of A, B, C"),
        ("now_you =", "now_yu =", "now_yu", "there is no field “now_yu”; did you mean “now_you”?"),
        ('", holds = "bits(512) > 3"', '", holds = "bitz(512) > 3"', '{ text = "Nearly', "in the rule “bitz(512) > 3”"),
        ("say =", "instruction =", "instruction", "“instruction” needs “version = 2” at the top"),
        ("title =", "verison = 2\ntitle =", "verison", "did you mean “version”?"),
    ):
        text = old_text.replace(old, new, 1)
        number = next(n for n, one in enumerate(text.splitlines(), 1) if one.strip().startswith(at))
        sentence = wrong(text, OLD.name)
        assert sentence.startswith(f"{OLD.name}, line {number}: "), new
        assert why in sentence, new


def test_a_file_of_version_2_has_no_old_keys_and_other_versions_are_refused() -> None:
    for key, old in reading.OLD_KEYS.items():
        text = re.sub(rf"\b{old}\b(?= =)", key, EXAMPLE, count=1) if f"{old} = " in EXAMPLE else ""
        if text:
            assert f"the key “{key}” is “{old}” in version 2" in wrong(text), key
    for version in ("3", "0", "true", '"2"', "2.0", "[2]"):
        sentence = wrong(EXAMPLE.replace("version = 2", f"version = {version}"))
        assert sentence.startswith("90-back.toml, line 1: “version” is 2, or 1 "), version


def test_a_file_of_version_1_is_rewritten_with_the_new_keys_alone(tmp_path: Path) -> None:
    lesson, old_text = read_old()
    text = upgrade.upgrade(OLD.name, old_text)
    assert text == upgrade.upgrade(OLD.name, text)
    assert reading.read(OLD.name, text) == lesson
    assert not set(reading.OLD_KEYS) & keys(tomllib.loads(text))
    assert re.sub(r"[\w-]+(?= =)", "", text) == re.sub(r"[\w-]+(?= =)", "", f"version = 2\n{old_text}")
    odd = f"# ask = 1, “say = 2”\r\nversion = 1 # say\r\n{old_text}".replace("\naim =", "\n'aim'  =")
    odd = odd.replace("\n", "\r\n").replace("\r\r", "\r")
    rewritten = upgrade.upgrade(OLD.name, odd)
    assert rewritten.startswith("# ask = 1, “say = 2”\r\nversion = 2 # say\r\ntitle = ")
    assert "\n'objective'  =" in rewritten
    (tmp_path / "05-old.toml").write_bytes(odd.encode())
    (tmp_path / "06-wrong.toml").write_text("aim = 1\n", "utf-8")
    assert upgrade.main([str(tmp_path)]) == 1
    assert (tmp_path / "05-old.toml").read_bytes() == rewritten.encode()
    assert (tmp_path / "06-wrong.toml").read_text("utf-8") == "aim = 1\n"
    assert upgrade.main([str(tmp_path / "05-old.toml")]) == 0
    assert upgrade.main([str(tmp_path / "nothing.toml")]) == 1
    with pytest.raises(reading.LessonError, match="cannot be rewritten"):
        upgrade.upgrade(OLD.name, old_text.replace("aim =", '"a\\u0069m" ='))


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
        ("numbers = [", 'answer = "B"\nnumbers = [', "a claim has “cases”, and neither “choices” nor “answer”"),
        (
            "cases = [",
            "caces = [",
            "there is no field “caces”; did you mean “cases”? There are answer, cases, choices, ",
        ),
    ):
        assert old in claims, new
        said = wrong(claims.replace(old, new, 1))
        assert re.match(r"90-back\.toml, line \d+: ", said), new
        assert why in said, new


def test_the_line_is_that_of_the_right_step_and_name_and_length_are_bounded() -> None:
    second = EXAMPLE[EXAMPLE.index("[[steps]]") :].replace('answer = "B"', 'answer = "D"')
    said = wrong(EXAMPLE + "\n" + second)
    assert said.startswith(f"90-back.toml, line {len(LINES) + 1 + line('answer') - line('[[steps]]') + 1}: ")
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


def test_any_file_raises_only_lesson_errors() -> None:
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
    (tmp_path / "92-broken.toml").write_text(EXAMPLE.replace('answer = "B"', 'answer = "D"'), "utf-8")
    (tmp_path / "93-latin.toml").write_bytes(b'title = "caf\xe9"')
    ours, claims = (course.read_folders((folder,)).lessons for folder in (course.SHIPPED, course.CLAIMS))
    with caplog.at_level(logging.WARNING):
        found = course.load_at_startup(["--server.port", "1", "--lessons", str(tmp_path)])
    assert (os.environ[course.VARIABLE], [*found.lessons]) == (str(tmp_path.resolve()), [*ours, "back", *claims])
    assert found.errors == (
        f"92-broken.toml, line {line('answer')}: “answer” is one of A, B.",
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
    assert again[1].choices[1].text == "On “cat”", "the second question of the same idea"
    for learn in ("", "it", "it.0", "it.9", "it.-1", "it.2.1", "other.1", "IT.1", "it.٢"):
        assert found.find(learn) is None
    assert (found.path(5, "adults"), found.path(45, "adults")["explanation"][:2]) == ({"it": (1, 2, 3, 4)}, (1, 2))
    assert found.path(45, "cats") == {}
