"""Canonical weights, through which all implementations share theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn

from ..errors import SizeError

__all__ = ["Parts", "Weights", "of_linears", "of_stacked", "read", "write"]


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


Parts = dict[str, Sequence[Tensor]]
"""A layer's own parameters behind each field of `Weights`: views of them, which share its rows in equal parts."""


def of_linears(**linears: Sequence[nn.Linear]) -> Parts:
    """The parts of q, k, v and o, each one Linear, or several that share its rows."""
    parts: Parts = {name: [linear.weight for linear in several] for name, several in linears.items()}
    biases = {f"{name}_bias": [linear.bias for linear in several] for name, several in linears.items()}
    return parts | {name: several for name, several in biases.items() if several[0] is not None}


def of_stacked(qkv: Tensor, qkv_bias: Tensor | None, out: nn.Linear) -> Parts:
    """The parts of a matrix (3 c, c) that holds q, k and v one under the other, and of the output's Linear."""
    parts: Parts = {name: [rows] for name, rows in zip("qkv", qkv.chunk(3), strict=True)}
    if qkv_bias is not None:
        parts |= {f"{name}_bias": [rows] for name, rows in zip("qkv", qkv_bias.chunk(3), strict=True)}
    return parts | of_linears(o=[out])


def write(weights: Weights, parts: Parts) -> None:
    """Copies the weights into a layer's parameters."""
    for name, several in parts.items():
        for part, rows in zip(several, getattr(weights, name).chunk(len(several)), strict=True):
            part.data.copy_(rows)


def read(parts: Parts) -> Weights:
    """A copy of a layer's parameters in canonical form."""
    return Weights(**{name: torch.cat([part.detach() for part in several]) for name, several in parts.items()})
