"""The QTI packages of `headlight export --qti`, read by a reader of their own."""

from __future__ import annotations

import io
import re
import resource
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from headlight import command
from headlight.arguments import UsageError
from headlight.export_command import write_new
from headlight.lessons import qti
from headlight.lessons.course import course
from headlight.lessons.verdict import verdict
from headlight.picture.query import Query

from .test_lessons_files import EXAMPLE

ROOT = Path(__file__).parents[2]
QTI, CP, LOM = (
    f"{{http://{name}}}"
    for name in ("www.imsglobal.org/xsd/imsqti_v2p1", "www.imsglobal.org/xsd/imscp_v1p1", "ltsc.ieee.org/xsd/LOM")
)


class Package:
    """A content package, checked while it is read: every file is named once, and every name is a file."""

    def __init__(self, file: Path) -> None:
        with zipfile.ZipFile(file) as archive:
            assert archive.testzip() is None
            self.files = {name: archive.read(name) for name in archive.namelist()}
        self.manifest = ET.fromstring(self.files["imsmanifest.xml"])
        assert self.manifest.tag == f"{CP}manifest"
        resources = self.manifest.findall(f"{CP}resources/{CP}resource")
        named = [one.attrib["href"] for resource in resources for one in resource.findall(f"{CP}file")]
        assert sorted(named) == sorted(self.files.keys() - {"imsmanifest.xml"})
        by_id = {one.attrib["identifier"]: one for one in resources}
        assert len(by_id) == len(resources)
        (test,) = [one for one in resources if one.attrib["type"] == "imsqti_test_xmlv2p1"]
        needed = [by_id[one.attrib["identifierref"]] for one in test.findall(f"{CP}dependency")]
        self.items: dict[str, ET.Element] = {}
        for one in needed:
            assert one.attrib["type"] == "imsqti_item_xmlv2p1"
            item = ET.fromstring(self.files[one.attrib["href"]])
            assert item.tag == f"{QTI}assessmentItem"
            pictures = [image.attrib["src"] for image in item.iter(f"{QTI}img")]
            assert sorted([one.attrib["href"], *pictures]) == sorted(
                file.attrib["href"] for file in one.findall(f"{CP}file")
            )
            self.items[item.attrib["identifier"]] = item
        assert len(self.items) == len(needed)
        self.test = ET.fromstring(self.files[test.attrib["href"]])
        references = {one.attrib["identifier"]: one.attrib["href"] for one in self.test.iter(f"{QTI}assessmentItemRef")}
        assert list(references) == list(self.items)
        assert [ET.fromstring(self.files[href]).attrib["identifier"] for href in references.values()] == [*references]
        identifiers = [one.attrib["identifier"] for one in self.test.iter() if "identifier" in one.attrib]
        assert len(set(identifiers)) == len(identifiers)
        assert all(re.fullmatch(r"[A-Za-z_][\w.-]*", name, re.ASCII) for name in identifiers)

    def rights(self) -> str:
        return "".join(self.manifest.findtext(f".//{LOM}rights/{LOM}description/{LOM}string") or "")


def right(item: ET.Element) -> str:
    return item.findtext(f"{QTI}responseDeclaration/{QTI}correctResponse/{QTI}value") or ""


def choices(item: ET.Element) -> dict[str, str]:
    return {one.attrib["identifier"]: one.text or "" for one in item.iter(f"{QTI}simpleChoice")}


def score(item: ET.Element, response: str) -> tuple[float, str]:
    """Score and feedback of a response, by the rule of the item."""
    condition, feedback = item.findall(f"{QTI}responseProcessing/*")
    assert [one.tag for one in condition.findall(f"{QTI}responseIf/{QTI}match/*")] == [
        f"{QTI}variable",
        f"{QTI}correct",
    ]
    score = item.findtext(f"{QTI}outcomeDeclaration[@identifier='SCORE']/{QTI}defaultValue/{QTI}value")
    if response == right(item):
        score = condition.findtext(f"{QTI}responseIf/{QTI}setOutcomeValue/{QTI}baseValue")
    return float(score or "nan"), feedback.findtext(f"{QTI}baseValue") or ""


def export(folder: Path, selected: str, code: int = 0) -> Path:
    file = folder / "questions.zip"
    assert command.main(["export", "--qti", selected, "-o", str(file)]) == code
    assert [one.name for one in folder.iterdir() if one.suffix in (".zip", ".part")] == ["questions.zip"][: code == 0]
    return file


def texts(element: ET.Element | None) -> Iterator[str]:
    assert element is not None
    return (text for text in element.itertext() if text)


