"""Canonical weights, through which all implementations share theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor, nn

from ..errors import SizeError


@dataclass(frozen=True)
class Weights:
    """The four matrices of multi-head attention as nn.Linear keeps them; biases (d_model,) or None.

    A matrix is (out, in) = (d_model, d_model). Rows h·d_head … (h + 1)·d_head − 1 of q, k and v belong to head h; so do
    these columns of o. With fewer key/value heads k and v are (d_kv, d_model), d_kv = n_kv_heads · d_head.
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

    @property
    def biases(self) -> dict[str, bool]:
        """Which biases there are, as arguments of a layer: bias (of q and k), v_bias and out_bias."""
        found = {"bias": self.q_bias, "v_bias": self.v_bias, "out_bias": self.o_bias}
        return {name: bias is not None for name, bias in found.items()}

    @property
    def with_all_biases(self) -> Weights:
        """The same function with biases of q, k and v: one that lacked is 0. For a form that has one bias for all."""
        zero = {f"{name}_bias": self.q.new_zeros(len(getattr(self, name))) for name in "qkv"}
        return replace(self, **{name: bias for name, bias in zero.items() if getattr(self, name) is None})

    def only(self, bias: bool, v_bias: bool, out_bias: bool) -> Weights:
        """The same with no bias but those that a layer of these arguments has."""
        q, k = (self.q_bias, self.k_bias) if bias else (None, None)
        v, o = self.v_bias if v_bias else None, self.o_bias if out_bias else None
        return replace(self, q_bias=q, k_bias=k, v_bias=v, o_bias=o)

    def check(self, d_model: int, biases: dict[str, bool], d_kv: int | None = None) -> None:
        """Raises a SizeError unless these weights fit a layer of that width with exactly these biases."""
        for name, tensor in self.items():
            matrix = not name.endswith("_bias")
            rows = d_model if d_kv is None or not name.startswith(("k", "v")) else d_kv
            expected = (rows, d_model) if matrix else (rows,)
            wanted = matrix or biases[name]
            option = {"o_bias": "out_bias", "v_bias": "v_bias"}.get(name, "bias")
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
    """The parts of a matrix (c + 2 d_kv, c) that holds q, k and v one under the other, and of the output's Linear."""
    parts: Parts = {name: [rows] for name, rows in zip("qkv", split_stacked(qkv, len(out.weight)), strict=True)}
    if qkv_bias is not None:
        parts |= {
            f"{name}_bias": [rows] for name, rows in zip("qkv", split_stacked(qkv_bias, len(out.weight)), strict=True)
        }
    return parts | of_linears(o=[out])


def split_stacked(stacked: Tensor, d_model: int) -> tuple[Tensor, ...]:
    """The rows of q (d_model of them), of k and of v (half of the rest each) of a stacked matrix or bias; views."""
    d_kv = (len(stacked) - d_model) // 2
    return torch.split(stacked, [d_model, d_kv, d_kv])


def write(weights: Weights, parts: Parts) -> None:
    """Copies the weights into a layer's parameters."""
    for name, several in parts.items():
        for part, rows in zip(several, getattr(weights, name).chunk(len(several)), strict=True):
            part.data.copy_(rows)


def read(parts: Parts) -> Weights:
    """A copy of a layer's parameters in canonical form."""
    return Weights(**{name: torch.cat([part.detach() for part in several]) for name, several in parts.items()})
