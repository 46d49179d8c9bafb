"""The selected map: that of one head, or the mean over several heads."""

from collections.abc import Sequence

from torch import Tensor

from headlight.link.cursor import Cursor, DisplayOptions

Heads = Sequence[tuple[int, int]]  # layer and head of each


def heads_to_average(look: DisplayOptions, cursor: Cursor, layers: int, heads: int) -> list[tuple[int, int]] | None:
    """Return the heads to average, None for the single head in focus.

    The options name the layer's heads, all heads, or the visible ones: the layer's or all, without hidden ones. If none
    is visible, the layer's heads are averaged.
    """
    if not look.mean:
        return None
    layer_heads = [(cursor.layer, head) for head in range(heads)]
    all_heads = [(layer, head) for layer in range(layers) for head in range(heads)]
    if look.mean != "meanseen":
        return layer_heads if look.mean == "mean" else all_heads
    if look.solo:
        return [look.solo]
    heads_in_scope = all_heads if "all" in look.switches else layer_heads
    return [pair for pair in heads_in_scope if pair not in look.hidden] or layer_heads


def focus_allow(allow: Tensor, head: int, heads: Heads | None) -> Tensor:
    """Return the allowed cells (i, j) of the selected map; of a mean, those allowed in any of its heads.

    `allow` is a mask (i, j) of all heads or (h, i, j); without averaged heads `head` is the one in focus.
    """
    return allow if allow.dim() == 2 else allow[[head] if heads is None else [number for _, number in heads]].any(dim=0)


def focus_map(weights: Tensor, cursor: Cursor, heads: Heads | None) -> Tensor:
    """Return the selected map (i, j) out of weights (layers, h, i, j)."""
    return weights[cursor.layer, cursor.head] if heads is None else head_mean(weights, heads)


def head_mean(weights: Tensor, heads: Heads) -> Tensor:
    """Return the mean (i, j) over these heads of weights (layers, h, i, j)."""
    layers = {layer for layer, _ in heads}
    if len(heads) == len(layers) * weights.shape[1]:  # whole layers
        return (weights[layers.pop()] if len(layers) == 1 else weights.flatten(0, 1)).mean(dim=0)
    layer, head = zip(*heads, strict=True)
    return weights[list(layer), list(head)].mean(dim=0)
