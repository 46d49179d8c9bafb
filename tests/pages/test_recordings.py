"""A recording in the app: a model of the list that reads steps, draws its maps on Maps, and can do nothing else."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import torch

from headlight.export import snippet
from headlight.link.cursor import Cursor
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.registry import get_source, recordings
from headlight.server import store
from mha_core.errors import HeadlightError, SizeError, Unsupported
from mha_core.pretrained.recordings import Group, Recording
from pages.compare import handlers as compare
from pages.explore import exports, heads_overview, layer_flow, lens, pair_channels, residual_stream
from pages.masks import message as masks
from pages.shapes import handlers as shapes
from tests.closeness import identical

from .conftest import picture_of, unpacked

ROWS, COLUMNS = ["a", "b", "a"], ["u", "v"]


@pytest.fixture
def recording() -> Recording:
    def maps(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=torch.Generator().manual_seed(0)).softmax(-1)

    own = Group("layers.*.attn", ("layers.0.attn", "layers.1.attn"), ROWS, None, maps(3, 2, 2, 3, 3))
    return Recording((own, Group("cross", ("cross",), ROWS, COLUMNS, maps(3, 1, 4, 3, 2))), (0, 100, 200), "Learns")


@pytest.fixture
def name(recording: Recording) -> str:
    return recordings.PREFIX + store.put("data", recording.to_bytes())


def test_its_steps_are_its_texts_and_a_group_has_its_own_columns(recording: Recording, name: str) -> None:
    header, last = picture_of("maps", model=name)
    assert header["presets"] == ["step 0", "step 100", "step 200"]
    assert (header["sentence"], header["origin"], header["label"]) == (
        "step 200",
        "recorded",
        "recorded after step 200",
    )
    assert (header["groups"], header["groupNames"]) == (["0", "1"], ["layers.*.attn", "cross"])
    assert header["notices"] == []
    identical(last.view(3, 3), recording.groups[0].maps[2, 0, 0])
    identical(picture_of("maps", model=name, s="step 0", at="1.1")[1].view(3, 3), recording.groups[0].maps[0, 1, 1])
    header, floats = picture_of("maps", model=f"{name}~1", s="step 100", at="0.3")
    assert (header["group"], header["heads"], header["notices"]) == ("1", 4, [])
    identical(floats.view(3, 2), recording.groups[1].maps[1, 0, 3])
    assert pictures.picture(Settings("step 100", model=f"{name}~1")).run.key_tokens == COLUMNS
    assert "0 to 1, not 7" in picture_of("maps", model=f"{name}~7")[0]["notices"][0]
    for link in ({"s": "hello"}, {"mask": "causal"}):
        changed = picture_of("maps", model=name, **link)[0]
        assert list(changed["unusable"]) == list(link)
        assert "This is a recording: " in changed["notices"][0]
        assert changed["digest"] == picture_of("maps", model=name)[0]["digest"]


def test_its_maps_can_be_followed_and_nothing_else_is_known(name: str) -> None:
    assert unpacked(layer_flow.answer(urlencode({"model": name, "view": "flow"}).encode()))[0]["parts"]
    for model, route, view in (
        (f"{name}~1", layer_flow.answer, "flow"),
        (name, layer_flow.answer, "flow.norm"),
        (name, pair_channels.answer, ""),
        (name, heads_overview.answer, "heads.random"),
        (name, residual_stream.answer, "residual"),
        (name, lens.answer, "lens"),
    ):
        with pytest.raises(Unsupported) as refused:
            route(urlencode({"model": model, "view": view}).encode())
        assert name not in str(refused.value), "nobody reads a name that cannot be guessed"
    measures = picture_of("overview", model=f"{name}~1")[0]["measures"]
    assert {one["name"] for one in measures if one["rows"]} == {"entropy"}


def test_a_page_that_computes_refuses_it(name: str) -> None:
    query = urlencode({"model": name}).encode()
    for route in (compare.pair, masks.masks_message, masks.entry_message, shapes.steps):
        with pytest.raises(Unsupported, match=r"this is a recording: .*; it can be viewed on Maps"):
            route(query)
    model = pictures.model_on("auto", name)
    for call in (
        lambda: model.run("step 0", mask="causal"),
        lambda: model.run("step 0", trace_layer=0),
        lambda: model.run_batch(["step 0"]),
        lambda: model.ablate_each_head("step 0"),
        lambda: model.as_implementation("naive"),
        lambda: model.for_group("2"),
    ):
        with pytest.raises(Unsupported):
            call()


def test_its_files(recording: Recording, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = urlencode({"model": f"{name}~1", "s": "step 0", "at": "0.1"}).encode()
    assert "<title>step 0" in exports.html(query).decode()
    with np.load(io.BytesIO(exports.npz(query))) as numbers:
        assert any(numbers[key].shape == (1, 4, 3, 2) for key in numbers)
    code = snippet.snippet({"run": Settings("step 100", model=f"{name}~1")}, Cursor(0, 2, 1))
    recording.save(tmp_path / "recording.safetensors")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code, names)
    identical(names["weights"], recording.groups[1].maps[1, 0, 2])


def test_deleted_damaged_or_too_large_recording_is_refused(name: str) -> None:
    assert get_source(name).exists
    store.delete("data", name.removeprefix(recordings.PREFIX))
    assert picture_of("maps", model=name)[0]["model"] == "minilm"
    with pytest.raises(HeadlightError, match="this recording was deleted"):
        pictures.model_on("auto", name)
    for wrong in ("recording:", "recording:../../etc/passwd", f"{name}x"):
        assert not get_source(wrong).exists
    large = Group("a", ("a",), list(map(str, range(600))), None, torch.eye(600).expand(1, 1, 1, 600, 600))
    with pytest.raises(SizeError, match="maps of 600 tokens; at most 512"):
        recordings.parse_recording(Recording((large,), (0,), "Large").to_bytes())