def test_every_question_has_the_verdict_of_the_tensor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lessons with maps, with code, of the page with an example of its own, and claims."""
    for name in ("it", "future", "bug-heads", "query-key-value", "words-and-heads"):
        (folder := tmp_path / name).mkdir()
        package, lesson = Package(export(folder, name)), course().lessons[name]
        assert f"{len(lesson.steps)} questions" in capsys.readouterr().out
        assert "CC BY 4.0" in package.rights()
        for step, item in zip(lesson.steps, package.items.values(), strict=True):
            answer = verdict(step, Query(step.query.encode("ascii")))
            assert right(item) == answer.picked
            assert choices(item) == {choice.letter: choice.text for choice in step.choices}
            assert [score(item, letter)[0] for letter in choices(item)] == [
                float(letter == answer.picked) for letter in choices(item)
            ]
            (feedback,) = item.findall(f"{QTI}modalFeedback")
            assert feedback.attrib["identifier"] == score(item, "A")[1]
            shown = " ".join(texts(feedback))
            assert answer.explanation in shown
            assert all(f"{label}: {text}" in shown for label, _, text in answer.numbers)
            (interaction,) = item.iter(f"{QTI}choiceInteraction")
            assert interaction.attrib["maxChoices"] == "1"
            assert (interaction.attrib["shuffle"] == "true") is not bool(step.cases)
            assert step.question in texts(item.find(f"{QTI}itemBody"))
            assert ("(nn.Module):" in " ".join(texts(item.find(f"{QTI}itemBody")))) == name.startswith("bug")


def test_a_picture_covers_what_is_asked_about_until_the_answer(tmp_path: Path) -> None:
    package = Package(export(tmp_path, "it"))
    item = package.items["item-it-1"]
    asked, shown = item.iter(f"{QTI}img")
    assert "“cross” to “street”" in asked.attrib["alt"]
    assert asked.attrib["alt"].endswith("Blank rows, for a guess: “animal”, “it”.")
    assert "“it” to “animal” 0.64" in shown.attrib["alt"]
    before, after = (Image.open(io.BytesIO(package.files[one.attrib["src"]])).convert("RGB") for one in (asked, shown))
    assert before.size == after.size
    cell = 44
    left, top = before.width - 10 - 15 * cell, before.height - 52 - 15 * cell

    def colours(picture: Image.Image, row: int) -> list[tuple[int, int, int]]:
        """The colours near the corners of a row's cells, where no number is."""
        places = [(left + column * cell + 5, top + row * cell + 5) for column in range(15)]
        return [pixel for place in places if isinstance(pixel := picture.getpixel(place), tuple)]  # type: ignore[misc]

    for row in range(15):
        if row in (2, 10):
            assert set(colours(before, row)) == {(255, 255, 255)}
            assert len(set(colours(after, row))) > 3
        else:
            pairs = zip(colours(before, row), colours(after, row), strict=True)
            assert max(abs(a - b) for one, other in pairs for a, b in zip(one, other, strict=True)) <= 8  # of a palette
    darkest = min(range(15), key=lambda column: sum(colours(after, 10)[column]))
    assert darkest == 2  # it → animal
    second = package.items["item-it-4"].findall(f"{QTI}itemBody//{QTI}img")
    assert len(second) == 1  # the second map would give the answer away


def test_wild_texts_of_an_own_lesson_stay_texts(tmp_path: Path) -> None:
    wild = r"A & B, 1 < 2 \"]]>\" \uFFFF 🙂 “שלום”"
    (tmp_path / "90-wild.toml").write_text(
        re.sub(r'question = ".*"', lambda _: f'question = "{wild}"', EXAMPLE, count=1), encoding="utf-8"
    )
    package = Package(export(tmp_path, str(tmp_path)))
    (item,) = package.items.values()
    assert item.findtext(f".//{QTI}prompt") == 'A & B, 1 < 2 "]]>" \ufffd 🙂 “שלום”'
    assert not package.rights()  # its author's, not ours


def test_a_course_is_named_by_its_title_and_packed_alike_twice(tmp_path: Path) -> None:
    lessons = [lesson for lesson in course().lessons.values() if lesson.course == "Find the bug"]
    package = Package(export(tmp_path, "find-the-bug"))
    assert package.test.attrib["title"] == "Find the bug"
    titles = [one.attrib["title"] for one in package.test.iter(f"{QTI}assessmentSection")]
    assert titles == [lesson.title for lesson in lessons]
    content, questions, pictures = qti.package("Find the bug", lessons)
    assert content == (tmp_path / "questions.zip").read_bytes()
    assert (questions, pictures) == (len(package.items), 0)


def test_what_cannot_be_exported_is_said_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mistaken, answerless, empty = (tmp_path / name for name in ("mistaken", "answerless", "empty"))
    for folder in (mistaken, answerless, empty):
        folder.mkdir()
    (mistaken / "90-back.toml").write_text(EXAMPLE.replace("minutes = 3", "minutes = 0"), encoding="utf-8")
    (answerless / "90-back.toml").write_text(re.sub(r'condition = ".*?"', 'condition = "1 > 2"', EXAMPLE), "utf-8")
    for selected, sentence in (
        ("nothing", "“nothing” is neither a folder nor one of all, it, first-course, same-word"),
        (str(mistaken), "90-back.toml, line"),
        (str(answerless), "back, step 1: No choice holds here, so there is no answer."),
        (str(empty), "has no lessons (*.toml)."),
    ):
        export(tmp_path, selected, 1)
        assert sentence in capsys.readouterr().err
    (tmp_path / "questions.zip").write_bytes(b"mine")
    assert command.main(["export", "--qti", "it", "-o", str(tmp_path / "questions.zip")]) == 1
    assert "exists already" in capsys.readouterr().err
    assert (tmp_path / "questions.zip").read_bytes() == b"mine"
    assert command.main(["export", "--qti", "it", "-o", str(tmp_path / "nowhere" / "it.zip")]) == 1
    assert "there is no folder" in capsys.readouterr().err


def test_a_disk_that_takes_no_more_leaves_nothing(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # the system refuses what is longer
    try:
        with pytest.raises(UsageError, match=r"cannot be written \(File too large\)"):
            write_new(tmp_path / "questions.zip", bytes(2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not [*tmp_path.iterdir()]


def test_an_interrupted_export_leaves_nothing(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "headlight", "export", "--qti", "all", "-o", str(tmp_path / "all.zip")]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Computing the answers of ")
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, "\nheadlight: stopped; nothing was written.\n")
    assert not [*tmp_path.iterdir()]
