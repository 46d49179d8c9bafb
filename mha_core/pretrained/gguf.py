"""A plain reader of GGUF, the file format of llama.cpp: named fields, then named tensors in blocks of small numbers.

    magic "GGUF", version, count of tensors, count of fields      24 bytes, all numbers little-endian
    fields     name, type, value: a number, a text, or an array of either
    tensors    name, count of axes, sizes with the fastest axis first, number format, place from the start of the data
    data       from the next multiple of `general.alignment` on

The file is mapped, not read: its pages come in as tensors are unpacked. Nothing in it is doubted: its one caller opens
the one file whose sha256 it knows (`smollm2`).

A number format is one entry of `FORMATS`: its number in the file -> its name, how many values a block holds in how many
bytes, and the function that unpacks blocks: mostly of 32 small whole numbers that share a scale.
Sources: ggml's docs/gguf.md, and `ggml-common.h`, where `ggml_half` is a float16.
"""

import math
import mmap
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9


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


class Entry(NamedTuple):
    """Where a tensor lies in the file: its sizes with the slowest axis first, its format, its first byte."""

    shape: tuple[int, ...]
    format: int
    start: int


class GGUF:
    """An open file.

    Args:
        file: its path; a file that is known by its sha256.

    Attributes:
        fields: what the file says of itself.
        entries: its tensors by name.
    """

    def __init__(self, file: Path) -> None:
        with file.open("rb") as opened:
            # a private mapping: writable for torch, and never written back
            self.content = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
        self.fields, self.entries = _Header(self.content).read()

    def tensor(self, name: str) -> Tensor:
        """A tensor of the file in float32, its slowest axis first; it shares no memory with the file."""
        shape, number, start = self.entries[name]
        form = FORMATS[number]
        length = math.prod(shape) // form.values * form.block_bytes
        packed = torch.frombuffer(self.content, dtype=torch.uint8, count=length, offset=start)
        return form.unpack(packed.view(-1, form.block_bytes)).view(shape)


class _Header:
    """Reads from the start of the file on; `at` is the next byte."""

    def __init__(self, content: mmap.mmap) -> None:
        self.content = content
        self.at = len(b"GGUF")

    def read(self) -> tuple[dict[str, Any], dict[str, Entry]]:
        _version, n_tensors, n_fields = (self.number(kind) for kind in "IQQ")
        fields = {self.text(): self.value(self.number("I")) for _ in range(n_fields)}
        placed = {self.text(): self.placed() for _ in range(n_tensors)}
        alignment = fields.get("general.alignment", 32)
        data = -(-self.at // alignment) * alignment
        return fields, {name: Entry(shape, number, data + at) for name, (shape, number, at) in placed.items()}

    def number(self, kind: str) -> Any:
        """One number, of a kind in `struct`'s letters."""
        return self.numbers(kind, 1)[0]

    def numbers(self, kind: str, count: int) -> tuple[Any, ...]:
        form = struct.Struct(f"<{count}{kind}")
        self.at += form.size
        return form.unpack_from(self.content, self.at - form.size)

    def text(self) -> str:
        length = self.number("Q")
        self.at += length
        return self.content[self.at - length : self.at].decode()

    def value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self.text()
        if kind != _ARRAY:
            return self.number(_NUMBERS[kind])
        kind, count = self.number("I"), self.number("Q")
        return [self.text() for _ in range(count)] if kind == _TEXT else list(self.numbers(_NUMBERS[kind], count))

    def placed(self) -> tuple[tuple[int, ...], int, int]:
        """The sizes of a tensor, slowest axis first, its format, and its place in the data."""
        shape = self.numbers("Q", self.number("I"))[::-1]
        return shape, self.number("I"), self.number("Q")
