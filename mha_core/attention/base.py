"""What every implementation shares: sizes, the border where arguments are checked, and the contract with positions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from .. import masks
from ..errors import DeviceError, DtypeError, HeadlightError, SizeError, Unsupported
from ..positions.base import Nothing, Position
from ..trace import Tracer, no_trace
from .functional import check_heads, check_temperature, same_kind
from .weights import Weights

__all__ = ["EVERYTHING", "AttentionLayer", "add_once"]

EVERYTHING = frozenset({"maps", "rotate", "bias", "head_mask", "heads", "temperature"})
_NOTHING = Nothing()


class AttentionLayer(nn.Module, ABC):
    """Multi-head attention over batch-first tensors.

    Args:
        d_model: width of query, key, value and output; a multiple of n_heads.
        n_heads: number of heads; each has d_head = d_model / n_heads channels.
        bias: biases on the projections of q, k and v.
        out_bias: bias on the output projection; None = like `bias`.
        dropout: probability of dropping a weight while training; the weights returned are those before it.

    Raises:
        SizeError: d_model is no multiple of n_heads.
        HeadlightError: dropout is not in [0, 1).
    """

    can: ClassVar[frozenset[str]] = EVERYTHING

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, out_bias: bool | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__()
        check_heads("d_model", d_model, n_heads)
        if not 0 <= dropout < 1:
            raise HeadlightError(f"dropout={dropout} is not a probability below 1; choose 0 ≤ dropout < 1")
        self.d_model = d_model
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.bias = bias
        self.out_bias = bias if out_bias is None else out_bias
        self.dropout = dropout

    @abstractmethod
    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        allow: Tensor | None,
        position: Position,
        heads: Tensor | None,
        temperature: float,
        need_weights: bool,
        trace: Tracer,
    ) -> tuple[Tensor, Tensor | None]:
        """The implementation itself. Arguments are checked, batch first and never None but for `allow` and `heads`."""

    @abstractmethod
    def load(self, weights: Weights) -> Self:
        """Takes over canonical weights, cast to this layer's dtype and device; returns itself.

        Raises:
            SizeError: shapes or biases differ from this layer's.
        """

    @abstractmethod
    def save(self) -> Weights:
        """A copy of the weights in canonical form."""

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        allow: Tensor | None = None,
        position: Position | None = None,
        heads: Tensor | None = None,
        temperature: float = 1.0,
        need_weights: bool = True,
        trace: Tracer = no_trace,
    ) -> tuple[Tensor, Tensor | None]:
        """Attention from `query` to `key`, handing on `value`.

        Args:
            query: (b, i, d_model), or (i, d_model) without a batch.
            key: (b, j, d_model); default `query`.
            value: (b, j, d_model); default `key`.
            allow: bool (i, j), (h, i, j) or (b|1, h|1, i, j), True = may look; moved to the query's device.
            position: an encoding; add() acts on query, key and value, once per distinct tensor, rotate() on q and k,
                bias() on the scores.
            heads: bool (h,) or (b, h), False sets that head's mixed output to 0.
            temperature: divides the scores.
            need_weights: False leaves the maps out, which is faster.
            trace: a `Trace` to record every step; the pass then takes the explicit path, equal to the fast one.

        Returns:
            out, shaped like `query`, and weights (b, h, i, j), one map per head, before dropout (None without
            need_weights). Without a batch: weights (h, i, j).

        Raises:
            SizeError, MaskError, DtypeError, DeviceError: arguments do not fit; Unsupported: not in `can`.
        """
        key = query if key is None else key
        value = key if value is None else value
        batched = self._check_inputs(query, key, value)
        if not batched:
            query, key, value = _each_once(lambda x: x.unsqueeze(0), query, key, value)
        if allow is not None:
            allow = masks.check(allow, query.shape[0], self.n_heads, query.shape[1], key.shape[1], query.device)
        position = _NOTHING if position is None else position
        self._check_features(allow, position, heads, temperature, len(query))
        out, weights = self.attend(
            query,
            key,
            value,
            allow=allow,
            position=position,
            heads=None if heads is None else heads.to(query.device),
            temperature=temperature,
            need_weights=need_weights,
            trace=trace,
        )
        if not batched:
            out, weights = out.squeeze(0), None if weights is None else weights.squeeze(0)
        return out, weights

    def extra_repr(self) -> str:
        names = ("d_model", "n_heads", "bias", "out_bias", "dropout")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)

    def _biases(self) -> dict[str, bool]:
        return {"q_bias": self.bias, "k_bias": self.bias, "v_bias": self.bias, "o_bias": self.out_bias}

    def _check_inputs(self, query: Tensor, key: Tensor, value: Tensor) -> bool:
        """Checks sizes, dtypes and devices; True when there is a batch axis."""
        same_kind(query=query, key=key, value=value)
        own = next(self.parameters())
        if query.dtype != own.dtype:
            raise DtypeError(f"query is {query.dtype}, the layer {own.dtype}; convert one with .to(dtype)")
        if query.device != own.device:
            raise DeviceError(f"query is on {query.device}, the layer on {own.device}; move one with .to(device)")
        shapes = [tuple(x.shape) for x in (query, key, value)]
        batched = query.dim() == 3
        fits = all(len(shape) == query.dim() and shape[-1] == self.d_model for shape in shapes)
        fits = fits and query.dim() in (2, 3) and shapes[1] == shapes[2]
        if not fits or (batched and shapes[0][0] != shapes[1][0]):
            c = self.d_model
            need = f"(b, i, {c}), (b, j, {c}), (b, j, {c}) or all three without b"
            raise SizeError(f"query, key, value have shapes {shapes}; need {need}")
        if 0 in (shapes[0][-2], shapes[1][-2]):
            raise SizeError(f"query, key, value have shapes {shapes}: length 0; give at least one token")
        return batched

    def _check_features(
        self, allow: Tensor | None, position: Position, heads: Tensor | None, temperature: float, b: int
    ) -> None:
        """Checks `heads` and `temperature`, and that everything asked for is in `can`."""
        check_temperature(temperature)
        if heads is not None and not (
            isinstance(heads, Tensor)
            and heads.dtype == torch.bool
            and heads.shape in ((self.n_heads,), (b, self.n_heads))
        ):
            got = f"{heads.dtype} {tuple(heads.shape)}" if isinstance(heads, Tensor) else type(heads).__name__
            raise SizeError(f"heads must be bool ({self.n_heads},) or ({b}, {self.n_heads}), True = on, got {got}")
        asked = set(position.acts & {"rotate", "bias"})
        asked |= {"heads"} if heads is not None else set()
        asked |= {"temperature"} if temperature != 1.0 else set()
        asked |= {"head_mask"} if allow is not None and allow.shape[1] > 1 else set()
        missing = sorted(asked - self.can)
        if missing:
            can = ", ".join(sorted(self.can))
            raise Unsupported(f"{type(self).__name__} cannot do {', '.join(missing)}; it can do {can}")


def add_once(position: Position, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """position.add on query, key and value, once per distinct tensor, so that self-attention stays self-attention."""
    return _each_once(position.add, query, key, value)


def _each_once(function, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # type: ignore[no-untyped-def]
    new_query = function(query)
    new_key = new_query if key is query else function(key)
    new_value = new_query if value is query else new_key if value is key else function(value)
    return new_query, new_key, new_value
