"""A store in a bucket: what one server keeps another finds, and a bucket that is away or slow costs one wait."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem  # type: ignore[import-untyped]

from mha_core.errors import HeadlightError
from pages.kit.server import store, store_bucket
from pages.kit.server.store_bucket import Away, Bucket
from pages.kit.server.store_folder import Folder

ANY = re.compile(r"\w+\.(?:model|visit)")
ADDRESS = "memory://class/headlight"
HOUR = 3600.0


@pytest.fixture(autouse=True)
def files() -> Iterator[MemoryFileSystem]:
    files = MemoryFileSystem()
    files.store.clear()
    yield files
    files.store.clear()


def server(place: Path, clock: Callable[[], float] = lambda: 0.0) -> Bucket:
    return Bucket(ADDRESS, Folder(place), changes=".visit", clock=clock)


def test_what_one_server_keeps_another_finds(tmp_path: Path, files: MemoryFileSystem) -> None:
    one, other = server(tmp_path / "one"), server(tmp_path / "other")
    one.write("a.model", b"weights")
    one.write("v.visit", b"first")
    assert other.has("a.model")
    assert not other.has("b.model")
    assert (other.read("a.model"), other.read("v.visit"), other.read("b.model")) == (b"weights", b"first", None)
    one.write("v.visit", b"second")
    assert other.read("v.visit") == b"second"
    files.rm_file("/class/headlight/a.model")  # what never changes is read once
    assert other.read("a.model") == one.read("a.model") == b"weights"
    other.forget("a.model")
    other.forget("a.model")
    assert not server(tmp_path / "third").has("a.model")


@pytest.mark.parametrize("how", ["refuses", "slow"])
def test_a_bucket_that_gives_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    """Nobody waits for it twice; what is kept meanwhile is there, and goes to it once it answers."""
    asked, goes_on = list[str](), threading.Event()

    def away(self: Any, path: str, *more: Any, **options: Any) -> None:
        asked.append(path)
        if how == "refuses":
            raise PermissionError(path)
        goes_on.wait()

    now = [1000.0]
    one = server(tmp_path / "one", lambda: now[0])
    with monkeypatch.context() as broken, caplog.at_level(logging.WARNING):
        broken.setattr(store_bucket, "WAIT_SECONDS", 0.05)
        for name in ("exists", "cat_file", "pipe_file", "ls", "rm_file"):
            broken.setattr(MemoryFileSystem, name, away)
        assert not one.has("a.model")
        for _ in range(3):
            assert one.read("a.model") is None
        one.write("b.model", b"mine")
        assert one.read("b.model") == b"mine"
        with pytest.raises(Away):  # an older list of a visit in place of its newer one
            one.read("v.visit")
        with pytest.raises(Away):
            one.write("v.visit", b"older")
        assert len(asked) == 1
        assert [record.getMessage() for record in caplog.records] == [
            f"the store memory:// gives no answer ({'PermissionError' if how == 'refuses' else 'TimeoutError'}); "
            "it is asked again in a while"
        ]
        now[0] += store_bucket.REST_SECONDS
        assert not one.has("a.model")
        assert len(asked) == 2
        goes_on.set()
    other = server(tmp_path / "other")
    assert not other.has("b.model")
    other.write("v.visit", b"newer")
    now[0] += store_bucket.REST_SECONDS
    one.sweep(ANY, HOUR, 1000)
    assert other.read("b.model") == b"mine"
    assert one.read("v.visit") == b"newer"


def test_a_full_disk_beside_it_takes_nothing_away(tmp_path: Path) -> None:
    server(tmp_path / "one").write("a.model", b"weights")
    (tmp_path / "file").touch()
    full = server(tmp_path / "file")  # which is no folder
    assert full.has("a.model")
    assert full.read("a.model") == b"weights"
    with pytest.raises(FileExistsError):
        full.write("b.model", b"more")


def test_the_old_and_the_oldest_go_and_what_is_no_file_of_ours_stays(tmp_path: Path, files: MemoryFileSystem) -> None:
    one, other = server(tmp_path / "one"), server(tmp_path / "other")
    for name in ("a.model", "b.model"):
        one.write(name, b"1234")
    files.pipe_file("/class/headlight/notes.txt", b"1234")
    other.sweep(ANY, HOUR, 1000)
    assert one.has("a.model")
    other.sweep(ANY, HOUR, 5)  # bytes, of which the two have 8
    assert sorted(files.ls("/class/headlight", detail=False)) != ["/class/headlight/notes.txt"]
    other.sweep(ANY, -1.0, 1000)
    assert files.ls("/class/headlight", detail=False) == ["/class/headlight/notes.txt"]


def test_the_store_is_a_bucket_where_its_address_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(store.VARIABLE, f"{ADDRESS}/{tmp_path.name}")
    name = store.keep("film", b"maps")
    assert store.is_shared()
    assert store.has("film", name)
    assert store.read("film", name) == b"maps"
    assert MemoryFileSystem().cat_file(f"/class/headlight/{tmp_path.name}/{name}.film") == b"maps"
    store.forget("film", name)
    assert not store.has("film", name)
    with monkeypatch.context() as broken:
        broken.setattr(Bucket, "read", lambda self, file: (_ for _ in ()).throw(Away()))
        with pytest.raises(HeadlightError, match="cannot be reached for a moment"):
            store.read("visit", name)
