"""Whether a locked version has a fault that advisories.toml knows, offline: `python -m tests.rules.advisories`."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import make

KEPT = Path(__file__).parent / "advisories.toml"
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.MULTILINE)


def locked() -> str:
    """What the locks and make.py pin, a line each."""
    return "\n".join([make.TORCH, *(lock.read_text("utf-8") for lock in (make.RUNTIME, make.DEV))])


def faults(pins: str) -> Iterator[str]:
    """A sentence for each pinned version that has a known fault."""
    known = tomllib.loads(KEPT.read_text("utf-8"))["faults"]
    for name, version in PIN.findall(pins):
        for one in known:
            has = SpecifierSet(one["versions"], prereleases=True)
            if one["package"] == canonicalize_name(name) and has.contains(version):
                yield f"{name} {version} has {one['id']} of {one['published']}: {one['told']}; take one outside {has}"


if __name__ == "__main__":
    sys.exit("\n".join(faults(locked())) or 0)
