"""Reader for GGUF, the file format of llama.cpp: named fields, then named tensors in quantised blocks.

    magic "GGUF", version, count of tensors, count of fields      24 bytes, all numbers little-endian
    fields     name, type, value: a number, a text, or an array of either
    tensors    name, count of axes, sizes with the fastest axis first, number format, offset from the start of the data
    data       from the next multiple of `general.alignment` on

The file is memory-mapped: its pages are loaded as tensors are unpacked. Its content is trusted, because the only caller
opens one file with a known sha256 (`smollm2`).

Sources: ggml's docs/gguf.md, and `ggml-common.h`, where `ggml_half` is a float16.
"""

import math
import mmap
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9


def _f32(blocks: Tensor) -> Tensor:
    """Unpack plain float32 values; copied, so that they do not keep the file open."""
    return blocks.clone().view(torch.float32)


def _q8_0(blocks: Tensor) -> Tensor:
    """Unpack blocks of a scale d and 32 signed bytes: d q."""
    return blocks[:, 2:].view(torch.int8).to(torch.float32).mul_(_half(blocks, 0))


def _q4_1(blocks: Tensor) -> Tensor:
    """Unpack blocks of a scale d, a minimum m and 16 bytes: d q + m.

    The low halves of the bytes are values 0 to 15, the high halves 16 to 31.
    """
    packed = blocks[:, 4:].contiguous()
    values = torch.stack((packed & 15, packed >> 4), dim=1).to(torch.float32).view(-1, 32)
    # two roundings, as in other readers: a fused multiply-add would differ in the last digit
    return values.mul_(_half(blocks, 0)).add_(_half(blocks, 2))


def _half(blocks: Tensor, start: int) -> Tensor:
    """Return the float16 that begins at that byte of each block, as float32 (n, 1)."""
    return blocks[:, start : start + 2].contiguous().view(torch.float16).to(torch.float32)


# format number -> values per block, bytes per block, and the function from uint8 (n, bytes) to float32 (n, values)
FORMATS: dict[int, tuple[int, int, Callable[[Tensor], Tensor]]] = {
    0: (1, 4, _f32),
    3: (32, 20, _q4_1),
    8: (32, 34, _q8_0),
}


class GGUF:
    """An open GGUF file.

    Args:
        file: path of a file with a known sha256.

    Attributes:
        fields: metadata of the file.
    """

    def __init__(self, file: Path) -> None:
        with file.open("rb") as opened:
            # a private mapping: writable for torch, and never written back
            self._content = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
        self._offset = len(b"GGUF")  # of the next byte to read
        _version, n_tensors, n_fields = self._numbers("IQQ")
        self.fields = {self._text(): self._value(*self._numbers("I")) for _ in range(n_fields)}
        self._tensors = {self._text(): self._tensor_entry() for _ in range(n_tensors)}
        alignment = self.fields.get("general.alignment", 32)
        self._data = -(-self._offset // alignment) * alignment

    def tensor(self, name: str) -> Tensor:
        """Return a tensor in float32, slowest axis first, without memory shared with the file."""
        shape, number, start = self._tensors[name]
        values, size, unpack = FORMATS[number]
        length = math.prod(shape) // values * size
        packed = torch.frombuffer(self._content, dtype=torch.uint8, count=length, offset=self._data + start)
        return unpack(packed.view(-1, size)).view(shape)

    def _numbers(self, kinds: str) -> tuple[Any, ...]:
        """Read the next numbers, given their kinds in `struct`'s letters."""
        form = struct.Struct(f"<{kinds}")
        self._offset += form.size
        return form.unpack_from(self._content, self._offset - form.size)

    def _text(self) -> str:
        (length,) = self._numbers("Q")
        self._offset += length
        return self._content[self._offset - length : self._offset].decode()

    def _value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self._text()
        if kind != _ARRAY:
            return self._numbers(_NUMBERS[kind])[0]
        kind, count = self._numbers("IQ")
        return (
            [self._text() for _ in range(count)] if kind == _TEXT else list(self._numbers(f"{count}{_NUMBERS[kind]}"))
        )

    def _tensor_entry(self) -> tuple[tuple[int, ...], int, int]:
        """Read the shape of a tensor, slowest axis first, its format, and its offset in the data."""
        shape = self._numbers(f"{self._numbers('I')[0]}Q")[::-1]
        return shape, *self._numbers("IQ")
