"""Broken attention layers, each after a public thread: their code, which runs as it is shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import reduce
from typing import Any, Final

from headlight import read_toml

PREFIX = "bug "  # of their names in links


@dataclass(frozen=True)
class Style:
    """A right layer: its class, the arguments of `check` that say what is meant, and two of its Linears."""

    code: str
    options: Mapping[str, Any]
    values: str  # makes the values, alone or as the last third of its channels
    output: str  # stands after the heads


@dataclass(frozen=True)
class Bug:
    """A right layer with parts of its code replaced."""

    style: str  # name of the right layer, and of its class
    number: int  # of the property of `check` that fails
    cause: str  # that `check` names
    thread: str  # path of the public thread on GitHub
    title: str  # of the thread
    lines: Mapping[str, str]  # parts of the right layer -> what stands in their place
    inputs: str = ""  # what shows it beside a sentence: "causal mask", "padding", "empty row" or "cache"
    reason: str = ""  # what is wrong here, where the reason of the cause says too much

    @property
    def code(self) -> str:
        """Return the broken layer."""
        return reduce(lambda code, part: code.replace(*part), self.lines.items(), STYLES[self.style].code)

    @property
    def differences(self) -> list[tuple[range, range]]:
        """Return the differing lines of the right layer and of the broken one, counted from 0."""
        right, broken = STYLES[self.style].code.splitlines(), self.code.splitlines()
        codes = SequenceMatcher(None, right, broken, autojunk=False).get_opcodes()
        return [(range(i, j), range(k, l)) for kind, i, j, k, l in codes if kind != "equal"]


_DATA = read_toml("bugs")
STYLES: Final = {name: Style(**style) for name, style in _DATA["layers"].items()}
BUGS: Final = {f"{PREFIX}{name}": Bug(**bug) for name, bug in _DATA["bugs"].items()}  # by name in links
