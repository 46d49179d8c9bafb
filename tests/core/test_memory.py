"""How much memory is left, and the refusal of what would not fit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mha_core.errors import DeviceError
from mha_core.pretrained import memory

MIB = 2**20


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 4 GiB left, whose control groups a test may describe; this process is in /outer/inner."""
    (tmp_path / "meminfo").write_text("MemTotal: 8388608 kB\nMemFree: 1024 kB\nMemAvailable: 4194304 kB\n")
    (tmp_path / "cgroup").write_text("1:name=other:/x\n0::/outer/inner\n")
    (tmp_path / "groups" / "outer" / "inner").mkdir(parents=True)
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "OWN_GROUP", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "groups")
    return tmp_path


def limit(group: Path, most: str, used: int, idle: int = 0) -> None:
    (group / "memory.max").write_text(f"{most}\n")
    (group / "memory.current").write_text(f"{used}\n")
    (group / "memory.stat").write_text(f"anon 1\ninactive_file {idle}\nactive_file 7\n")


@pytest.mark.parametrize(
    ("inner", "outer", "left"),
    [
        (None, None, 4096),
        (("max", 3 * MIB), None, 4096),
        ((str(900 * MIB), 100 * MIB), None, 800),
        ((str(900 * MIB), 100 * MIB), (str(1000 * MIB), 900 * MIB, 50 * MIB), 150),
        ((str(100 * MIB), 120 * MIB), None, 0),
    ],
    ids=["of the machine", "no limit", "a limit", "the tightest of all groups", "over its limit"],
)
def test_what_is_left(machine: Path, inner: Any, outer: Any, left: int) -> None:
    for group, said in (("outer/inner", inner), ("outer", outer)):
        if said is not None:
            limit(machine / "groups" / group, *said)
    assert memory.available() == left * MIB


@pytest.mark.parametrize("damage", ["", "nonsense", "MemAvailable:", "MemAvailable: many kB"])
def test_a_system_that_does_not_say(machine: Path, damage: str) -> None:
    (machine / "meminfo").write_text(damage)
    (machine / "cgroup").write_text(damage)
    assert memory.available() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_nothing_is_known(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine / "meminfo").unlink()
    (machine / "cgroup").unlink()
    monkeypatch.delattr(os, "sysconf")
    assert memory.available() is None
    memory.require(2**60, "everything", "hope")


def test_what_fits_and_what_does_not(machine: Path) -> None:
    memory.require(4096 * MIB, "a model", "take a smaller one")
    with pytest.raises(DeviceError) as caught:
        memory.require(5_000_000_000, "a model", "take a smaller one")
    assert str(caught.value) == "a model needs 5,000 MB of memory, this machine has 4,295 MB left; take a smaller one"
