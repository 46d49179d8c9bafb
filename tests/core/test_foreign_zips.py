"""Zip files of strangers: none may do more than be refused."""

import io
import os
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mha_core.errors import WeightsFileError
from mha_core.training import saved

from .runs import RUN, WEIGHTS, Files, Refused, zipped


def test_what_is_no_run_in_a_zip(refused: Refused) -> None:
    for data in (b"", b"nonsense", b"PK\x03\x04", b"PK\x05\x06" + bytes(18)):
        refused(data, r"no zip file of a saved run|holds run\.json")


def test_other_names(refused: Refused, classifier_files: Files) -> None:
    rest = {name: data for name, data in classifier_files.items() if name != RUN}
    refused(zipped(rest), "and nothing else")
    for name in ("../run.json", "/etc/run.json", "run/run.json", "RUN.json", "run.json\\", "more.txt"):
        refused(zipped({**classifier_files, name: b"{}"}), "and nothing else")
        refused(zipped({**rest, name: classifier_files[RUN]}), "and nothing else")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_comes_twice(refused: Refused, classifier_files: Files) -> None:
    packed = io.BytesIO(zipped(classifier_files))
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr(RUN, b"{}")
    refused(packed.getvalue(), "and nothing else")


def test_what_is_too_large(refused: Refused, classifier_files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(bytes(saved.LARGEST_PACKED + 1), "a saved run has at most 41,943,040")
    for name in saved.FILES:
        monkeypatch.setitem(saved.LARGEST, name, 1000)
        refused(zipped({**classifier_files, name: bytes(1001)}), f"{name} has more than 1,000 bytes")
        monkeypatch.undo()


@pytest.mark.thorough("packs 24 MiB of random bytes")
def test_what_is_saved_can_be_opened(saved_run: Path) -> None:
    """However large its weights are, which cannot be packed, and however old its files."""
    (saved_run / WEIGHTS).write_bytes(os.urandom(saved.LARGEST[WEIGHTS]))
    os.utime(saved_run / WEIGHTS, (0, 0))  # before the first year of a zip file
    assert saved.LARGEST[WEIGHTS] < len(saved.pack(saved_run)) <= saved.LARGEST_PACKED


def test_a_zip_bomb_takes_no_memory(refused: Refused, classifier_files: Files) -> None:
    bomb = zipped({**classifier_files, RUN: bytes(60 * 2**20)})
    assert len(bomb) < 2**18
    tracemalloc.start()
    refused(bomb, r"run\.json has more than 8,388,608 bytes")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 40 * 2**20


def test_weights_beyond_the_bound_are_never_written(
    refused: Refused, classifier_files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    write = Path.write_bytes

    def noted(file: Path, data: bytes) -> int:
        written.append(file.name)
        return write(file, data)

    monkeypatch.setattr(Path, "write_bytes", noted)
    refused(zipped({**classifier_files, WEIGHTS: bytes(26_000_000)}), r"safetensors has more than 25,165,824 bytes")
    assert WEIGHTS not in written


def test_other_ways_to_pack(refused: Refused, classifier_files: Files) -> None:
    """Their dictionaries may ask for gigabytes."""
    for way in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        refused(zipped(classifier_files, way), "and nothing else")


def test_an_existing_folder_is_left_alone(saved_run: Path, classifier_files: Files) -> None:
    before = {file.name: file.read_bytes() for file in saved_run.iterdir()}
    with pytest.raises(WeightsFileError, match="there already"):
        saved.unpack(zipped(classifier_files), saved_run)
    assert {file.name: file.read_bytes() for file in saved_run.iterdir()} == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_zip_files(data: st.DataObject, classifier_files: Files, tmp_path_factory: Any) -> None:
    """A few bytes changed, or the end missing: read whole all the same, or refused. Nothing else is ever raised."""
    packed = bytearray(zipped(classifier_files))
    for _ in range(data.draw(st.integers(1, 4))):
        # the directory at the end and the heads of files say the most
        place = data.draw(st.integers(0, len(packed) - 1) | st.integers(len(packed) - 250, len(packed) - 1))
        packed[place] = data.draw(st.integers(0, 255))
    place = tmp_path_factory.mktemp("damaged") / "run"
    cut = data.draw(st.just(len(packed)) | st.integers(0, len(packed)))
    try:
        saved.unpack(bytes(packed[:cut]), place)
    except WeightsFileError:
        assert not list(place.parent.iterdir())
