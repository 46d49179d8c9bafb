"""The view of the KV cache and the quantities of a lesson about it: what a model generates, keeps and computes anew."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest

from headlight.lessons.grammar import RuleError
from headlight.lessons.quantities.scene import page_scene
from headlight.picture import decoding, pictures
from headlight.picture.settings import Settings
from headlight.ui.numbers import small
from mha_core.measure.kv_cache import row_difference
from tests.closeness import identical

from .conftest import picture_of
from .test_other_views import numbers_in

TEXT, WRITER = "the cat sat on the m", "text-rotary-1"
LINK = {"s": TEXT, "model": WRITER, "at": "1.2", "view": "cache..5"}


def test_the_view_is_the_generation_of_the_core() -> None:
    header, floats = picture_of("cache", **LINK)
    settings = Settings(TEXT, model=WRITER)
    run = pictures.picture(settings).run
    generation, new, difference, seconds = decoding.decoding(settings)
    d, n = header["sizes"][3], len(run.tokens)
    assert (header["reason"], header["prompt"], header["tokens"]) == ("", n, generation.tokens)
    assert len(new) == decoding.STEPS == len(header["steps"]) - 1
    length = n + len(new)
    weights, strips = floats[: length**2].view(length, length), floats[length**2 :].view(2, length, d)
    identical(weights[:n, :n].clone(), run.weights[1, 2])
    identical(weights[-1].clone(), new[-1].weights[1, 2])
    assert not weights.triu(1).any(), "no token attends to a later one"
    for strip, part in zip(strips, (generation.caches[1].k, generation.caches[1].v), strict=True):
        assert part is not None
        identical(strip.clone(), part[0, 2])
    assert numbers_in(header["steps"][3]) == ["3", str(n + 3), str(n + 2)]
    assert all(small(value) in header["notes"][1] for value in difference)
    assert len(seconds) in range(1, len(new) + 1)
    for side in zip(*seconds, strict=True):
        assert f"{1000 * median(side):.3g} ms" in header["notes"][1]


def test_keys_reused_at_another_position() -> None:
    header, _ = picture_of("cache", **LINK)
    shift, right, reused = decoding.reuse(Settings(TEXT, model=WRITER), 5)
    assert header["shift"] == shift == 5
    assert small(row_difference(right, reused).weight) in header["reuse"][0]
    changes = (right.weights - reused.weights).abs()
    layer, head, key = (int(index) for index in (changes == changes.max()).nonzero()[0])
    assert f"in layer {layer}, head {head};" in header["reuse"][0]
    assert header["changes"][0][0] == header["tokens"][key]
    for link, why in (({"pos": "none"}, "Without positions"), ({"pos": "alibi"}, "on the scores"), ({}, "old angle")):
        assert why in picture_of("cache", **LINK, **link)[0]["reuse"][1]
    assert picture_of("cache", **LINK | {"view": "cache..9999"})[0]["shift"] == 96 - len(TEXT), "the last position"
    assert "needs a token before" in picture_of("cache", **LINK | {"s": "t"})[0]["reuse"][0]


def test_what_has_no_cache_or_no_room() -> None:
    header, floats = picture_of("cache", s="how are you")
    assert header["reason"].startswith("This model has no KV cache: it reads the whole text at once")
    assert (header["sizes"], len(floats)) == ([6, 12, 12, 32, 4], 0)
    full, _ = picture_of("cache", **LINK | {"s": (TEXT * 5)[:94]})
    assert len(full["steps"]) == 3
    assert "cannot be longer than the model’s 96 positions" in full["notes"][-1]
    assert len(picture_of("cache", **LINK | {"s": (TEXT * 5)[:96]})[0]["steps"]) == 1
    painted = picture_of("cache", **LINK, mask="painted", on="window:3", p="20.b")[0]
    assert not painted["reason"]


def test_quantities() -> None:
    def value(name: str, *arguments: Any, **link: str) -> float:
        return float(page_scene("explore", LINK | link).quantity(name, list(arguments), primed=False).tensor)

    assert value("cache_bytes", "model") == value("cache_bytes", "MHA") == 4 * value("cache_bytes", "MQA")
    assert value("cache_bytes", "model") == value("cache_size", 2.0, 4.0, 16.0, 20.0, 4.0)
    assert value("cache_size", 32.0, 8.0, 128.0, 8192.0, 2.0) == 2**30
    rows = [[value("new_rows", float(step), way) for way in ("cached", "uncached")] for step in (0, 1, 12)]
    assert rows == [[20, 20], [1, 21], [1, 32]]
    with pytest.raises(RuleError, match="12 tokens are generated here, not 13"):
        value("new_rows", 13.0, "cached")
    assert value("reuse_difference", 8.0, "weight") > 0.1 > value("reuse_difference", 8.0, "weight", pos="none")
    difference = decoding.decoding(Settings(TEXT, model=WRITER)).difference
    assert difference == (value("cache_difference", "weight"), value("cache_difference", "chance"))
    with pytest.raises(RuleError, match="no token fits"):
        value("cache_difference", "weight", s=(TEXT * 5)[:96])
