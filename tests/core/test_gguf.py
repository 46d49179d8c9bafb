"""The reader of GGUF files: number formats against a loop over bytes."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import torch

from mha_core.pretrained import gguf
from mha_core.pretrained.gguf import GGUF

from . import llama_files
from .llama_files import Block


def single(value: float) -> float:
    """Rounded to float32."""
    rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return rounded


def loop_f32(data: bytes) -> list[float]:
    return [struct.unpack_from("<f", data, at)[0] for at in range(0, len(data), 4)]


def loop_q8_0(data: bytes) -> list[float]:
    found = []
    for at in range(0, len(data), 34):
        scale, *whole = struct.unpack_from("<e32b", data, at)
        found += [single(scale * one) for one in whole]
    return found


def loop_q4_1(data: bytes) -> list[float]:
    found = []
    for at in range(0, len(data), 20):
        scale, least, *packed = struct.unpack_from("<2e16B", data, at)
        for whole in [one % 16 for one in packed] + [one // 16 for one in packed]:
            found.append(single(single(scale * whole) + least))
    return found


LOOPS: dict[int, Callable[[bytes], list[float]]] = {0: loop_f32, 8: loop_q8_0, 3: loop_q4_1}


def some(number: int, values: int, seed: int = 0) -> bytes:
    """Random blocks of a format whose scales are ordinary numbers."""
    (block, size, _), drawn = gguf.FORMATS[number], random.Random(seed)
    scales = {0: 0, 8: 1, 3: 2}[number]
    if not scales:
        return struct.pack(f"<{values}f", *(drawn.uniform(-2, 2) for _ in range(values)))
    data = b""
    for _ in range(values // block):
        data += struct.pack(f"<{scales}e", *(drawn.uniform(-2, 2) for _ in range(scales)))
        data += drawn.randbytes(size - 2 * scales)
    return data


def opened(tmp_path: Path, content: bytes) -> GGUF:
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    return GGUF(file)


def test_a_format_against_a_loop_and_its_tensor_is_no_part_of_the_file(tmp_path: Path) -> None:
    assert gguf.FORMATS.keys() == LOOPS.keys()
    for number, loop in LOOPS.items():
        data = some(number, 3 * 5 * 64)
        before = llama_files.plain(torch.ones(3))
        content = llama_files.gguf({}, {"before": before, "it": Block((3, 5, 64), number, data)})
        file = opened(tmp_path, content)
        tensor = file.tensor("it")
        assert tensor.shape == (3, 5, 64)
        assert tensor.dtype == torch.float32
        assert tensor.flatten().tolist() == loop(data), number
        tensor.zero_()
        assert file.tensor("it").any()
        assert (tmp_path / "model.gguf").read_bytes() == content
