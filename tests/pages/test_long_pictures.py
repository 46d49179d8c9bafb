"""Texts whose maps are not all kept: a pass in portions, thumbnails of all maps, exact pieces of the one in focus."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
import torch

from headlight.picture import pictures, settings
from headlight.picture.link_query import LinkQuery, UnusableText
from headlight.picture.settings import Settings
from headlight.queue.policy import QueueFull
from headlight.ui.packing import thumbnails
from mha_core import Run
from mha_core.errors import DeviceError
from mha_core.models.layer_pass import LayerPass
from mha_core.pretrained import memory
from pages.explore import long_pictures

from .conftest import answer, answers, unpacked

NAME, LIMIT = "words-rotary-1", 12  # two layers; its text is long from here on
TEXT = " ".join(["the cat sat on the mat and the dog ate it"] * 2)


@pytest.fixture
def run(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The whole run of the text, where so long a one is not kept as a whole, nor computed in one go."""
    model = pictures.model_on("auto", NAME)
    whole = model.run(TEXT, temperature=0.5)
    assert len(whole.tokens) > LIMIT
    monkeypatch.setattr(long_pictures, "MAX_TOKENS", LIMIT)
    monkeypatch.setattr(long_pictures, "PORTION", 1)
    return whole


def asked(**more: object) -> str:
    return urlencode({"s": TEXT, "model": NAME, "t": "0.5", "at": "1.1.3", **more})


def test_layer_after_layer_until_it_is_whole(run: Run) -> None:
    expected = (thumbnails(run.weights) * 255).round().to(torch.uint8).numpy()
    nothing, before = answers("maps", asked())
    assert not nothing, "the layer in sight is not there"
    maps, small = unpacked(before)
    assert (maps["layers"], maps["first"], maps["done"], small) == (2, 0, 1, expected[0].tobytes())
    (focus, row), (maps, small) = map(unpacked, answers("part", asked(part=1)))
    assert (focus["tile"], focus["done"]) == (long_pictures.TILE, 2)
    assert (focus["layer"], focus["head"], focus["row"]) == (1, 1, 3)
    assert np.array_equal(np.frombuffer(row, "<f4"), run.weights[1, 1, 3].numpy())
    assert [one["label"] for one in focus["next"]]
    assert (maps["tokens"], maps["fullLayers"], maps["first"], maps["done"]) == (run.tokens, [], 1, 2)
    assert (maps["thumbnail"], small) == (expected.shape[-1], expected[1].tobytes())
    (_, other), *rest = map(unpacked, answers("focus", asked(at="0.1.5", part=2)))
    assert not rest, "the thumbnails are there"
    assert np.array_equal(np.frombuffer(other, "<f4"), run.weights[0, 1, 5].numpy())


def test_visible_layer_is_computed_first(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_pictures, "PORTION", 10**9)
    (focus, row), (maps, _) = map(unpacked, answers("maps", asked(at="0.1.3")))
    assert (focus["done"], focus["next"], maps["done"]) == (1, [], 1)
    assert "1 of 2 layers" in focus["status"]
    assert np.array_equal(np.frombuffer(row, "<f4"), run.weights[0, 1, 3].numpy())
    monkeypatch.setattr(LayerPass, "maps", None)  # it is not computed again
    assert answer("tile", asked(at="0.1", tile="0.0.1").encode())


def test_awaited_pass_is_not_evicted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_pictures.LongPicture, "nbytes", long_pictures.LONG_BYTES // 2)
    mine, yours, theirs = (Settings(TEXT, model=NAME, temperature=t) for t in (1.0, 2.0, 3.0))
    long_pictures.advance_to(mine, 1)
    long_pictures.advance_to(yours, 1)
    with pytest.raises(QueueFull, match="too many long texts"):
        long_pictures.advance_to(theirs, 1)
    long_pictures.advance_to(yours, 2)
    assert long_pictures.advance_to(theirs, 1).done == 1, "a whole one goes"
    with pytest.raises(QueueFull):
        long_pictures.get_or_start(yours)
    long_pictures.get_or_start(mine).last_request -= long_pictures.IDLE_SECONDS + 1
    assert long_pictures.get_or_start(yours).done == 0, "nobody waited for mine any more"


def test_pieces_are_the_map_bit_by_bit(run: Run) -> None:
    header, body = unpacked(answer("tile", asked(tile="8.0.1").encode()))
    n = len(run.tokens)
    assert header == {"row": 8, "column": 0, "step": 1, "rows": n - 8, "columns": n}
    cells = np.frombuffer(body, "<f4").reshape(n - 8, n)
    future = np.triu(np.ones((n, n), bool), 1)[8:]
    assert np.array_equal(np.isnan(cells), future), "nobody may look there"
    assert np.array_equal(cells[~future], run.weights[1, 1, 8:].numpy()[~future])
    header, body = unpacked(answer("tile", asked(tile="0.0.4", look="mean").encode()))
    blocks = torch.nn.functional.max_pool2d(run.weights[1].mean(0)[None], 4, ceil_mode=True)
    assert body == blocks.numpy().tobytes()
    for wrong in ("", "0.0.0", "-1.0.1", "9999.0.1"):
        with pytest.raises(ValueError, match=r"tile"):
            answer("tile", asked(tile=wrong).encode())


def test_too_long_text_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="not long enough for tiles"):
        answer("tile", b"s=hi&tile=0.0.1")
    assert answers("part", "s=hi&part=3") == answers("maps", "s=hi")
    with monkeypatch.context() as patched:
        patched.setattr(memory, "available", lambda: 1000)
        with pytest.raises((DeviceError, UnusableText), match=r"needs .* MB of memory"):
            answer("maps", asked().encode())
    monkeypatch.setattr(settings, "MAX_TOKENS", 3)
    with pytest.raises(ValueError, match="can read 3"):
        answer("maps", b"s=one+two+three")
    with pytest.raises(UnusableText, match=r"has 3 tokens; here it may have 2\. Remove about 1 word") as refused:
        LinkQuery(f"s=one+two+three&model={NAME}".encode()).fitted_settings(max_tokens=2)
    assert (refused.value.key, refused.value.fits) == ("s", len("one two"))
