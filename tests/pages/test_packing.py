"""The messages to the browser, read back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from mha_core.show.packing import pack_focus
from pages.kit.draw.packing import ALL_LAYERS_UP_TO, THUMBNAIL, pack_maps

from .conftest import unpacked


def maps(tokens: int, layers: int = 6, heads: int = 12) -> Tensor:
    scores = torch.randn(layers, heads, tokens, tokens, generator=torch.Generator().manual_seed(tokens))
    return (3 * scores).softmax(-1)


def names(tokens: int) -> list[str]:
    return [f"word{number}" for number in range(tokens)]


@pytest.mark.parametrize("tokens", [1, 3, 64])
def test_every_weight_comes_back_within_half_a_step(tokens: int) -> None:
    weights = maps(tokens)
    header, body = unpacked(pack_maps(weights, names(tokens), "d", 3))
    assert header["tokens"] == names(tokens)
    assert (header["layers"], header["heads"], header["digest"]) == (6, 12, "d")
    assert header["whole"] == list(range(6))
    assert header["thumbnail"] == 0
    back = np.frombuffer(body, np.uint8).reshape(weights.shape) / 255
    assert np.abs(back - weights.numpy()).max() <= 1 / 510 + 1e-7


def test_zero_and_one_are_exact() -> None:
    weights = torch.eye(4).expand(1, 1, 4, 4).contiguous()
    _, body = unpacked(pack_maps(weights, names(4), "d", 0))
    assert set(body) == {0, 255}


def test_bytes_per_weight() -> None:
    for tokens, most in ((16, 1.15), (64, 1.1), (256, 1.1)):
        packed = pack_maps(maps(tokens), names(tokens), "0" * 16, 3)
        assert len(packed) / (72 * tokens**2) <= most


def test_same_maps_same_bytes_and_other_maps_other_bytes() -> None:
    weights = maps(9)
    first = pack_maps(weights, names(9), "d", 0)
    assert first == pack_maps(weights.clone(), names(9), "d", 0)
    assert first == pack_maps(weights, names(9), "d", 5), "up to the limit the layer in sight changes nothing"
    assert first != pack_maps(weights, names(9), "e", 0)


@pytest.mark.parametrize("tokens", [ALL_LAYERS_UP_TO + 1, 2 * THUMBNAIL, 2 * THUMBNAIL + 4, 511])
def test_above_the_limit_one_layer_goes_whole_and_thumbnails_are_the_largest(tokens: int) -> None:
    layer, step = 1, -(-tokens // THUMBNAIL)
    weights = maps(tokens, layers=2, heads=3)
    header, body = unpacked(pack_maps(weights, names(tokens), "d", layer))
    side = -(-tokens // step)
    assert (header["whole"], header["thumbnail"]) == ([layer], side)
    assert side <= THUMBNAIL
    values = np.frombuffer(body, np.uint8)
    size = 3 * tokens * tokens
    wanted = (weights * 255).round().to(torch.uint8).numpy()
    assert np.array_equal(values[:size].reshape(3, tokens, tokens), wanted[layer])
    largest = torch.nn.functional.max_pool2d(weights, step, ceil_mode=True)
    small = (largest * 255).round().to(torch.uint8).numpy()
    assert np.array_equal(values[size:].reshape(2, 3, side, side), small)


def test_at_the_limit_everything_goes_whole() -> None:
    weights = maps(ALL_LAYERS_UP_TO, layers=1, heads=2)
    header, body = unpacked(pack_maps(weights, names(ALL_LAYERS_UP_TO), "d", 0))
    assert header["thumbnail"] == 0
    assert len(body) == weights.numel()


def test_the_map_in_focus_is_exact_float32() -> None:
    first, second = maps(7, 1, 1)[0, 0], maps(5, 1, 1)[0, 0]
    header, body = unpacked(pack_focus({"a": 1}, first, second.double()))
    assert header == {"a": 1}
    values = np.frombuffer(body, "<f4")
    assert np.array_equal(values[:49].reshape(7, 7), first.numpy())
    assert np.array_equal(values[49:].reshape(5, 5), second.numpy())


def test_any_token_survives_and_values_begin_at_a_multiple_of_four() -> None:
    tokens = ["", "é", "😀", "\u202e", "\0", "\ud800", '"\\', "</script>"]
    for padding in range(4):
        packed = pack_focus({"tokens": [*tokens, "x" * padding]}, torch.ones(1, 1))
        header, body = unpacked(packed)
        assert header["tokens"][:-1] == tokens
        assert (len(packed) - len(body)) % 4 == 0
        assert np.frombuffer(body, "<f4").tolist() == [1.0]
