"""Conventions of a layer that raise no error when they are mixed, each computed in its ways."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from ..attention import AttentionLayer
from ..attention.efficient import EfficientAttention
from ..attention.sequence_first import SequenceFirstAttention
from ..positions import Position
from ..positions.rotated import permute_to_neighbours, rotate_halves, rotate_neighbours

Pairing = Literal["halves", "neighbours", "permuted"]
Order = Literal["repeated", "tiled"]
Layout = Literal["length first", "batch first"]
Masked = Literal["keys", "rows and keys", "nothing"]
PAIRINGS: dict[Pairing, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "halves": rotate_halves,
    "permuted": lambda x, cos, sin: rotate_neighbours(permute_to_neighbours(x), cos, sin),
    "neighbours": rotate_neighbours,
}


def key_heads(n_heads: int, groups: int, order: Order) -> Tensor:
    """Return which of the key heads each query head reads, (h)."""
    heads = torch.arange(groups)
    return heads.repeat_interleave(n_heads // groups) if order == "repeated" else heads.repeat(n_heads // groups)


def group_counts(n_heads: int) -> list[int]:
    """Return the numbers of key heads that can serve so many query heads, up to half of them."""
    return [groups for groups in range(1, n_heads) if n_heads % groups == 0]


def attend_in_layout(layer: SequenceFirstAttention, x: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
    """Pass x (b, n, c) to a layer that takes (n, b, c), transposed or "batch first" as it is.

    Returns out (b, n, c), and the layer's weights: (n, n, b, h), or "batch first" (b, b, n, h).
    """
    if layout == "batch first":
        return layer.time_first(x, x, x)
    x = x.transpose(0, 1)
    out, weights = layer.time_first(x, x, x)
    return out.transpose(0, 1), weights


def position_parts(layer: EfficientAttention, content: Tensor, positions: Tensor) -> dict[tuple[str, str], Tensor]:
    """Return the scores (h, i, j) of content + positions, both (n, c), as four summands by query and key.

    Biases belong to the content.
    """
    q, k = (
        {"content": linear(content), "position": F.linear(positions, linear.weight)}
        for linear in (layer.query, layer.key)
    )
    heads = key_heads(layer.n_heads, layer.n_kv_heads, "repeated")

    def split(x: Tensor) -> Tensor:
        return x.view(len(x), -1, layer.d_head).transpose(0, 1)

    return {(a, b): split(q[a]) @ split(k[b])[heads].mT / layer.d_head**0.5 for a in q for b in k}


def attend_with_padding(
    layer: AttentionLayer, x: Tensor, padding: Tensor, allow: Tensor, masked: Masked, position: Position
) -> tuple[Tensor, Tensor]:
    """Pass x (n, c) and padding (m, c) behind it, under a mask (n + m, n + m).

    Returns out (n + m, c) and weights (h, n + m, n + m).
    """
    keep = torch.arange(len(allow)) < len(x)
    keys = keep if masked != "nothing" else torch.ones_like(keep)
    rows = keep if masked == "rows and keys" else torch.ones_like(keep)
    out, weights = layer(torch.cat((x, padding))[None], allow=allow & keys & rows[:, None], position=position)
    return out[0], weights[0]
