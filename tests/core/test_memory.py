"""How much memory is left, the choice of a device and a number format, and the refusal of what does not fit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from mha_core import device
from mha_core.errors import DeviceError, DtypeError
from mha_core.pretrained import memory

MIB = 2**20


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 4 GiB left, whose control groups a test may describe; this process is in /outer/inner."""
    (tmp_path / "meminfo").write_text("MemTotal: 8388608 kB\nMemFree: 1024 kB\nMemAvailable: 4194304 kB\n")
    (tmp_path / "cgroup").write_text("1:name=other:/x\n0::/outer/inner\n")
    (tmp_path / "groups" / "outer" / "inner").mkdir(parents=True)
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "PROCESS_GROUP", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "groups")
    return tmp_path


def limit(group: Path, most: str, used: int, idle: int = 0) -> None:
    (group / "memory.max").write_text(f"{most}\n")
    (group / "memory.current").write_text(f"{used}\n")
    (group / "memory.stat").write_text(f"anon 1\ninactive_file {idle}\nactive_file 7\n")


def test_the_tightest_limit_of_all_groups_counts(machine: Path) -> None:
    inner, outer = machine / "groups" / "outer" / "inner", machine / "groups" / "outer"
    assert memory.available() == 4096 * MIB
    limit(inner, "max", 3 * MIB)
    assert memory.available() == 4096 * MIB
    limit(inner, str(900 * MIB), 100 * MIB)
    assert memory.available() == 800 * MIB
    limit(outer, str(1000 * MIB), 900 * MIB, 50 * MIB)
    assert memory.available() == 150 * MIB
    limit(inner, str(100 * MIB), 120 * MIB)
    assert memory.available() == 0


@pytest.mark.parametrize("damage", ["", "MemAvailable: many kB"])
def test_a_system_that_does_not_report_its_memory(machine: Path, damage: str) -> None:
    (machine / "meminfo").write_text(damage)
    (machine / "cgroup").write_text(damage)
    assert memory.available() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_memory_requirement_is_checked(machine: Path) -> None:
    memory.require(4096 * MIB, "a model", "take a smaller one")
    with pytest.raises(DeviceError) as caught:
        memory.require(5_000_000_000, "a model", "take a smaller one")
    assert str(caught.value) == "a model needs 5,000 MB of memory, this machine has 4,295 MB left; take a smaller one"


# ---- devices


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with neither cuda nor mps, to which a test may add either."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    return monkeypatch


def test_auto_prefers_cuda_then_mps_and_an_explicit_choice_wins(devices: pytest.MonkeyPatch) -> None:
    assert device.available() == ["cpu"]
    assert device.pick("auto") == device.pick() == device.pick("cpu") == torch.device("cpu")
    for choice in ("cuda", "cuda:0", "mps", "meta", "toaster", "", "cpu:x"):
        with pytest.raises(DeviceError, match=r"choose one of auto, cpu"):
            device.pick(choice)
    devices.setattr(torch.backends.mps, "is_available", lambda: True)
    assert device.available() == ["mps", "cpu"]
    assert device.pick("auto") == torch.device("mps")
    devices.setattr(torch.cuda, "is_available", lambda: True)
    devices.setattr(torch.cuda, "device_count", lambda: 2)
    assert device.available() == ["cuda", "mps", "cpu"]
    assert device.pick("auto") == torch.device("cuda")
    assert device.pick("cpu") == torch.device("cpu")
    assert device.pick(torch.device("cuda:1")) == torch.device("cuda:1")
    with pytest.raises(DeviceError, match=r"cuda:2.*has 2"):
        device.pick("cuda:2")


def test_dtypes_that_cannot_be_computed_in() -> None:
    device.require_dtype(torch.float64, torch.device("cpu"))
    device.require_dtype(torch.float32, torch.device("mps"))
    with pytest.raises(DtypeError, match=r"int64.*floating"):
        device.require_dtype(torch.int64, torch.device("cpu"))
    with pytest.raises(DtypeError, match=r"mps has no float64"):
        device.require_dtype(torch.float64, torch.device("mps"))
