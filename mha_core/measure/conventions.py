"""Conventions of a layer that raise no error when two are mixed: each computed both ways."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..attention import AttentionLayer, Weights
from ..attention.sequence_first import SequenceFirstAttention
from ..positions import Position
from ..positions.rotated import permute_to_neighbours, rotate_halves, rotate_neighbours, rotation_tables

Pairing = Literal["halves", "neighbours", "permuted"]
Order = Literal["repeated", "tiled"]
Layout = Literal["length first", "batch first"]
Masked = Literal["keys", "nothing", "rows and keys"]
PAIRINGS: dict[Pairing, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "halves": rotate_halves,
    "neighbours": rotate_neighbours,
    "permuted": lambda x, cos, sin: rotate_neighbours(permute_to_neighbours(x), cos, sin),
}


def rotate(x: Tensor, base: float, pairing: Pairing) -> Tensor:
    """Rotate x (h, n, d) by the positions 0 to n − 1."""
    cos, sin = (table.to(x) for table in rotation_tables(x.shape[-2], x.shape[-1], base))
    return PAIRINGS[pairing](x, cos, sin)


def scores(q: Tensor, k: Tensor) -> Tensor:
    """Return the scores (h, i, j) of q (h, i, d) and k (h, j, d)."""
    return q @ k.mT / math.sqrt(q.shape[-1])


def softmax(values: Tensor, allow: Tensor) -> Tensor:
    """Return the weights of scores (h, i, j) under a mask (i, j) or (h, i, j); rows without a key are 0."""
    return values.masked_fill(~allow, -math.inf).softmax(dim=-1).nan_to_num()


def key_heads(n_heads: int, groups: int, order: Order) -> Tensor:
    """Return which of the key heads each query head reads, (h)."""
    heads = torch.arange(groups)
    return heads.repeat_interleave(n_heads // groups) if order == "repeated" else heads.repeat(n_heads // groups)


def mean_of_groups(k: Tensor, groups: int) -> Tensor:
    """Return the mean key head of each group, (g, j, d), for k (h, j, d)."""
    return k.unflatten(0, (groups, -1)).mean(dim=1)


def group_counts(n_heads: int) -> list[int]:
    """Return the numbers of key heads that could serve so many query heads, without 1 for each."""
    return [groups for groups in range(1, n_heads) if n_heads % groups == 0]


def attend_in_layout(layer: SequenceFirstAttention, x: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
    """Pass sentences (b, n, c) to a layer that takes (n, b, c), turned for it or as they are.

    Returns:
        out (b, n, c), and the layer's weights (i, j, b, h): as they are, i and j count the sentences.
    """
    given = x.transpose(0, 1) if layout == "length first" else x
    out, weights = layer.time_first(given, given, given)
    return out.transpose(0, 1) if layout == "length first" else out, weights


def with_key_head_each(weights: Weights, n_heads: int) -> Weights:
    """Return the weights with shared key and value heads written out, one for each query head."""
    d_head = len(weights.q) // n_heads

    def repeat(part: Tensor | None) -> Tensor | None:
        if part is None:
            return None
        heads = part.unflatten(0, (-1, d_head))
        return heads[key_heads(n_heads, len(heads), "repeated")].flatten(0, 1)

    shared = {name: repeat(getattr(weights, name)) for name in ("k", "v", "k_bias", "v_bias")}
    return replace(weights, **shared)


def position_parts(weights: Weights, n_heads: int, content: Tensor, position: Tensor) -> dict[tuple[str, str], Tensor]:
    """Return the scores (h, i, j) of content + position, each (n, c), as four parts: query part, key part.

    The parts add up to the scores. Biases belong to the content.
    """
    full = with_key_head_each(weights, n_heads)

    def heads(x: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
        return F.linear(x, matrix, bias).unflatten(-1, (n_heads, -1)).transpose(0, 1)

    q = {"content": heads(content, full.q, full.q_bias), "position": heads(position, full.q)}
    k = {"content": heads(content, full.k, full.k_bias), "position": heads(position, full.k)}
    return {(ask, offer): scores(q[ask], k[offer]) for ask in q for offer in k}


def add_positions(content: Tensor, position: Tensor, w: Tensor) -> Tensor:
    """Return (x + p) W for content and position (n, c)."""
    return F.linear(content + position, w)


def concatenate_positions(content: Tensor, position: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
    """Return [x p] [W1; W2] for content and position (n, c)."""
    return F.linear(torch.cat((content, position), dim=-1), torch.cat((w1, w2), dim=-1))


def attend_with_padding(
    layer: AttentionLayer, x: Tensor, padding: Tensor, allow: Tensor, masked: Masked, position: Position
) -> tuple[Tensor, Tensor]:
    """Pass x (n, c) with rows of padding (m, c) behind it; `allow` is the mask (n + m, n + m) without padding.

    Returns:
        out (n + m, c) and weights (h, i, j).
    """
    keep = torch.arange(len(x) + len(padding)) < len(x)
    rows = keep[:, None] if masked == "rows and keys" else torch.ones_like(keep)[:, None]
    open_cells = allow if masked == "nothing" else allow & keep & rows
    out, weights = layer(torch.cat((x, padding))[None], allow=open_cells, position=position)
    return out[0], weights[0]


def torch_batch_second(module: nn.MultiheadAttention, x: Tensor) -> Tensor:
    """Return the output of nn.MultiheadAttention with batch_first=False for x as it is."""
    module.batch_first = False
    out: Tensor = module(x, x, x, need_weights=False)[0]
    return out
