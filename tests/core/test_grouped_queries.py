"""Fewer key/value heads than query heads: every implementation that can against the dense loop, and those that cannot.

The reference knows no groups: the rows of k and v of each key/value head are written out for all its query heads.
"""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS, Trace, Weights, masks
from mha_core.attention import AttentionLayer
from mha_core.attention.key_value import KVCache
from mha_core.errors import HeadlightError, SizeError, Unsupported
from mha_core.positions import ALiBi, Rotary, Sinusoidal
from tests.closeness import same_function

from . import attention_cases
from .attention_cases import dense_pass, pass_of

pytestmark = pytest.mark.numeric

B, H, C, D = 2, 4, 24, 6
ABLE = [name for name, kind in IMPLEMENTATIONS.items() if "kv_heads" in kind.can]
able = pytest.mark.parametrize("name", ABLE)
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"allow": masks.allow(masks.causal, 5, 5), "temperature": 0.7},
    "rotated": {"position": Rotary(D), "heads": torch.tensor([True, False, True, True])},
    "slanted": {"position": ALiBi(H), "allow": masks.allow(masks.window(2), 5, 5)},
}


def grouped_weights(g: int, bias: bool = True) -> Weights:
    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64) / math.sqrt(C)

    biases = [drawn(C), drawn(g * D), drawn(g * D), drawn(C)] if bias else [None] * 4
    return Weights(drawn(C, C), drawn(g * D, C), drawn(g * D, C), drawn(C, C), *biases)


def written_out(weights: Weights) -> Weights:
    """The same without groups: each key/value head's rows once for every query head that it serves."""

    def all_heads(name: str, rows: Tensor | None) -> Tensor | None:
        if rows is None or not name.startswith(("k", "v")):
            return rows
        heads = [rows[n * D : (n + 1) * D] for n in range(len(rows) // D)]
        return torch.cat([heads[n * len(heads) // H] for n in range(H)])

    return Weights(**{name: all_heads(name, rows) for name, rows in weights.items()})  # type: ignore[arg-type]


def build(name: str, weights: Weights) -> AttentionLayer:
    return attention_cases.build(name, weights, H)


@able
@pytest.mark.parametrize("g", [1, 2])
def test_equal_to_the_dense_loop_with_gradients(name: str, g: int) -> None:
    for number, (case, options) in enumerate(CASES.items()):
        weights, need_weights = grouped_weights(g, bias=number != g), number % 2 != g % 2
        inputs = [torch.randn(B, 5, C, dtype=torch.float64, requires_grad=True) for _ in range(1 + (case == "plain"))]
        out, maps, gradient = pass_of(name, weights, inputs, options, need_weights, H)
        expected = dense_pass(weights, inputs, options, need_weights, H, written_out)
        same_function(out, expected[0])
        same_function(gradient, expected[2])
        assert (maps is not None) == need_weights
        if maps is not None:
            same_function(maps, expected[1])


@able
def test_a_cache_gives_the_rows_of_the_whole_pass(name: str) -> None:
    for position in (Rotary(D), ALiBi(H), Sinusoidal(C), None):
        layer, x = build(name, grouped_weights(2)), torch.randn(B, 7, C, dtype=torch.float64)
        allow, cache = masks.allow(masks.causal, 7, 7), KVCache()
        out, maps = layer(x, allow=allow, position=position)
        growing = layer.with_cache(cache)
        for first, last in ((0, 3), (3, 4), (4, 7)):
            rows = {"allow": allow[:, :, first:last, :last], "position": position}
            own_out, own_maps = growing(x[:, first:last], **rows)
            assert cache.length == last
            same_function(own_out, out[:, first:last])
            same_function(own_maps, maps[:, :, first:last, :last])
        cache.cut(2)
        again, _ = growing(x[:, 2:3], allow=allow[:, :, 2:3, :3], position=position)
        same_function(again, out[:, 2:3])


def test_unsupported_groups_are_refused() -> None:
    for wrong in (0, 3, 8, -1):
        with pytest.raises(SizeError, match=f"n_kv_heads={wrong} cannot serve 4 query heads equally"):
            IMPLEMENTATIONS["fused"](C, H, n_kv_heads=wrong)
    for name in set(IMPLEMENTATIONS) - set(ABLE):
        with pytest.raises(Unsupported, match="cannot share 2 key/value heads; choose another implementation"):
            IMPLEMENTATIONS[name](C, H, n_kv_heads=2)
        with pytest.raises(Unsupported, match="cannot cache keys and values"):
            IMPLEMENTATIONS[name](C, H).with_cache(KVCache())
    with pytest.raises(SizeError, match=r"k has shape \(24, 24\), the layer needs \(12, 24\)"):
        build("fused", grouped_weights(2)).load(grouped_weights(4))
    growing = build("fused", grouped_weights(2)).with_cache(KVCache())
    with pytest.raises(HeadlightError, match="a trace needs the whole sequence"):
        growing(torch.randn(B, 5, C, dtype=torch.float64), trace=Trace())
