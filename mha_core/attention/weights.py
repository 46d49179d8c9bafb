"""Canonical weights, the exchange format of all implementations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor, nn

from ..errors import SizeError


@dataclass(frozen=True)
class Weights:
    """The four matrices of multi-head attention in nn.Linear's layout; biases (d_model,) or None.

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
        """Return (name, matrix or bias or None) in the order of the fields."""
        return [(field.name, getattr(self, field.name)) for field in fields(self)]

    @property
    def biases(self) -> dict[str, bool]:
        """Presence of each bias, as arguments of a layer: bias (of q and k), v_bias and out_bias."""
        tensors = {"bias": self.q_bias, "v_bias": self.v_bias, "out_bias": self.o_bias}
        return {name: bias is not None for name, bias in tensors.items()}

    @property
    def with_all_biases(self) -> Weights:
        """Equivalent weights with biases of 0 for q, k and v where they are absent.

        For layers with one bias for all three.
        """
        zero = {f"{name}_bias": self.q.new_zeros(len(getattr(self, name))) for name in "qkv"}
        return replace(self, **{name: bias for name, bias in zero.items() if getattr(self, name) is None})

    def only(self, bias: bool, v_bias: bool, out_bias: bool) -> Weights:
        """Return the weights without the biases that a layer with these arguments lacks."""
        q, k = (self.q_bias, self.k_bias) if bias else (None, None)
        v, o = self.v_bias if v_bias else None, self.o_bias if out_bias else None
        return replace(self, q_bias=q, k_bias=k, v_bias=v, o_bias=o)

    def check(self, d_model: int, biases: dict[str, bool], d_kv: int | None = None) -> None:
        """Raise a SizeError unless these weights fit a layer of that width with exactly these biases."""
        for name, tensor in self.items():
            matrix = not name.endswith("_bias")
            rows = d_model if d_kv is None or not name.startswith(("k", "v")) else d_kv
            expected = (rows, d_model) if matrix else (rows,)
            is_expected = matrix or biases[name]
            option = {"o_bias": "out_bias", "v_bias": "v_bias"}.get(name, "bias")
            if tensor is None and is_expected:
                raise SizeError(f"the layer has {name} but the weights do not; build it with {option}=False")
            if tensor is not None and not is_expected:
                raise SizeError(f"the weights have {name} but the layer does not; build it with {option}=True")
            if tensor is not None and tuple(tensor.shape) != expected:
                raise SizeError(f"{name} has shape {tuple(tensor.shape)}, the layer needs {expected}")


Parts = dict[str, Sequence[Tensor]]
"""A layer's own parameters behind each field of `Weights`: views of them, which share its rows in equal parts."""


def linear_parts(**linears: Sequence[nn.Linear]) -> Parts:
    """Return the parts of q, k, v and o, each of one Linear or of several that share its rows."""
    parts: Parts = {name: [linear.weight for linear in pieces] for name, pieces in linears.items()}
    biases = {f"{name}_bias": [linear.bias for linear in pieces] for name, pieces in linears.items()}
    return parts | {name: pieces for name, pieces in biases.items() if pieces[0] is not None}


def stacked_parts(qkv: Tensor, qkv_bias: Tensor | None, out: nn.Linear) -> Parts:
    """Return the parts of a stacked matrix (c + 2 d_kv, c) and the output Linear."""
    parts: Parts = {name: [rows] for name, rows in zip("qkv", split_stacked(qkv, len(out.weight)), strict=True)}
    if qkv_bias is not None:
        parts |= {
            f"{name}_bias": [rows] for name, rows in zip("qkv", split_stacked(qkv_bias, len(out.weight)), strict=True)
        }
    return parts | linear_parts(o=[out])


def split_stacked(stacked: Tensor, d_model: int) -> tuple[Tensor, ...]:
    """Split a stacked matrix or bias into views: d_model rows of q, then equal halves for k and v."""
    d_kv = (len(stacked) - d_model) // 2
    return torch.split(stacked, [d_model, d_kv, d_kv])


def write(weights: Weights, parts: Parts) -> None:
    """Copy weights into the parameters of a layer."""
    for name, pieces in parts.items():
        for part, rows in zip(pieces, getattr(weights, name).chunk(len(pieces)), strict=True):
            part.data.copy_(rows)


def read(parts: Parts) -> Weights:
    """Copy the parameters of a layer into canonical weights."""
    return Weights(**{name: torch.cat([part.detach() for part in pieces]) for name, pieces in parts.items()})
