"""A plain reader of GGUF, the file format of llama.cpp: named fields, then named tensors in blocks of small numbers.

    magic "GGUF", version, count of tensors, count of fields      24 bytes, all numbers little-endian
    fields     name, type, value: a number, a text, or an array of either
    tensors    name, count of axes, sizes with the fastest axis first, number format, place from the start of the data
    data       from the next multiple of `general.alignment` on

The file is mapped, not read: its pages come in as tensors are unpacked. It may be damaged or a stranger's, so every
length is compared with what is left of the file, and with a bound, before anything is made of it.

A number format is one entry of `FORMATS`: its number in the file -> its name, how many values a block holds in how many
bytes, and the function that unpacks blocks: mostly of 32 small whole numbers that share a scale.
Sources: ggml's docs/gguf.md, and `ggml-common.h`, where `ggml_half` is a float16.
"""

import itertools
import math
import mmap
import struct
from collections.abc import Callable, Container
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from ..errors import WeightsFileError

MOST_FIELDS = 1_000
MOST_TENSORS = 10_000
MOST_VALUES = 1_000_000  # in all arrays together; a vocabulary of 49,152 tokens needs three of that length
LONGEST_NAME = 2**16 - 1  # bytes, as the format says
LONGEST_TEXT = 2**20  # bytes of a field's text
MOST_AXES = 4

T = TypeVar("T")
Value = int | float | bool | str | list[int] | list[float] | list[bool] | list[str]

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9
_KNOWN_VERSIONS = (2, 3)


class Format(NamedTuple):
    """One number format. `unpack` takes blocks uint8 (n, block_bytes) and gives float32 (n, values)."""

    name: str
    values: int
    block_bytes: int
    unpack: Callable[[Tensor], Tensor]


def _f32(blocks: Tensor) -> Tensor:
    """Plain numbers; copied, so that nothing hangs on the file."""
    return blocks.clone().view(torch.float32)


def _q8_0(blocks: Tensor) -> Tensor:
    """A scale d, then 32 bytes with a sign: d q."""
    return blocks[:, 2:].view(torch.int8).to(torch.float32).mul_(_half(blocks, 0))


def _q4_1(blocks: Tensor) -> Tensor:
    """A scale d, the smallest value m, then 16 bytes: d q + m. Low halves are values 0 to 15, high halves 16 to 31."""
    packed = blocks[:, 4:].contiguous()
    values = torch.stack((packed & 15, packed >> 4), dim=1).to(torch.float32).view(-1, 32)
    # two roundings, as in every other reader: one fused product and sum would differ in the last digit
    return values.mul_(_half(blocks, 0)).add_(_half(blocks, 2))


def _half(blocks: Tensor, start: int) -> Tensor:
    """The float16 that begins at that byte of each block, as float32 (n, 1)."""
    return blocks[:, start : start + 2].contiguous().view(torch.float16).to(torch.float32)


FORMATS = {
    0: Format("F32", 1, 4, _f32),
    3: Format("Q4_1", 32, 20, _q4_1),
    8: Format("Q8_0", 32, 34, _q8_0),
}


@dataclass(frozen=True)
class Entry:
    """Where a tensor lies in the file: its sizes with the slowest axis first, its format, its first byte, its bytes."""

    shape: tuple[int, ...]
    format: int
    start: int
    length: int


class GGUF:
    """An open file.

    Args:
        file: its path.

    Attributes:
        fields: what the file says of itself.
        entries: its tensors by name.

    Raises:
        WeightsFileError: the file is missing, damaged, or uses something that this reader does not know.
    """

    def __init__(self, file: Path) -> None:
        self.name = file.name
        try:
            with file.open("rb") as opened:
                # a private mapping: writable for torch, and never written back
                self.content = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
        except OSError as error:
            raise WeightsFileError(f"cannot read {file.name}: {error.strerror}") from error
        except ValueError as error:
            raise WeightsFileError(f"{file.name} is empty") from error
        try:
            self.fields, self.entries = _Header(self.content).read()
        except (WeightsFileError, UnicodeDecodeError) as error:
            raise WeightsFileError(f"{file.name} is no GGUF file that can be read: {error}") from error

    def tensor(self, name: str) -> Tensor:
        """A tensor of the file in float32, its slowest axis first; it shares no memory with the file.

        Raises:
            WeightsFileError: the file has no tensor of that name.
        """
        entry = self.entries.get(name)
        if entry is None:
            raise WeightsFileError(f"{self.name} has no tensor {name!r}")
        form = FORMATS[entry.format]
        packed = torch.frombuffer(self.content, dtype=torch.uint8, count=entry.length, offset=entry.start)
        return form.unpack(packed.view(-1, form.block_bytes)).view(entry.shape)


