"""Bounds on the files of a saved run, which may come from a stranger: checked before anything large is made of them."""

import itertools
import json
from pathlib import Path
from typing import Any

from ...errors import HeadlightError, WeightsFileError
from ..events import LONGEST, Start
from ..tasks.table import LIMITS

RUN, TOKENIZER, WEIGHTS = FILES = ("run.json", "tokenizer.json", "model.safetensors")
# Bytes. The largest model of the app has 18 MB, the maps of 41 looks with 4 x 16 heads on 24 tokens have 4 MB.
LARGEST = {RUN: 8 * 2**20, TOKENIZER: 8 * 2**20, WEIGHTS: 24 * 2**20}
LARGEST_PACKED = sum(LARGEST.values())  # weights hardly get smaller by packing
LARGEST_HEADER = 512 * 2**10  # bytes in which the weights' file names its tensors, 100 for each
MOST_VALUES = {RUN: 200_000, TOKENIZER: 60_000}  # between the commas; a vocabulary has at most 50,000 tokens
MOST_STEPS = 12_000  # ten epochs of the largest table in batches of 32
MOST_LISTED = 100  # of what is told about a run: notes, probes, versions
LONGEST_WORDS = 300  # characters of each


def check_words(start: Any) -> None:
    """Raises a HeadlightError for more or longer words about a run than anybody needs."""
    listed = ("notes", "probes", "columns", "versions")
    lists = {**dict.fromkeys(listed, MOST_LISTED), "classes": LIMITS["classes"]}
    for name, most in lists.items():
        _at_most(f"{name} in its start", len(start.get(name, ())), most)
    probes = [*start["probes"], *start.get("columns", ())]
    for tokens_of_one in probes:
        _at_most("tokens in a probe", len(tokens_of_one), LONGEST)
    for name in start["classes"]:
        _at_most("characters in the name of a class", len(name), LIMITS["label"])
    said = (start["title"], start["fingerprint"], start["machine"], *start["notes"])
    for words in (*said, *start["versions"], *start["versions"].values(), *itertools.chain(*probes)):
        _at_most("characters in one of its texts", len(words), LONGEST_WORDS)


def check_counts(record: dict[str, Any], start: Start) -> None:
    """Raises a HeadlightError when more is listed than such a run can have."""
    recipe, looks = start.recipe, start.recipe.evaluations + 2
    _at_most("steps", len(record["steps"]), min(recipe.steps, MOST_STEPS))
    _at_most("evaluations", len(record["evaluations"]), looks)
    _at_most("snapshots", len(record["snapshots"]), looks * len(start.probes))
    _at_most("predicted classes", len(record["end"].get("predicted", ())), min(start.rows_test, LIMITS["rows"]))


def _at_most(what: str, came: int, most: int) -> None:
    if came > most:
        raise HeadlightError(f"it has {came:,} {what}, at most {most:,} are read")


def shapes(data: bytes) -> dict[str, list[int]]:
    """The shape of every tensor of a safetensors file, by name: 8 bytes say how long its header of JSON is.

    Raises:
        HeadlightError: the header is too long.
    """
    length = int.from_bytes(data[:8], "little")
    if length > LARGEST_HEADER:
        raise HeadlightError(f"it names its tensors in {length:,} bytes, at most {LARGEST_HEADER:,} are read")
    header = json.loads(data[8 : 8 + length])
    return {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}


def text(file: Path) -> str:
    """The content of a file of JSON. Raises a WeightsFileError when it is missing or has too many bytes or values."""
    data = content(file)
    values, most = data.count(b",") + 1, MOST_VALUES[file.name]
    if values > most:  # before they are made: a value of two bytes takes a hundred as an object
        raise WeightsFileError(f"{file.name} has up to {values:,} values, at most {most:,} are read")
    return data.decode("utf-8", "replace")


def content(file: Path) -> bytes:
    """The content of a file. Raises a WeightsFileError when it is missing or has more than its `LARGEST` bytes."""
    try:
        if file.exists() and not file.is_file():  # a pipe would be waited for
            raise WeightsFileError(f"{file.name} is no regular file")
        if file.stat().st_size > LARGEST[file.name]:
            raise WeightsFileError(f"{file.name} has more than {LARGEST[file.name]:,} bytes")
        return file.read_bytes()
    except OSError as error:
        raise WeightsFileError(f"cannot read {file.name}: {error.strerror}") from error
