"""The QTI packages of `headlight export --qti`, read by a reader of their own."""

from __future__ import annotations

import io
import re
import resource
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from headlight import command
from headlight.arguments import UsageError
from headlight.export_command import write_new
from headlight.lessons.course import course
from headlight.lessons.verdict import verdict
from headlight.picture.query import Query

from .test_lessons_files import EXAMPLE

ROOT = Path(__file__).parents[2]
SPACES = {
    "q": "http://www.imsglobal.org/xsd/imsqti_v2p1",
    "cp": "http://www.imsglobal.org/xsd/imscp_v1p1",
    "lom": "http://ltsc.ieee.org/xsd/LOM",
}
CELL = 44  # pixels


class Package:
    """A content package, checked while it is read: every file is named once, and every name is a file."""

    def __init__(self, folder: Path, selected: str) -> None:
        file = folder / "questions.zip"
        file.unlink(missing_ok=True)
        assert command.main(["export", "--qti", selected, "-o", str(file)]) == 0
        with zipfile.ZipFile(file) as archive:
            self.files = {name: archive.read(name) for name in archive.namelist()}
        self.manifest = ET.fromstring(self.files["imsmanifest.xml"])
        resources = {
            one.attrib["identifier"]: one for one in self.manifest.iterfind("cp:resources/cp:resource", SPACES)
        }
        named = [one.attrib["href"] for one in self.manifest.iterfind(".//cp:file", SPACES)]
        assert sorted(named) == sorted(self.files.keys() - {"imsmanifest.xml"})
        needed = [one.attrib["identifierref"] for one in resources.pop("test").iterfind("cp:dependency", SPACES)]
        assert needed == list(resources)
        self.items = {name: ET.fromstring(self.files[one.attrib["href"]]) for name, one in resources.items()}
        for name, item in self.items.items():
            pictures = [image.attrib["src"] for image in item.iterfind(".//q:img", SPACES)]
            files = [one.attrib["href"] for one in resources[name].iterfind("cp:file", SPACES)]
            assert item.attrib["identifier"] == name
            assert sorted(files) == sorted([resources[name].attrib["href"], *pictures])
        self.test = ET.fromstring(self.files["test.xml"])
        references = self.test.iterfind(".//q:assessmentItemRef", SPACES)
        assert {one.attrib["identifier"]: one.attrib["href"] for one in references} == {
            name: one.attrib["href"] for name, one in resources.items()
        }
        identifiers = [one.attrib["identifier"] for one in self.test.iter() if "identifier" in one.attrib]
        assert len(set(identifiers)) == len(identifiers)
        self.rights = self.manifest.findtext(".//lom:rights/lom:description/lom:string", "", SPACES)


def value(item: ET.Element, path: str) -> str:
    return item.findtext(path, "", SPACES)


def test_every_question_has_the_verdict_of_the_tensor(tmp_path: Path) -> None:
    """Lessons with maps, with code, of the page with an example of its own, and claims."""
    for name in ("it", "future", "bug-heads", "query-key-value", "words-and-heads"):
        package = Package(tmp_path, name)
        assert "CC BY 4.0" in package.rights
        for step, item in zip(course().lessons[name].steps, package.items.values(), strict=True):
            answer = verdict(step, Query(step.query.encode("ascii")))
            assert value(item, "q:responseDeclaration/q:correctResponse/q:value") == answer.picked
            choices = {one.attrib["identifier"]: one.text for one in item.iterfind(".//q:simpleChoice", SPACES)}
            assert choices == {choice.letter: choice.text for choice in step.choices}
            assert value(item, ".//q:outcomeDeclaration[@identifier='SCORE']//q:value") == "0"
            assert item.find(".//q:responseIf/q:match/q:correct", SPACES) is not None
            assert value(item, ".//q:responseIf/q:setOutcomeValue/q:baseValue") == "1"
            (feedback,) = item.iterfind("q:modalFeedback", SPACES)
            assert value(item, "q:responseProcessing/q:setOutcomeValue/q:baseValue") == feedback.attrib["identifier"]
            feedback_text = " ".join(feedback.itertext())
            assert answer.explanation in feedback_text
            assert all(f"{label}: {text}" in feedback_text for label, _, text in answer.numbers)
            (interaction,) = item.iterfind(".//q:choiceInteraction", SPACES)
            assert (interaction.attrib["shuffle"], interaction.attrib["maxChoices"]) == (
                "false" if step.cases else "true", "1",
            )  # fmt: skip
            assert value(interaction, "q:prompt") == step.question
            assert ("nn.Module" in value(item, ".//q:pre")) == name.startswith("bug")


