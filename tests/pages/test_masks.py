"""Every mask of a link, and the same mask on the other pages."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import numpy as np
import pytest
import torch

from mha_core import Model
from pages.kit.picture import mask_codec
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings

from .conftest import answers, app_at, blocks, picture_of, unpacked

WORDS = "can you can that"  # 6 tokens


def maps(**values: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The weights before and after."""
    header, body = picture_of("masked", **values)
    n = len(header["tokens"])
    before, after = torch.tensor(np.frombuffer(body, dtype="<f4").reshape(2, n, n).copy())
    return before, after


def digest_on_shapes(**values: str) -> str:
    """The name of the picture that Shapes shows of the same link."""
    _, trace = answers("steps", urlencode(values))
    name: str = unpacked(trace)[0]["digest"]
    return name


def test_default() -> None:
    now, _ = picture_of("masked", mask="none")
    assert (now["rule"], now["painted"], now["base"], now["forbidden"]) == ("none", "", "", [""])
    assert (now["layer"], now["head"], now["notices"]) == (3, 1, [])
    assert now["digest"] == Settings(PRESETS[0]).digest
    assert [card["name"] for card in now["cards"]] == [
        "full", "causal", "window 3", "prefix 2", "sinks 1", "dilated 3 2", "documents", "per head", "painted",
    ]  # fmt: skip


def test_the_page_is_one_view() -> None:
    app = app_at("masks", s=WORDS).run()
    assert not app.exception
    assert "masks" in {one.proto.component_name.removeprefix("headlight_") for one in app.get("bidi_component")}


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"mask": "causal"}, "causal"),
        ({"mask": "window", "w": "2"}, "window:2"),
        ({"mask": "prefix"}, "prefix:1"),
        ({"mask": "prefix", "first": "4"}, "prefix:4"),
        ({"mask": "sinks", "first": "2"}, "sinks:2"),
        ({"mask": "dilated"}, "dilated:3:2"),
        ({"mask": "dilated", "w": "2", "gap": "3"}, "dilated:2:3"),
        ({"mask": "combination"}, "causal & window:4"),
        ({"mask": "combination", "rule": "!causal|sinks:1"}, "!causal | sinks:1"),
        ({"mask": "combination", "rule": "documents:3"}, "documents:3"),
        ({"mask": "painted"}, "none"),
        ({"mask": "painted", "on": "causal & ! window:2"}, "causal & !window:2"),
    ],
)
def test_every_kind_on_every_page(model: Model, values: dict[str, str], rule: str) -> None:
    link = {"s": WORDS, **values}
    now, _ = picture_of("masked", **link)
    assert (now["rule"], now["notices"]) == (rule, [])
    before, after = maps(**link)
    assert torch.equal(after, model.run(WORDS, mask=rule).weights[3, 1])
    assert torch.equal(before, model.run(WORDS).weights[3, 1])
    forbidden = mask_codec.read_cells(now["base"], 36)
    assert forbidden is not None
    assert not after.flatten()[forbidden].any()
    explore, _ = picture_of("maps", **link)
    assert now["digest"] == explore["digest"] == digest_on_shapes(**link) == Settings(WORDS, rule).digest
    assert explore["forbidden"] == [now["base"]]


def test_painted_cells_on_every_page(model: Model) -> None:
    values = {"s": WORDS, "mask": "painted", "on": "causal", "p": "6.rYB.3rFB", "at": "0.3"}
    settings = Settings(WORDS, "causal", painted=mask_codec.usable("6.rYB.3rFB", 12) or "")
    allow = mask_codec.allowed("causal", settings.painted, 6, 12)
    weights = model.run(WORDS, mask=allow).weights
    before, after = maps(**values)
    assert torch.equal(after, weights[0, 3])
    assert torch.equal(before, model.run(WORDS, mask="causal").weights[0, 3])
    now, _ = picture_of("masked", **values)
    assert now["without"] == "causal alone"
    shown, _ = picture_of("maps", **values)
    assert shown["digest"] == settings.digest == now["digest"]
    assert shown["label"] == "mask causal, painted cells for single heads"
    assert len(shown["forbidden"]) == 12
    for head, text in enumerate(shown["forbidden"]):
        cells = mask_codec.read_cells(text, 36)
        assert cells is not None
        assert torch.equal(~cells.view(6, 6), allow[head])
    for implementation, wanted in (("naive", settings), ("sequence_first", settings.unpainted)):
        assert digest_on_shapes(impl=implementation, **values) == wanted.digest
    by_hand = app_at("by-hand", ex="a real cell", **{**values, "at": "0.3.4.0"}).run()
    assert f"{float(weights[0, 3, 4, 0]):.9f}" in json.dumps(blocks(by_hand))


def test_a_painting_for_another_sentence_is_said_on_explore() -> None:
    said, _ = picture_of("maps", mask="painted", on="causal", p="6.rYG")
    assert len(said["notices"]) == 1
