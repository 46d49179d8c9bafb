"""The messages to the browser, read back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from headlight.ui.packing import ALL_LAYERS_UP_TO, THUMBNAIL, pack_maps
from mha_core.show.packing import pack_focus

from .conftest import unpacked


def maps(tokens: int, layers: int = 6, heads: int = 12) -> Tensor:
    scores = torch.randn(layers, heads, tokens, tokens, generator=torch.Generator().manual_seed(tokens))
    return (3 * scores).softmax(-1)


def names(tokens: int) -> list[str]:
    return [f"word{number}" for number in range(tokens)]


def in_steps(weights: Tensor) -> np.ndarray:
    """A weight as one of 256 steps."""
    steps: np.ndarray = (weights * 255).round().to(torch.uint8).numpy()
    return steps


def test_up_to_the_limit_every_weight_comes_back_as_its_nearest_step() -> None:
    for tokens, most in ((1, None), (3, None), (16, 1.15), (64, 1.1), (ALL_LAYERS_UP_TO, 1.1)):
        weights = maps(tokens)
        packed = pack_maps(weights, names(tokens), "d", 3)
        assert packed == pack_maps(weights.clone(), names(tokens), "d", 5), "the layer in sight changes nothing"
        assert packed != pack_maps(weights, names(tokens), "e", 3)
        header, body = unpacked(packed)
        assert (header["tokens"], header["layers"], header["heads"], header["digest"]) == (names(tokens), 6, 12, "d")
        assert (header["fullLayers"], header["thumbnail"]) == (list(range(6)), 0)
        assert np.array_equal(np.frombuffer(body, np.uint8).reshape(weights.shape), in_steps(weights))
        assert most is None or len(packed) / weights.numel() <= most, "bytes a weight"
    _, body = unpacked(pack_maps(torch.eye(4).expand(1, 1, 4, 4).contiguous(), names(4), "d", 0))
    assert body == bytes(255 * (row == column) for row in range(4) for column in range(4)), "0 and 1 are exact"


@pytest.mark.parametrize("tokens", [ALL_LAYERS_UP_TO + 1, 2 * THUMBNAIL, 2 * THUMBNAIL + 4])
def test_above_the_limit_one_layer_goes_whole_and_thumbnails_are_the_largest(tokens: int) -> None:
    layer, step = 1, -(-tokens // THUMBNAIL)
    weights = maps(tokens, layers=2, heads=3)
    header, body = unpacked(pack_maps(weights, names(tokens), "d", layer))
    side = -(-tokens // step)
    assert (header["fullLayers"], header["thumbnail"]) == ([layer], side)
    assert side <= THUMBNAIL
    values = np.frombuffer(body, np.uint8)
    size = 3 * tokens * tokens
    assert np.array_equal(values[:size].reshape(3, tokens, tokens), in_steps(weights)[layer])
    largest = torch.nn.functional.max_pool2d(weights, step, ceil_mode=True)
    assert np.array_equal(values[size:].reshape(2, 3, side, side), in_steps(largest))


def test_map_in_focus_is_exact_and_any_token_survives() -> None:
    first, second = maps(7, 1, 1)[0, 0], maps(5, 1, 1)[0, 0]
    header, body = unpacked(pack_focus({"a": 1}, first, second.double()))
    assert header == {"a": 1}
    assert body == first.numpy().tobytes() + second.numpy().tobytes(), "float32"
    tokens = ["", "é", "😀", "\u202e", "\0", "\ud800", '"\\', "</script>"]
    for padding in range(4):
        packed = pack_focus({"tokens": [*tokens, "x" * padding]}, torch.ones(1, 1))
        header, body = unpacked(packed)
        assert header["tokens"][:-1] == tokens
        assert (len(packed) - len(body)) % 4 == 0, "values begin at a multiple of four"
        assert np.frombuffer(body, "<f4").tolist() == [1.0]
