"""The kept list of published faults can be read, finds one, and finds none in what is locked."""

from __future__ import annotations

import datetime
import re
import tomllib

from packaging.specifiers import SpecifierSet

from .advisories import KEPT, PIN, faults, locked


def test_locked_packages_have_no_known_vulnerability() -> None:
    assert list(faults(locked())) == []
    assert {"torch", "starlette", "pytest"} <= {name for name, _ in PIN.findall(locked())}


def test_fault_is_found_by_its_version() -> None:
    for pin, found in (
        ("starlette==0.46.0 \\", ["CVE-2025-62727", "CVE-2025-54121", "CVE-2026-48818"]),
        ("Python_Multipart==0.0.21 ; python_version < '4'", ["CVE-2026-24486"]),
        ("transformers==5.0.0rc1", ["CVE-2026-4372", "CVE-2026-1839"]),
        ("starlette==1.1.0", []),
    ):
        assert [re.findall(r"CVE-\d+-\d+", sentence)[0] for sentence in faults(pin)] == found, pin


def test_every_entry_can_be_looked_up() -> None:
    for one in tomllib.loads(KEPT.read_text("utf-8"))["faults"]:
        assert re.fullmatch(r"CVE-\d{4}-\d+|GHSA(-\w{4}){3}", one["id"])
        assert isinstance(one["published"], datetime.date)
        assert len(SpecifierSet(one["versions"])) > 0
        assert one["told"]
