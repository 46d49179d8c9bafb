"""Masks and values for a foreign model, whose queries and keys may be other tokens."""

import torch
from torch import Tensor

from .. import masks
from ..errors import SizeError
from ..models.inputs import Mask, joint_mask


def no_mask(mask: Mask) -> bool:
    """Whether nothing is asked for beside the model's own."""
    return mask is masks.full or (isinstance(mask, str) and mask == "none")


def joint(
    mask: Mask, own_mask: str, group: str, n_heads: int, sizes: tuple[int, int], keep: Tensor | None
) -> Tensor | None:
    """The mask of all layers of a group, its own in it, bool (b|1, h|1, i, j); None when everything is allowed.

    Raises:
        MaskError: it is no written form, rule or bool tensor, or does not fit these sizes.
    """
    if no_mask(mask) and own_mask == "none":
        return None
    if group != "cross":
        return joint_mask(mask, own_mask, n_heads, sizes[0], keep)
    if isinstance(mask, Tensor):
        return masks.four_axes(mask, 1, n_heads, *sizes)
    return masks.allow(masks.parse(mask) if isinstance(mask, str) else mask, *sizes)


def values_mixed(places: tuple[int, ...], group: str, sizes: tuple[int, int]) -> Tensor | None:
    """bool (1, 1, i, j), False where the value of a key in `places` is not mixed in; None for none.

    Each token mixes in its own; where queries and keys are other tokens, no key is a query's own.

    Raises:
        SizeError: something in it is no place of a token. One that the text lacks changes nothing.
    """
    wrong = [place for place in places if not isinstance(place, int) or place < 0]
    if wrong:
        raise SizeError(f"values_off has {wrong[0]!r}; give places of tokens, counted from 0")
    values = masks.allow(masks.unseen(*places), *sizes).clone()
    if group == "cross":
        values[..., [place for place in places if place < sizes[1]]] = False
    return None if bool(values.all()) else values


def of_one(allow: Tensor | None, row: int, rows: int, columns: int) -> Tensor | None:
    """The mask (1|h, i, j) of one text of a batch; None when everything is allowed."""
    if allow is None:
        return None
    cut = allow[row if len(allow) > 1 else 0, :, :rows, :columns]
    return None if bool(cut.all()) else cut


def on(tensor: Tensor | None, device: torch.device) -> Tensor | None:
    """The tensor there, if there is one."""
    return None if tensor is None else tensor.to(device)