def test_a_picture_covers_what_is_asked_about_until_the_answer(tmp_path: Path) -> None:
    package = Package(tmp_path, "it")
    texts, cells = list[str](), list[NDArray[np.uint8]]()
    for one in package.items["item-it-1"].iterfind(".//q:img", SPACES):
        texts.append(one.attrib["alt"])
        with Image.open(io.BytesIO(package.files[one.attrib["src"]])) as picture:
            pixels = np.asarray(picture.convert("RGB"))
        top, left = pixels.shape[0] - 52 - 15 * CELL, pixels.shape[1] - 10 - 15 * CELL
        cells.append(pixels[top + 5 :: CELL, left + 5 :: CELL][:15, :15])  # near a corner, where no number is
    assert "“cross” to “street”" in texts[0]
    assert texts[0].endswith("Blank rows, for a guess: “animal”, “it”.")
    assert "“it” to “animal” 0.64" in texts[1]
    blank, whole = (np.flatnonzero((rows == 255).all((1, 2))).tolist() for rows in cells)
    assert (blank, whole) == ([2, 10], [])
    assert cells[1][10].sum(-1).argmin() == 2  # it → animal
    assert len(package.items["item-it-4"].findall("q:itemBody//q:img", SPACES)) == 1  # the second map would tell


def test_own_lessons_and_courses_wild_texts_stay_texts(tmp_path: Path) -> None:
    wild = r"A & B, 1 < 2 \"]]>\" \uFFFF 🙂 “שלום”"
    text = re.sub(r'question = ".*"', lambda _: f'question = "{wild}"', EXAMPLE, count=1)
    (tmp_path / "90-wild.toml").write_text(text, encoding="utf-8")
    package = Package(tmp_path, str(tmp_path))
    assert value(package.items["item-wild-1"], ".//q:prompt") == 'A & B, 1 < 2 "]]>" \ufffd 🙂 “שלום”'
    assert not package.rights  # its author's, not ours
    bugs = Package(tmp_path, "find-the-bug")
    titles = [one.attrib["title"] for one in bugs.test.iterfind(".//q:assessmentSection", SPACES)]
    assert titles == [lesson.title for lesson in course().lessons.values() if lesson.course == "Find the bug"]
    assert Package(tmp_path, "find-the-bug").files == bugs.files


def test_what_cannot_be_exported_is_said_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (
        ("mistaken", EXAMPLE.replace("minutes = 3", "minutes = 0")),
        ("answerless", re.sub(r'condition = ".*?"', 'condition = "1 > 2"', EXAMPLE)),
        ("empty", ""),
    ):
        (tmp_path / name).mkdir()
        if text:
            (tmp_path / name / "90-back.toml").write_text(text, encoding="utf-8")
    (tmp_path / "mine.zip").write_bytes(b"mine")
    before = sorted(tmp_path.rglob("*"))
    for selected, file, sentence in (
        ("nothing", "new.zip", "“nothing” is neither a folder nor one of all, it, first-course, same-word"),
        (str(tmp_path / "mistaken"), "new.zip", "90-back.toml, line"),
        (str(tmp_path / "answerless"), "new.zip", "back, step 1: No choice holds here, so there is no answer."),
        (str(tmp_path / "empty"), "new.zip", "has no lessons (*.toml)."),
        ("it", "mine.zip", "exists already; choose another name with -o."),
        ("it", "nowhere/it.zip", "there is no folder"),
    ):
        assert command.main(["export", "--qti", selected, "-o", str(tmp_path / file)]) == 2
        assert sentence in capsys.readouterr().err
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # as on a full disk, the system takes no more
    try:
        with pytest.raises(UsageError, match=r"cannot be written \(File too large\)"):
            write_new(tmp_path / "new.zip", bytes(2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    line = [sys.executable, "-m", "headlight", "export", "--qti", "all", "-o", str(tmp_path / "new.zip")]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Computing the answers of ")
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, "\nheadlight: stopped; nothing was written.\n")
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "mine.zip").read_bytes() == b"mine"
