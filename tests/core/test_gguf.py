"""The reader of GGUF files: number formats against a loop over bytes, every field, and files that are damaged."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mha_core.errors import WeightsFileError
from mha_core.pretrained import gguf
from mha_core.pretrained.gguf import GGUF

from . import llama_files
from .llama_files import ARRAY, BOOL, F32, I32, LETTERS, TEXT, U32, U64, Block, Field
from .tiny_models import check_refusals


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


LOOPS: dict[str, Callable[[bytes], list[float]]] = {"F32": loop_f32, "Q8_0": loop_q8_0, "Q4_1": loop_q4_1}


def some(number: int, values: int, seed: int = 0) -> bytes:
    """Random blocks of a format whose scales are ordinary numbers."""
    form, drawn = gguf.FORMATS[number], random.Random(seed)
    scales = {"F32": 0, "Q8_0": 1, "Q4_1": 2}[form.name]
    if not scales:
        return struct.pack(f"<{values}f", *(drawn.uniform(-2, 2) for _ in range(values)))
    data = b""
    for _ in range(values // form.values):
        data += struct.pack(f"<{scales}e", *(drawn.uniform(-2, 2) for _ in range(scales)))
        data += drawn.randbytes(form.block_bytes - 2 * scales)
    return data


def opened(tmp_path: Path, content: bytes) -> GGUF:
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    return GGUF(file)


def test_a_format_against_a_loop_and_its_tensor_is_no_part_of_the_file(tmp_path: Path) -> None:
    assert {form.name for form in gguf.FORMATS.values()} == LOOPS.keys()
    for number, form in gguf.FORMATS.items():
        data = some(number, 3 * 5 * 64)
        before = llama_files.plain(torch.ones(3))
        content = llama_files.gguf({}, {"before": before, "it": Block((3, 5, 64), number, data)})
        file = opened(tmp_path, content)
        tensor = file.tensor("it")
        assert tensor.shape == (3, 5, 64)
        assert tensor.dtype == torch.float32
        assert tensor.flatten().tolist() == LOOPS[form.name](data), form.name
        tensor.zero_()
        assert file.tensor("it").any()
        assert (tmp_path / "model.gguf").read_bytes() == content


VALUES: dict[str, tuple[Field, Any]] = {
    **{f"number {kind}": (Field(kind, 7), 7) for kind in LETTERS if kind not in (F32, 12, BOOL)},
    "negative": (Field(I32, -7), -7),
    "largest": (Field(U64, 2**64 - 1), 2**64 - 1),
    "half": (Field(F32, 0.5), 0.5),
    "double": (Field(12, 0.1), 0.1),
    "yes": (Field(BOOL, True), True),
    "text": (Field(TEXT, "größer 🙂"), "größer 🙂"),
    "empty": (Field(TEXT, ""), ""),
    "texts": (Field(TEXT, ["a", "", "ü"], array=True), ["a", "", "ü"]),
    "none": (Field(U32, [], array=True), []),
    "numbers": (Field(I32, [-1, 2], array=True), [-1, 2]),
    "answers": (Field(BOOL, [True, False], array=True), [True, False]),
}


def test_every_kind_of_field(tmp_path: Path) -> None:
    for version in (2, 3):
        content = llama_files.gguf({name: one for name, (one, _) in VALUES.items()}, {}, version=version)
        assert opened(tmp_path, content).fields == {name: value for name, (_, value) in VALUES.items()}


def test_data_begin_where_the_file_says(tmp_path: Path) -> None:
    fields = {"general.alignment": Field(U32, 256)}
    tensors = {name: llama_files.plain(torch.full((5, 2), value)) for name, value in (("a", 1.0), ("b", 2.0))}
    file = opened(tmp_path, llama_files.gguf(fields, tensors, alignment=256))
    assert [file.tensor(name).tolist() for name in "ab"] == [[[1.0] * 2] * 5, [[2.0] * 2] * 5]


HUGE = 2**63
TENSOR = {"t": Block((2, 32), 8, some(8, 64))}


def head(version: int = 3, tensors: int = 0, fields: int = 0, rest: bytes = b"") -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, fields) + rest


def info(*sizes: int, axes: int | None = None, number: int = 0, place: int = 0, name: str = "t") -> bytes:
    sizes_and_place = struct.pack(f"<I{len(sizes)}QIQ", len(sizes) if axes is None else axes, *sizes, number, place)
    return llama_files.text(name) + sizes_and_place


def tensors(*infos: bytes, data: int = 1024) -> bytes:
    return head(tensors=len(infos), rest=b"".join(infos) + bytes(data))


F = llama_files.text("f")
DAMAGED: list[tuple[bytes, str]] = [
    (b"", "empty"),
    (b"PK\x03\x04" + bytes(100), "letters GGUF"),
    (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "version"),
    (head(version=1), "version 1"),
    (head(version=4), "version 4"),
    (head(fields=HUGE), "fields"),
    (head(tensors=HUGE), "tensors"),
    (head(fields=1000), "ends after"),
    (head(tensors=10_000), "ends after"),
    (head(fields=1, rest=struct.pack("<Q", HUGE)), "bytes in one text"),
    (head(fields=1, rest=struct.pack("<Q", 1000) + b"abc"), "ends after"),
    (head(fields=1, rest=llama_files.text(b"\xff\xfe")), "utf-8"),
    (head(fields=1, rest=F + struct.pack("<IQ", TEXT, HUGE)), "one text"),
    (head(fields=1, rest=F + struct.pack("<I", 99)), "type of field 99"),
    (
        head(fields=1, rest=F + struct.pack("<IIQ", ARRAY, U32, HUGE)), "values in its arrays"),
    (
        head(fields=1, rest=F + struct.pack("<IIQ", ARRAY, U64, 1000)), "ends after"),
    (
        head(fields=1, rest=F + struct.pack("<IIQ", ARRAY, TEXT, 10**6)), "ends after"),
    (
        head(fields=1, rest=F + struct.pack("<IIQ", ARRAY, ARRAY, 1) * 50), "type of array 9"),
    (
        head(fields=2, rest=b"".join(
            llama_files.text(name) + struct.pack("<IIQ", ARRAY, 0, 600_000) + bytes(600_000) for name in "ab"
        )), "values in its arrays"),
    (head(fields=2, rest=2 * llama_files.field("f", Field(U32, 1))), "two of 'f'"),
    (tensors(info(4), info(4, place=32)), "two of 't'"),
    (tensors(info(axes=5)), "axes"),
    (tensors(info(axes=2**32 - 1)), "axes"),
    (tensors(info(HUGE, HUGE, HUGE, HUGE)), "would lie"),
    (tensors(info(0, 4)), "sizes"),
    (tensors(info(16, number=8)), "whole blocks of 32"),
    (tensors(info(16, 2, number=8)), "whole blocks of 32"),
    (tensors(info(32, number=14)), "number format of 't' 14"),
    (tensors(info(4, place=2**64 - 32)), "would lie"),
    (tensors(info(4, place=2048)), "would lie"),
    (tensors(info(8, place=1024)), "would lie"),
    (tensors(info(4, place=4)), "would lie"),
    (tensors(info(64), info(4, place=32, name="u")), "over each other"),
    (tensors(info(4), info(4, name="u")), "over each other"),
    (llama_files.gguf({"general.alignment": Field(U32, 0)}, {}), "power of 2"),
    (llama_files.gguf({"general.alignment": Field(U32, 24)}, {}), "power of 2"),
    (llama_files.gguf({"general.alignment": Field(U64, HUGE)}, {}), "power of 2"),
    (llama_files.gguf({"general.alignment": Field(I32, -32)}, {}), "power of 2"),
    (llama_files.gguf({"general.alignment": Field(TEXT, "32")}, {}), "power of 2"),
]  # fmt: skip


def test_a_damaged_file(tmp_path: Path) -> None:
    short = r"(?s)^(?=.*model\.gguf).{0,299}$"  # and names the file
    for content, why in DAMAGED:
        for expected in (why, short):
            check_refusals([(content, expected)], lambda given: opened(tmp_path, given), WeightsFileError)


def test_a_file_cut_anywhere(tmp_path: Path) -> None:
    whole = llama_files.gguf({name: one for name, (one, _) in VALUES.items()}, TENSOR)
    assert opened(tmp_path, whole).tensor("t").shape == (2, 32)
    for length in range(0, len(whole), 7):
        with pytest.raises(WeightsFileError):
            opened(tmp_path, whole[:length])


SMALL = llama_files.gguf({name: VALUES[name][0] for name in ("text", "texts", "numbers")}, TENSOR)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, len(SMALL) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_any_bytes_are_read_or_refused(tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    content = bytearray(SMALL)
    for place, byte in changes:
        content[place] = byte
    try:
        file = opened(tmp_path, bytes(content))
    except WeightsFileError:
        return
    for name in file.entries:
        assert file.tensor(name).shape == file.entries[name].shape


def test_what_is_not_there(tmp_path: Path) -> None:
    for file, why in ((tmp_path / "nothing.gguf", "No such file"), (tmp_path, "directory")):
        with pytest.raises(WeightsFileError, match=rf"cannot read .*{why}"):
            GGUF(file)
    with pytest.raises(WeightsFileError, match=r"model\.gguf has no tensor 'u'"):
        opened(tmp_path, llama_files.gguf({"f": Field(U32, 7)}, TENSOR)).tensor("u")
    assert gguf.MOST_VALUES > 3 * 49_152, "room for a real vocabulary"
