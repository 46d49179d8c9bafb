"""`headlight export --site`: what is in the folder, what the recordings answer, and its bad input."""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight import export_command
from headlight.lessons import course as courses
from headlight.lessons.course import course
from headlight.lessons.verdict import verdict
from headlight.picture import pictures
from headlight.picture.query import Query
from headlight.registry import MINILM
from headlight.server import framing
from headlight.ui.pages import PAGES, path
from headlight.website import packs, recorder, site
from headlight.website.requests import canonical_request, index_key
from mha_core.errors import HeadlightError
from pages.frame import recorded_sheet
from pages.handlers import HANDLERS, SHEETS

from .conftest import app_at, component, told_to

MAX_BYTES, MAX_FIRST_BYTES = 60 * 10**6, 3 * 10**6


@pytest.fixture(autouse=True)
def process() -> Iterator[None]:
    """What the command sets in its process is as it was afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", os.environ.copy())
        patch.setattr(courses, "selection", courses.selection)
        patch.setattr(pictures, "is_timed", pictures.is_timed)
        yield


def export(folder: Path, *options: str) -> int:
    pictures.picture.cache_clear()  # type: ignore[attr-defined]  # those of other tests have the time of a pass
    return export_command.main(["--site", str(folder), "--without-minilm", *options])


class Recordings:
    """The answers of a folder, read as the browser reads them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / site.ANSWERS
        self.index = json.loads(gzip.decompress((self.folder / packs.INDEX).read_bytes()))

    def get(self, route: str, query: str = "") -> bytes | None:
        key = index_key(canonical_request(route, query))
        if key not in self.index["keys"]:
            return None
        whole = gzip.decompress((self.folder / self.index["packs"][self.index["keys"][key]]).read_bytes())
        places, _, content = whole.partition(b"\n")
        numbers = json.loads(places)[key]
        starts = zip(numbers[::2], numbers[1::2], strict=True)
        return b"".join(content[start : start + length] for start, length in starts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with one lesson."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(courses, "selection", courses.selection)
        patch.setattr(pictures, "is_timed", pictures.is_timed)
        folder = tmp_path_factory.mktemp("host") / "site"
        assert export(folder, "--lesson", "it") == 0
    return folder


def names(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


def test_a_page_for_each_address_loads_nothing_from_elsewhere(folder: Path) -> None:
    for name in PAGES:
        html = (folder / f"{path(name) or 'index'}.html").read_text("utf-8")
        assert """http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self' """ in html
        for address in re.findall(r"""(?:src|href)=["']([^"']+)|url\("([^"]+)"\)""", html.split("application/json")[0]):
            assert (folder / "".join(address)).is_file(), address
        assert "<script>" not in html


def test_the_worker_knows_every_file(folder: Path) -> None:
    text = (folder / "files.js").read_text()
    listed = json.loads(text.removeprefix("self.headlightFiles = ").rstrip(";\n"))
    aside = {"LICENSE", "LICENSE-APACHE", "LICENSE-CONTENT", "NOTICE", ".nojekyll", "sw.js", "files.js"}
    assert names(folder) == {*listed["first"], *listed["rest"], *aside}
    page = (folder / "lessons.html").read_text("utf-8")
    facts = json.loads(re.search(r'id="headlight-site">(.*?)</script>', page)[1])  # type: ignore[index]
    assert facts["version"] == listed["version"]
    assert {*facts["answers"]} <= names(folder)
    for name, file in facts["files"].items():
        assert (folder / site.FOLDER / file["file"]).stat().st_size == file["bytes"], name


def test_the_recordings_answer_a_lesson_as_the_server_does(folder: Path) -> None:
    recordings, lesson = Recordings(folder), course().lessons["it"]
    message = json.loads(recordings.get("course") or b"")
    assert [one["id"] for one in message["lessons"]] == ["it"]
    for number, step in enumerate(lesson.steps, 1):
        for query in (step.query, f"{step.query}&big=true&look=linear&dev=cpu"):
            answer = json.loads(recordings.get("lesson", f"{query}&learn=it.{number}") or b"")
            expected = verdict(step, Query(step.query.encode()))
            assert (answer["picked"], answer["sentence"]) == (expected.picked, expected.sentence)
        route = recorder.PICTURES[step.page]
        assert untimed(recordings.get(route, step.query) or b"") == untimed(HANDLERS[route](step.query.encode()))
    for name in site.TEXT_PAGES:
        sheets = json.loads(recordings.get(f"page.{path(name)}") or b"")
        assert [sheet["key"] for sheet in sheets] == [*SHEETS[name](b"")]
    assert recordings.get("maps", "s=what+nobody+recorded") is None


def test_a_recorded_sheet_is_that_of_the_page() -> None:
    step = course().lessons["query-key-value"].steps[0]
    note, *blocks = recorded_sheet.blocks("by_hand", "hand", step.query.encode())
    app = app_at("by_hand", **dict(parse_qsl(step.query))).run()
    assert note["sentences"] == [recorded_sheet.NOTE]
    assert blocks == told_to(component(app, "sheet", "hand"))["blocks"]
    with pytest.raises(HeadlightError, match="shows nothing"):
        recorded_sheet.blocks("by_hand", "foot", step.query.encode())


def untimed(answer: bytes) -> list[object]:
    """The pieces of an answer without its size and the time that it took."""
    pieces = packs.split(answer)[1:]
    length = int.from_bytes(pieces[0][:4], "little")
    header = json.loads(pieces[0][4 : 4 + length])
    return [{**header, "status": ""}, pieces[0][4 + length :], *pieces[1:]]


@given(st.lists(st.tuples(st.sampled_from([*"abc"]), st.lists(st.binary(max_size=9), max_size=3)), max_size=6))
def test_a_pack_gives_each_answer_back(examples: list[tuple[str, list[bytes]]]) -> None:
    from mha_core.show.packing import pack, pack_parts

    messages = {f"{name}?": pack_parts(*(pack({}, part.ljust(12)) for part in parts)) for name, parts in examples}
    whole = gzip.decompress(packs.write_pack(messages))
    places, _, content = whole.partition(b"\n")
    for question, answer in messages.items():
        numbers = json.loads(places)[index_key(question)]
        assert b"".join(content[a : a + n] for a, n in zip(numbers[::2], numbers[1::2], strict=True)) == answer


def test_equal_sites_have_equal_bytes(folder: Path, tmp_path: Path) -> None:
    assert export(tmp_path / "again", "--lesson", "it") == 0
    assert names(tmp_path / "again") == names(folder)
    for name in names(folder):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes(), name


def test_the_first_lesson_needs_three_megabytes_at_most(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: (folder / name).read_bytes() for name in names(folder)}
    first = site.first_lesson(files)
    variants = site.first_lesson({f"{site.ANSWERS}/it-variants-01234567.bin": b"1"})
    assert (variants, site.first_lesson({f"{site.ANSWERS}/it-01234567.bin": b"1"})) == (0, 1)
    assert len(files["app/app.js"]) + len(files["index.html"]) < first <= MAX_FIRST_BYTES


# ---- bad input


def refused(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """The sentence; nothing is written."""
    parent = next(place for place in folder.parents if place.is_dir())
    before = sorted(parent.rglob("*"))
    assert export(folder, *options) == 2
    assert sorted(parent.rglob("*")) == before
    return capsys.readouterr().err


def test_a_folder_with_files_a_file_and_a_place_below_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    for name in (".", "file"):
        assert "exists already; name a new or an empty folder." in refused(tmp_path / name, capsys)
    assert "is not writable" in refused(tmp_path / "file" / "site", capsys)
    (tmp_path / "link").symlink_to(tmp_path / "new", target_is_directory=True)
    assert "cannot be replaced by the site" in refused(tmp_path / "link", capsys)


def test_lessons_with_mistakes_and_options_of_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lessons").mkdir()
    (tmp_path / "lessons" / "bad.toml").write_text("title = 3\n")
    assert "the lessons have mistakes:\n  bad.toml, line" in refused(
        tmp_path / "site", capsys, "--lessons", str(tmp_path / "lessons")
    )
    assert "There is no folder of lessons" in refused(tmp_path / "site", capsys, "--lessons", str(tmp_path / "none"))
    os.environ.pop(courses.VARIABLE)
    assert "there is no lesson “that”; choose from it, " in refused(tmp_path / "site", capsys, "--lesson", "that")
    os.environ[framing.VARIABLE] = "moodle.example.org"
    assert f"{framing.VARIABLE}: “moodle.example.org” is not the origin" in refused(tmp_path / "site", capsys)
    assert export_command.main(["--qti", "it", "--lesson", "it"]) == 2
    assert "--lesson is an option of --site." in capsys.readouterr().err


def test_a_full_disk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10**6))
    assert re.search(
        r"the site has \d\.\d MB, the disk has 1\.0 MB free\.", refused(tmp_path / "site", capsys, "--lesson", "it")
    )
    monkeypatch.undo()

    def write_bytes(file: Path, content: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    assert "cannot be written (No space left on device)." in refused(tmp_path / "site", capsys, "--lesson", "it")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing(
    number: signal.Signals, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_bytes(file: Path, content: bytes) -> int:
        assert list(tmp_path.glob("site.part-*"))
        signal.raise_signal(number)
        return 0

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    assert export(tmp_path / "site", "--lesson", "it") == 130
    assert list(tmp_path.iterdir()) == []
    assert "stopped; nothing was written." in capsys.readouterr().err


# ---- the whole site


@pytest.mark.timeout(1800)
@pytest.mark.thorough("the whole site takes minutes: each lesson, each example, and MiniLM")
def test_the_whole_site(tmp_path: Path) -> None:
    assert export_command.main(["--site", str(tmp_path / "site")]) == 0
    files = {name: (tmp_path / "site" / name).read_bytes() for name in names(tmp_path / "site")}
    assert sum(map(len, files.values())) <= MAX_BYTES
    assert site.first_lesson(files) <= MAX_FIRST_BYTES
    assert f"{site.WEIGHTS}/{MINILM}.bin" in files
    recordings = Recordings(tmp_path / "site")
    for lesson in course().lessons.values():
        for number, step in enumerate(lesson.steps, 1):
            assert recordings.get("lesson", f"{step.query}&learn={lesson.id}.{number}"), (lesson.id, number)
            if step.page in recorder.PICTURES:
                assert recordings.get(recorder.PICTURES[step.page], step.query), (lesson.id, number)
