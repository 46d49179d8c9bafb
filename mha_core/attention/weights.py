"""The canonical form through which all implementations share their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn

from ..errors import SizeError

__all__ = ["Weights"]


@dataclass(frozen=True)
class Weights:
    """The four matrices of multi-head attention as nn.Linear keeps them; biases (d_model,) or None.

    A matrix is (out, in) = (d_model, d_model). Rows h·d_head … (h + 1)·d_head − 1 of q, k and v belong to head h; so do
    these columns of o.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor
    q_bias: Tensor | None = None
    k_bias: Tensor | None = None
    v_bias: Tensor | None = None
    o_bias: Tensor | None = None

    def items(self) -> list[tuple[str, Tensor | None]]:
        """(name, matrix or bias or None) in the order of the fields."""
        return [(field.name, getattr(self, field.name)) for field in fields(self)]

    def check(self, d_model: int, biases: dict[str, bool]) -> None:
        """Raises a SizeError unless these weights fit a layer of that width with exactly these biases."""
        for name, tensor in self.items():
            matrix = not name.endswith("_bias")
            expected = (d_model, d_model) if matrix else (d_model,)
            wanted = matrix or biases[name]
            option = "out_bias" if name == "o_bias" else "bias"
            if tensor is None and wanted:
                raise SizeError(f"the layer has {name} but the weights do not; build it with {option}=False")
            if tensor is not None and not wanted:
                raise SizeError(f"the weights have {name} but the layer does not; build it with {option}=True")
            if tensor is not None and tuple(tensor.shape) != expected:
                raise SizeError(f"{name} has shape {tuple(tensor.shape)}, the layer needs {expected}")


def copy_of(linear: nn.Linear) -> tuple[Tensor, Tensor | None]:
    """Detached copies of a Linear's matrix and bias."""
    return linear.weight.detach().clone(), None if linear.bias is None else linear.bias.detach().clone()


def into_linears(weights: Weights, **linears: Sequence[nn.Linear]) -> None:
    """Writes q, k, v and o each into one Linear, or into several that share its rows in equal parts."""
    for name, parts in linears.items():
        bias = getattr(weights, f"{name}_bias")
        biases = [None] * len(parts) if bias is None else bias.chunk(len(parts))
        for linear, matrix, own in zip(parts, getattr(weights, name).chunk(len(parts)), biases, strict=True):
            linear.weight.data.copy_(matrix)
            if own is not None:
                linear.bias.data.copy_(own)


def from_linears(**linears: Sequence[nn.Linear]) -> Weights:
    """The inverse of `into_linears`, as copies."""
    tensors: dict[str, Tensor] = {}
    for name, parts in linears.items():
        matrices, biases = zip(*map(copy_of, parts), strict=True)
        tensors[name] = torch.cat(matrices)
        if biases[0] is not None:
            tensors[f"{name}_bias"] = torch.cat(biases)
    return Weights(**tensors)
