"""Mask tensors: created from a rule, or checked if a caller passes its own."""

from operator import contains

import torch
from torch import Tensor

from ..errors import MaskError
from .rules import Rule


def allow(
    rule: Rule, len_q: int, len_k: int, keep: Tensor | None = None, device: torch.device | str | None = None
) -> Tensor:
    """Return the mask tensor of a rule, bool (b|1, 1, i, j), True = may attend.

    Args:
        rule: see `masks`.
        len_q: number of queries.
        len_k: number of keys.
        keep: bool (b, j), True = real token; padding keys are forbidden to every query.
        device: device of the result; defaults to that of `keep`, else the CPU.

    Raises:
        MaskError: the rule does not return a bool tensor of that size, or `keep` does not fit.
    """
    if device is None and keep is not None:
        device = keep.device
    i = torch.arange(len_q, device=device)[:, None]
    j = torch.arange(len_k, device=device)[None, :]
    result = rule(i, j)
    if not isinstance(result, Tensor) or result.dtype != torch.bool:
        raise MaskError(
            f"a rule must return a bool tensor, this one gave {getattr(result, 'dtype', type(result).__name__)}"
        )
    try:
        result = result.expand(len_q, len_k)[None, None]
    except RuntimeError as error:
        raise MaskError(f"a rule gave shape {tuple(result.shape)} for {len_q} queries × {len_k} keys") from error
    if keep is None:
        return result
    if keep.dtype != torch.bool or keep.dim() != 2 or keep.shape[1] != len_k:
        raise MaskError(f"keep must be bool (batch, {len_k}), got {keep.dtype} {tuple(keep.shape)}")
    return result & keep.to(result.device)[:, None, None, :]


def check(mask: Tensor, name: str, *shapes: tuple[tuple[int, ...], ...]) -> None:
    """Check that a caller's mask is bool and has one of the shapes.

    Args:
        mask: the mask.
        name: argument name used in error messages.
        *shapes: allowed shapes, each a tuple with the allowed sizes of every axis; without shapes any is accepted.

    Raises:
        MaskError: not bool, or another shape.
    """
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        got = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise MaskError(
            f"{name} must be a bool tensor (True = may attend), got {got}; compare it with 0 or use masks.allow"
        )
    fits = [len(shape) == mask.dim() and all(map(contains, shape, mask.shape)) for shape in shapes]
    if shapes and not any(fits):
        *others, last = [f"({', '.join('|'.join(map(str, sizes)) for sizes in shape)})" for shape in shapes]
        allowed = f"{', '.join(others)} and {last}" if others else last
        raise MaskError(f"{name} has shape {tuple(mask.shape)}; allowed are {allowed}")


def to_four_axes(mask: Tensor, b: int, h: int, i: int, j: int, name: str = "allow") -> Tensor:
    """Check a caller's mask and reshape it to bool (b|1, h|1, i, j).

    Raises:
        MaskError: not bool, or none of the shapes (i, j), (h, i, j), (b|1, h|1, i, j).
    """
    check(mask, name, ((i,), (j,)), ((h,), (i,), (j,)), ((b, 1), (h, 1), (i,), (j,)))
    return mask[(None,) * (4 - mask.dim())]
