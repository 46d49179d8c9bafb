"""Names of the files that hold a folder's weights, and of those in formats that are not read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..errors import WeightsFileError

WEIGHTS = "model.safetensors"
NAMES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
SHARD = re.compile(r"([\w.-]{1,150})-\d{5}-of-(\d{5})\.safetensors")
FETCH = "fetch the files again"
CONVERT = (
    f"choose a revision with {WEIGHTS}, or write one from a copy that you trust with transformers' save_pretrained"
)


def choose(names: Iterable[str]) -> list[str]:
    """Return the names of the files with the weights of a folder without an index.

    Args:
        names: of all files.

    Raises:
        WeightsFileError: there are none, shards are missing, or several files could be meant.
    """
    files = sorted(names)
    plain = [name for name in files if name.endswith(".safetensors") and not name.startswith(("adapter_", "consolid"))]
    if WEIGHTS in plain:
        return [WEIGHTS]
    if not plain:
        refuse_format(files)
        return [WEIGHTS]
    if shard := SHARD.fullmatch(plain[0]):
        plain = [name for name in plain if (match := SHARD.fullmatch(name)) and match.groups() == shard.groups()]
        if len(plain) != int(shard[2]):
            raise WeightsFileError(f"only {len(plain)} of {int(shard[2])} shards of {shard[1]} exist; {FETCH}")
    elif len(plain) > 1:
        raise WeightsFileError(f"there is no {WEIGHTS}; rename the file that is meant: {', '.join(plain[:5])}")
    return plain


def refuse_format(names: Iterable[str]) -> None:
    """Raise a WeightsFileError if one of the names is of a format that is not read."""
    files = list(names)
    for kind, patterns in NAMES["weights"]["formats"].items():
        for name in files:
            if any(fnmatchcase(name, pattern) for pattern in patterns):
                remedy = FETCH if "download" in kind else CONVERT
                raise WeightsFileError(f"the weights exist only as {kind} ({name}); {remedy}")
