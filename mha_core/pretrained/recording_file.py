"""Reader for recording files, untrusted: checked before any large allocation."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from ..errors import HeadlightError, WeightsFileError
from .recordings import FORMAT, KEY, MAX_HEADS, MAX_WEIGHTS, Group, Recording, check_description, check_max

MAX_HEADER_BYTES = 2**20  # bytes of the JSON header: description and offsets of the maps
MAX_BYTES = 4 * MAX_WEIGHTS + MAX_HEADER_BYTES + 8
MAX_VALUES = 60_000  # in the header, counted by its commas
EXPECTED = "a recording of Headlight, as Recording.save writes it"


def read(path: str | Path) -> Recording:
    """Read a recording file.

    Raises:
        WeightsFileError: it cannot be read, is too large, or holds something else.
    """
    return from_bytes(read_content(path))


def read_content(path: str | Path) -> bytes:
    """Return the bytes of a file. Raises a WeightsFileError if it is missing or too large."""
    path = Path(path)
    if not path.is_file():  # opening a pipe would block
        raise WeightsFileError(f"there is no file “{path}”")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise WeightsFileError(f"“{path.name}” has more than {MAX_BYTES:,} bytes, which no recording has")
        return path.read_bytes()
    except OSError as error:
        raise WeightsFileError(f"“{path}” cannot be read ({error.strerror})") from error


def from_bytes(content: bytes) -> Recording:
    """Parse the bytes of a recording file. Raises a WeightsFileError with one sentence."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        description = _read_metadata(content)
        tensors = load(content)
        groups = tuple(
            Group(entry["name"], tuple(entry["paths"]), entry["rows"], entry["columns"], tensors[f"maps.{number}"])
            for number, entry in enumerate(description["groups"])
        )
        return Recording(groups, tuple(description["steps"]), description["title"], tuple(description["notices"]))
    except WeightsFileError:
        raise
    except HeadlightError as error:
        raise WeightsFileError(str(error)) from error
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError, RuntimeError) as error:
        raise WeightsFileError(f"this is not {EXPECTED} ({type(error).__name__})") from error


def _read_metadata(content: bytes) -> dict[str, Any]:
    """Return the description of the maps after checking their sizes against it and against the file."""
    if len(content) > MAX_BYTES:
        raise WeightsFileError(f"it has more than {MAX_BYTES:,} bytes, which no recording has")
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > len(content) - 8:
        raise WeightsFileError(f"this is not {EXPECTED}")
    check_max("bytes in front of its maps", length, MAX_HEADER_BYTES)
    text = content[8 : 8 + length]
    check_max("values in front of its maps", text.count(b",") + 1, MAX_VALUES)
    header = json.loads(text)
    metadata = header.pop("__metadata__", {})
    if KEY not in metadata:
        raise WeightsFileError(f"this file has no description of maps: it is not {EXPECTED}")
    description: dict[str, Any] = json.loads(metadata[KEY])
    if description["format"] != FORMAT:
        raise HeadlightError(f"it is written as “{description['format']!s:.40}”, this version reads “{FORMAT}”")
    check_description(description)
    if set(header) != {f"maps.{number}" for number in range(len(description["groups"]))}:
        raise HeadlightError("it must have one block of maps for each of its groups")
    for number, group in enumerate(description["groups"]):
        entry = header[f"maps.{number}"]
        if entry["dtype"] != "F32":
            raise HeadlightError(f"its maps are {entry['dtype']!s:.20}, float32 is read")
        _check_shape(entry["shape"], len(description["steps"]), group)
    return description


def _check_shape(shape: list[int], steps: int, group: dict[str, Any]) -> None:
    """Raise a HeadlightError if the shape of maps does not fit their description."""
    expected = (steps, len(group["paths"]), len(group["rows"]), len(group["columns"] or group["rows"]))
    if len(shape) != 5 or (shape[0], shape[1], *shape[3:]) != expected or not all(shape):
        axes = f"({steps}, {expected[1]}, heads, {expected[2]}, {expected[3]})"
        raise HeadlightError(f"the maps of “{group['name']:.40}” have the axes {shape!s:.80}, they say {axes}")
    check_max("heads in a group", shape[1] * shape[2], MAX_HEADS)
    check_max("weights in a group", math.prod(shape), MAX_WEIGHTS)
