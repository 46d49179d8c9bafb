"""The file of a recording, which may come from a stranger: it is checked before anything large is made of it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from ..errors import HeadlightError, WeightsFileError
from .recordings import FORMAT, KEY, MAX_HEADS, MAX_WEIGHTS, Group, Recording, at_most, check_maps, check_words

MAX_HEADER_BYTES = 2**20  # bytes: what it says, and the places of its maps
MAX_BYTES = 4 * MAX_WEIGHTS + MAX_HEADER_BYTES + 8
MAX_VALUES = 60_000  # between the commas of the header
WHAT = "a recording of Headlight, as Recording.save writes it"


def read(path: str | Path) -> Recording:
    """The recording in a file.

    Raises:
        WeightsFileError: it cannot be read, is too large, or holds something else.
    """
    return of_bytes(content(path))


def content(path: str | Path) -> bytes:
    """The bytes of a file. Raises a WeightsFileError where there is none, or more than any recording has."""
    path = Path(path)
    if not path.is_file():  # a pipe would be waited for
        raise WeightsFileError(f"there is no file “{path}”")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise WeightsFileError(f"“{path.name}” has more than {MAX_BYTES:,} bytes, which no recording has")
        return path.read_bytes()
    except OSError as error:
        raise WeightsFileError(f"“{path}” cannot be read ({error.strerror})") from error


def of_bytes(content: bytes) -> Recording:
    """The recording in the bytes of a file. Raises a WeightsFileError, one sentence."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        said = _said(content)
        tensors = load(content)
        groups = tuple(
            Group(each["name"], tuple(each["paths"]), each["rows"], each["columns"], tensors[f"maps.{number}"])
            for number, each in enumerate(said["groups"])
        )
        for group in groups:
            check_maps(group.name, group.maps)
    except WeightsFileError:
        raise
    except HeadlightError as error:
        raise WeightsFileError(str(error)) from error
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError, RuntimeError) as error:
        raise WeightsFileError(f"this is not {WHAT} ({type(error).__name__})") from error
    return Recording(groups, tuple(said["steps"]), said["title"], tuple(said["notices"]))


def _said(content: bytes) -> dict[str, Any]:
    """What the file says of its maps, once their sizes agree with it and with the file's own."""
    if len(content) > MAX_BYTES:
        raise WeightsFileError(f"it has more than {MAX_BYTES:,} bytes, which no recording has")
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > len(content) - 8:
        raise WeightsFileError(f"this is not {WHAT}")
    at_most("bytes in front of its maps", length, MAX_HEADER_BYTES)
    text = content[8 : 8 + length]
    at_most("values in front of its maps", text.count(b",") + 1, MAX_VALUES)
    header = json.loads(text)
    metadata = header.pop("__metadata__", {})
    if KEY not in metadata:
        raise WeightsFileError(f"this file says nothing of maps: it is not {WHAT}")
    said: dict[str, Any] = json.loads(metadata[KEY])
    if said["format"] != FORMAT:
        raise HeadlightError(f"it is written as “{said['format']!s:.40}”, this version reads “{FORMAT}”")
    check_words(said)
    if set(header) != {f"maps.{number}" for number in range(len(said["groups"]))}:
        raise HeadlightError("it has not one block of maps for each group that it names")
    for number, group in enumerate(said["groups"]):
        entry = header[f"maps.{number}"]
        if entry["dtype"] != "F32":
            raise HeadlightError(f"its maps are {entry['dtype']!s:.20}, float32 is read")
        _check_shape(entry["shape"], len(said["steps"]), group)
    return said


def _check_shape(shape: list[int], steps: int, group: dict[str, Any]) -> None:
    """Raises a HeadlightError where maps do not fit to what is said of them."""
    named = (steps, len(group["paths"]), len(group["rows"]), len(group["columns"] or group["rows"]))
    if len(shape) != 5 or (shape[0], shape[1], *shape[3:]) != named or not all(shape):
        wanted = f"({steps}, {named[1]}, heads, {named[2]}, {named[3]})"
        raise HeadlightError(f"the maps of “{group['name']:.40}” have the axes {shape!s:.80}, they say {wanted}")
    at_most("heads in a group", shape[1] * shape[2], MAX_HEADS)
    at_most("weights in a group", math.prod(shape), MAX_WEIGHTS)