class _Header:
    """Reads from the start of the file on; `at` is the next byte."""

    def __init__(self, content: mmap.mmap) -> None:
        self.content = content
        self.at = 0
        self.values_left = MOST_VALUES

    def read(self) -> tuple[dict[str, Value], dict[str, Entry]]:
        if self.content[:4] != b"GGUF":
            raise WeightsFileError("it does not begin with the letters GGUF")
        self.at = 4
        version, n_tensors, n_fields = (self.number(kind) for kind in "IQQ")
        if version not in _KNOWN_VERSIONS:
            raise WeightsFileError(f"it has version {version}, versions 2 and 3 are read")
        _at_most("fields", n_fields, MOST_FIELDS)
        _at_most("tensors", n_tensors, MOST_TENSORS)
        fields: dict[str, Value] = {}
        for _ in range(n_fields):
            name = self.new_name(fields)
            fields[name] = self.value(self.number("I"))
        placed: dict[str, tuple[tuple[int, ...], int, int]] = {}
        for _ in range(n_tensors):
            name = self.new_name(placed)
            placed[name] = self.placed(name)
        return fields, self.entries(placed, fields.get("general.alignment", 32))

    def number(self, kind: str) -> int:
        """One number, of a kind in `struct`'s letters."""
        value: int = self.numbers(kind, 1)[0]
        return value

    def numbers(self, kind: str, count: int) -> tuple[int, ...]:
        at = self.skip(count * struct.calcsize(kind))
        return struct.unpack_from(f"<{count}{kind}", self.content, at)

    def text(self, longest: int) -> str:
        length = self.number("Q")
        _at_most("bytes in one text", length, longest)
        at = self.skip(length)
        return self.content[at : at + length].decode()

    def value(self, kind: int) -> Value:
        if kind == _TEXT:
            return self.text(LONGEST_TEXT)
        if kind == _ARRAY:
            return self.array()
        return self.number(_known("type of field", kind, _NUMBERS))

    def array(self) -> Value:
        kind, count = self.number("I"), self.number("Q")
        _at_most("values in its arrays", count, self.values_left)
        self.values_left -= count
        if kind == _TEXT:
            return [self.text(LONGEST_TEXT) for _ in range(count)]
        return list(self.numbers(_known("type of array", kind, _NUMBERS), count))

    def new_name(self, taken: Container[str]) -> str:
        name = self.text(LONGEST_NAME)
        if name in taken:
            raise WeightsFileError(f"it has two of {name!r:.80}")
        return name

    def placed(self, name: str) -> tuple[tuple[int, ...], int, int]:
        """The sizes of a tensor, slowest axis first, its format, and its place in the data."""
        n_axes = self.number("I")
        _at_most(f"axes in {name!r:.80}", n_axes, MOST_AXES)
        shape = self.numbers("Q", n_axes)[::-1]
        return shape, self.number("I"), self.number("Q")

    def skip(self, length: int) -> int:
        """The place of the next `length` bytes, which are passed over."""
        at = self.at
        if length > len(self.content) - at:
            raise WeightsFileError(f"it ends after {len(self.content):,} bytes, within its header")
        self.at += length
        return at

    def entries(self, placed: dict[str, tuple[tuple[int, ...], int, int]], alignment: Value) -> dict[str, Entry]:
        """Where each tensor lies in the file; all of them inside of it, none over another."""
        if not isinstance(alignment, int) or not 0 < alignment <= 2**16 or alignment & (alignment - 1):
            raise WeightsFileError(f"its tensors begin at multiples of {alignment!r:.20}, which is no power of 2")
        data, found = -(-self.at // alignment) * alignment, {}
        for name, (shape, number, offset) in placed.items():
            form = _known(f"number format of {name!r:.80}", number, FORMATS)
            values = math.prod(shape)
            if values < 1 or (shape[-1] if shape else 1) % form.values:
                raise WeightsFileError(f"{name!r:.80} has sizes {shape}, which are no whole blocks of {form.values}")
            length, start = values // form.values * form.block_bytes, data + offset
            if offset % alignment or start + length > len(self.content):
                raise WeightsFileError(
                    f"{name!r:.80} would lie at bytes {start:,} to {start + length:,} of {len(self.content):,}"
                )
            found[name] = Entry(shape, number, start, length)
        in_order = sorted(found.items(), key=lambda item: item[1].start)
        for (name, entry), (other, later) in itertools.pairwise(in_order):
            if entry.start + entry.length > later.start:
                raise WeightsFileError(f"{name!r:.80} and {other!r:.80} lie over each other")
        return found


def _at_most(what: str, came: int, most: int) -> None:
    if came > most:
        raise WeightsFileError(f"it has {came:,} {what}, at most {most:,} are read")


def _known(what: str, number: int, table: dict[int, T]) -> T:
    if number not in table:
        raise WeightsFileError(f"{what} {number} is not known, only {', '.join(map(str, table))}")
    return table[number]
