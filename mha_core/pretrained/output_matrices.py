"""Which matrix each attention of a foreign model hands its heads to, Wᵒ: the first that takes them as they came out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from .seam import Call


@contextmanager
def watched(module: nn.Module, calls: list[Call]) -> Iterator[dict[str, str]]:
    """Path of an attention -> name of the linear module that took its "mixed" (b, i, h, d), side by side, unchanged.

    Args:
        calls: to which a pass inside the block adds those of the attentions, with "mixed" recorded.
    """
    from transformers.pytorch_utils import Conv1D

    found: dict[str, str] = {}

    def look(name: str) -> Any:
        def before(linear: nn.Module, args: tuple[Any, ...]) -> None:
            call = calls[-1] if calls else None
            if call is None or call.path in found or not args or not isinstance(args[0], Tensor):
                return
            mixed = call.parts["mixed"].flatten(2)
            if args[0].numel() == mixed.numel() and torch.equal(args[0].reshape(-1), mixed.reshape(-1)):
                found[call.path] = name

        return before

    linears = [(name, one) for name, one in module.named_modules() if isinstance(one, nn.Linear | Conv1D)]
    hooks = [one.register_forward_pre_hook(look(name)) for name, one in linears]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def matrix(linear: nn.Module) -> Tensor:
    """Its weights as rows times them are taken: (h·d, c). A bias is nobody's and left out."""
    weight: Tensor = linear.weight  # type: ignore[assignment]
    return weight.T if isinstance(linear, nn.Linear) else weight  # the other keeps it as it is multiplied
