"""Plain forms of the implementations, which tests/plain_forms.py makes from the core, and how two of them differ."""

import builtins
import inspect
import json
import keyword
import re
from collections.abc import Sequence

from headlight import ROOT
from mha_core import IMPLEMENTATIONS

FORMS: dict[str, list[str]] = json.loads((ROOT / "assets" / "plain_forms.json").read_text(encoding="utf-8"))
_FIXED = {"math", "torch", "nn", "F", "self", *keyword.kwlist, *dir(builtins)}


def label(name: str) -> str:
    """Return the name of an implementation and the start of its description."""
    first_line = (inspect.getdoc(inspect.getmodule(IMPLEMENTATIONS[name])) or "").split("\n")[0]
    return f"{name}: {re.split(r'[:.]( |$)', first_line)[0]}"


def differences(lines: Sequence[str], other: Sequence[str]) -> list[int]:
    """Return the indices of the lines that the other source lacks, up to names and comments."""
    theirs = {"", *map(_without_names, other)}
    return [number for number, line in enumerate(lines) if _without_names(line) not in theirs]


def _without_names(line: str) -> str:
    """Return a line with a placeholder for each name that the source gives itself."""
    names = r'"[^"]*"|self\.\w+|(?<![\w.])[^\W\d]\w*'
    return re.sub(
        names, lambda name: name[0] if name[0][0] == '"' or name[0] in _FIXED else "_", line.split("  #")[0].strip()
    )
