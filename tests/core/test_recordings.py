"""The file of a recording: what goes in comes out, and what a stranger may write is refused in one sentence."""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from IPython.core.formatters import HTMLFormatter
from safetensors.torch import save

from mha_core.errors import HeadlightError, SizeError, WeightsFileError
from mha_core.pretrained import recording_file
from mha_core.pretrained.recording_file import from_bytes, read
from mha_core.pretrained.recordings import FORMAT, KEY, Group, Recording

from .tiny_models import check_refusals

ROWS, COLUMNS = ["the", '"a"\n</script>', "😀"], ["le", "la"]


def maps(*shape: int) -> torch.Tensor:
    return torch.randn(shape).softmax(-1)


@pytest.fixture
def recording() -> Recording:
    own = Group("layers.*.attn", ("layers.0.attn", "layers.1.attn"), ROWS, None, maps(2, 2, 2, 3, 3))
    cross = Group("cross", ("cross",), ROWS, COLUMNS, maps(2, 1, 4, 3, 2))
    return Recording((own, cross), (0, 300), "A training <b>", ("Said of it.",))


def test_recording_round_trip(recording: Recording, tmp_path: Path) -> None:
    again = read(recording.save(tmp_path / "a.safetensors"))
    assert replace(again, groups=()) == replace(recording, groups=())
    for one, other in zip(recording.groups, again.groups, strict=True):
        assert torch.equal(one.maps, other.maps)
        assert replace(one, maps=other.maps) == other


def test_a_step_of_a_group_is_a_run(recording: Recording) -> None:
    run = recording.run("cross", 0)
    assert torch.equal(run.weights, recording.groups[1].maps[0])
    assert (run.tokens, run.key_tokens, run.extras.paths, run.notices) == (ROWS, COLUMNS, ("cross",), ("Said of it.",))
    assert recording.run().interventions.summary == "recorded after step 300"
    assert torch.equal(recording.run(1).weights, recording.groups[1].maps[1])
    for wrong, said in (((2, None), "group=2 is not there"), (("a", None), "group='a'"), ((0, 7), "step=7")):
        with pytest.raises(SizeError, match=said):
            recording.run(*wrong)
    shown = HTMLFormatter()(recording)
    assert "0: layers.*.attn, 1: cross. Said of it." in shown
    assert "A training &lt;b&gt;: layers.*.attn" in shown
    assert "A training &lt;b&gt;: cross" in recording.show("cross", layer=0, head=3).page


def rewritten(content: bytes, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> bytes:
    """The same maps under another header: `change` is given it, and what the file says."""
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    said = json.loads(header["__metadata__"][KEY])
    change(header, said)
    header["__metadata__"][KEY] = json.dumps(said)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + length :]


def shaped(*shape: int) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    return lambda header, said: header["maps.0"].update(shape=list(shape))


def saying(**values: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    return lambda header, said: said.update(values)


def group(**values: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    return lambda header, said: said["groups"][0].update(values)


HOSTILE: list[tuple[Callable[[dict[str, Any], dict[str, Any]], Any], str]] = [
    (shaped(2, 2, 10**9, 3, 3), "2,000,000,000 heads in a group, at most 4,096"),
    (shaped(2, 2, 1, 10**9, 10**9), "have the axes"),
    (shaped(2, 2, 3, 3, 2), r"they say \(2, 2, heads, 3, 3\)"),
    (lambda header, said: header["maps.0"].update(dtype="F16"), "its maps are F16, float32"),
    (lambda header, said: header["maps.0"].update(data_offsets=[0, 10**12]), "not a recording"),
    (lambda header, said: header.update(x=header["maps.0"]), "one block of maps for each of its groups"),
    (saying(format="headlight recording 2"), "written as “headlight recording 2”"),
    (saying(steps=[300, 0]), "increasing integers from 0 on"),
    (saying(steps=[*range(5000)]), "5,000 steps, at most 1,000"),
    (saying(groups="ab"), "not a recording"),
    (saying(title="a" * 10_000), "10,000 characters in one of its texts, at most 300"),
    (group(rows=["a", None, "c"]), "not a string"),
    (group(name="cross"), "distinct names"),
]


def test_header_with_wrong_sizes_is_refused(recording: Recording) -> None:
    whole = recording.to_bytes()
    cases = [(change, rf"^(?=.{{1,299}}$).*(?:{expected})") for change, expected in HOSTILE]
    check_refusals(cases, lambda change: from_bytes(rewritten(whole, change)), WeightsFileError)


def test_numbers_that_are_no_weights_are_neither_read_nor_written(recording: Recording) -> None:
    cross, whole = recording.groups[1].maps, recording.to_bytes()
    for wrong, said in (
        (math.nan, "“cross” hold NaN or infinity"),
        (math.inf, "“cross” hold NaN or infinity"),
        (-0.1, "“cross” go beyond 0 to 1"),
        (2.0, "“cross” go beyond 0 to 1"),
        (1.0, "a row of “cross” sums to 1"),
    ):
        before = cross[1, 0, 2, 1, 0].clone()
        cross[1, 0, 2, 1, 0] = wrong
        with pytest.raises(HeadlightError, match=said):
            recording.to_bytes()
        bare = save({f"maps.{n}": group.maps for n, group in enumerate(recording.groups)})
        data = bare[8 + int.from_bytes(bare[:8], "little") :]
        with pytest.raises(WeightsFileError, match=said):
            from_bytes(whole[: len(whole) - len(data)] + data)
        cross[1, 0, 2, 1, 0] = before
    assert torch.equal(from_bytes(whole).groups[1].maps, cross)


def test_bytes_that_are_no_recording_are_refused(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = recording.to_bytes()
    deep = json.dumps({"__metadata__": {KEY: "[" * 100_000}}).encode()
    cases = {
        b"": "not a recording",
        whole[:-1]: "not a recording",
        struct.pack("<Q", 2**63) + whole[8:]: "not a recording",
        struct.pack("<Q", len(deep)) + deep: "not a recording",
        struct.pack("<Q", 70_001) + b"," * 70_001: "70,002 values in front of its maps",
        struct.pack("<Q", 2**20 + 1) + b" " * (2**20 + 1): "bytes in front of its maps",
        save({"maps.0": torch.zeros(1)}): "has no description of maps",
        save({"maps.0": torch.zeros(1)}, {KEY: json.dumps({"format": FORMAT})}): "not a recording",
    }
    check_refusals(cases.items(), from_bytes, WeightsFileError)
    monkeypatch.setattr(recording_file, "MAX_BYTES", 100)
    with pytest.raises(WeightsFileError, match="more than 100 bytes"):
        from_bytes(whole)


def test_a_path_that_holds_none_is_refused(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")  # which nobody writes into
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "gone"):
        with pytest.raises(WeightsFileError, match=r"there is no file|cannot be read"):
            read(path)
    place = recording.save(tmp_path / "a.safetensors")
    monkeypatch.setattr(recording_file, "MAX_BYTES", 100)
    with pytest.raises(WeightsFileError, match="more than 100 bytes"):
        read(place)


def test_half_precision_rounds_a_row_above_one() -> None:
    rounded = maps(1, 1, 2, 64, 64).bfloat16().float()
    assert float(rounded.sum(-1).max()) > 1
    made = Recording((Group("a", ("",), list(map(str, range(64))), None, rounded),), (0,), "t")
    assert torch.equal(from_bytes(made.to_bytes()).groups[0].maps, rounded)
