"""The mean over heads in the place of one head's map, wherever a head can be chosen."""

from collections.abc import Sequence

from torch import Tensor

from headlight.link.place import Cursor, DisplayOptions

Heads = Sequence[tuple[int, int]]  # layer and head of each


def heads_of(look: DisplayOptions, at: Cursor, layers: int, heads: int) -> list[tuple[int, int]] | None:
    """The heads whose mean a link wants to see; None where it wants the head in focus.

    Those of the layer, of all layers, or those in sight: of the layer, or with all of them in sight of all, without
    those that are hidden. Where none is in sight it is the layer's mean.
    """
    if not look.mean:
        return None
    own = [(at.layer, head) for head in range(heads)]
    whole = [(layer, head) for layer in range(layers) for head in range(heads)]
    if look.mean != "meanseen":
        return own if look.mean == "mean" else whole
    if look.solo:
        return [look.solo]
    return [pair for pair in (whole if "all" in look.switches else own) if pair not in look.hidden] or own


def allowed(allow: Tensor, head: int, heads: Heads | None) -> Tensor:
    """The cells (i, j) where the map in focus may have a weight, out of a mask for all heads or one a head: of a mean
    where any of its heads may look."""
    return allow if allow.dim() == 2 else allow[[head] if heads is None else [own for _, own in heads]].any(dim=0)


def map_of(weights: Tensor, at: Cursor, heads: Heads | None) -> Tensor:
    """The map (i, j) in focus of these (layers, h, i, j): of a place's head, or the mean over these heads."""
    return weights[at.layer, at.head] if heads is None else mean_of(weights, heads)


def mean_of(weights: Tensor, heads: Heads) -> Tensor:
    """The mean (i, j) of these of the maps (layers, h, i, j)."""
    layers = {layer for layer, _ in heads}
    if len(heads) == len(layers) * weights.shape[1]:  # whole layers
        return (weights[layers.pop()] if len(layers) == 1 else weights.flatten(0, 1)).mean(dim=0)
    layer, head = zip(*heads, strict=True)
    return weights[list(layer), list(head)].mean(dim=0)
