"""Base class of all implementations: sizes, argument checks, loading and saving of weights."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Self

from torch import Tensor, nn

from .. import masks
from ..errors import DeviceError, DtypeError, HeadlightError, SizeError, Unsupported
from ..positions.base import Offset, Position
from ..trace import Tracer, no_trace
from .functional import check_heads, check_tensors
from .key_value import KVCache
from .switches import EVERYTHING, NO_POSITIONS, Ablation, Switches
from .weights import Parts, Weights, read, write


class AttentionLayer(nn.Module, ABC):
    """Multi-head attention over batch-first tensors ("Attention Is All You Need", section 3.2.2).

    MultiHead(Q, K, V) = Concat(head₁, …, headₕ) Wᵒ with headₙ = softmax(Q Wqₙ (K Wkₙ)ᵀ / √d_head) V Wvₙ. A subclass
    creates its parameters in `build`, computes the pass in `attend`, and maps its parameters to `Weights` in `parts`.

    Args:
        d_model: width of query, key, value and output; a multiple of n_heads.
        n_heads: number of heads; each has d_head = d_model / n_heads channels.
        bias: biases on the projections of q, k and v.
        out_bias: bias on the output projection; None = like `bias`.
        v_bias: bias on the projection of v; None = like `bias`.
        dropout: probability of dropping a weight in training; the returned weights are those before dropout.
        n_kv_heads: key/value heads, each shared by n_heads / n_kv_heads query heads; default n_heads.

    Raises:
        SizeError: d_model is not a multiple of n_heads, or n_heads not a multiple of n_kv_heads.
        Unsupported: n_kv_heads < n_heads without "kv_heads" in `can`, or v_bias differs from bias in an implementation
            with one matrix for q, k and v.
        HeadlightError: dropout is not in [0, 1).
    """

    can: ClassVar[frozenset[str]] = EVERYTHING
    one_matrix: ClassVar[bool] = False  # one matrix, and so one bias, for q, k and v
    cache: KVCache | None = None

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        bias: bool = True,
        out_bias: bool | None = None,
        dropout: float = 0.0,
        n_kv_heads: int | None = None,
        v_bias: bool | None = None,
    ) -> None:
        super().__init__()
        check_heads("d_model", d_model, n_heads)
        if not 0 <= dropout < 1:
            raise HeadlightError(f"dropout={dropout} is not a probability below 1; choose 0 ≤ dropout < 1")
        self.d_model = d_model
        self.n_heads = n_heads
        self.n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        self.d_head = d_model // n_heads
        self.d_kv = self.n_kv_heads * self.d_head
        self.bias = bias
        self.out_bias = bias if out_bias is None else out_bias
        self.v_bias = bias if v_bias is None else v_bias
        self.dropout = dropout
        self._check_form()
        self.build()

    @abstractmethod
    def build(self) -> None:
        """Create the parameters in the layout of this implementation."""

    @abstractmethod
    def attend(self, query: Tensor, key: Tensor, value: Tensor, switches: Switches) -> tuple[Tensor, Tensor | None]:
        """Compute output and weights from checked, batch-first arguments."""

    @abstractmethod
    def parts(self) -> Parts:
        """Return the parameters behind each canonical weight; absent biases are omitted."""

    def load(self, weights: Weights) -> Self:
        """Copy canonical weights into this layer, cast to its dtype and device, and return the layer.

        Raises:
            SizeError: shapes or biases differ from this layer's.
        """
        biases = {"q_bias": self.bias, "k_bias": self.bias, "v_bias": self.v_bias, "o_bias": self.out_bias}
        weights.check(self.d_model, biases, self.d_kv)
        write(weights, self.parts())
        return self

    def save(self) -> Weights:
        """Return a copy of the weights in canonical form."""
        return read(self.parts())

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
        ablate: Ablation | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Compute attention from `query` to `key`, mixing `value`.

        Args:
            query: (b, i, d_model), or (i, d_model) without a batch.
            key: (b, j, d_model); default `query`.
            value: (b, j, d_model); default `key`.
            allow: bool (i, j), (h, i, j) or (b|1, h|1, i, j), True = may attend; moved to the query's device.
            position: a positional encoding; add() acts on query, key and value, once per distinct tensor, rotate() on q
                and k, bias() on the scores.
            heads: bool (h,) or (b, h), False ablates a head: its mixed output is 0.
            temperature: divides the scores.
            need_weights: False skips the maps, which is faster.
            trace: a `Trace` that records every step; the pass then takes the explicit path, equal to the fast one.
            ablate: heads and values to ablate, values shaped like `allow`; replaces `heads`.

        Returns:
            out, shaped like `query`, and weights (b, h, i, j), one map per head, before dropout (None without
            need_weights). Without a batch: weights (h, i, j).

        Raises:
            SizeError, MaskError, DtypeError, DeviceError: arguments do not fit; Unsupported: not in `can`.
            HeadlightError: both `heads` and `ablate`.
        """
        key = query if key is None else key
        value = key if value is None else value
        batched = self._check_inputs(query, key, value)
        if not batched:
            query, key, value = _apply_once(lambda x: x.unsqueeze(0), query, key, value)
        position = NO_POSITIONS if position is None else position
        if self.cache is not None:
            position = _offset_position(self.cache, position, trace)
        if ablate is None:
            ablate = Ablation(heads)
        elif heads is not None:
            raise HeadlightError("heads and ablate both say which heads are off; pass Ablation(heads, values) alone")
        len_k = key.shape[1] + (0 if self.cache is None else self.cache.length)
        shape = query.shape[0], self.n_heads, query.shape[1], len_k
        allow = None if allow is None else masks.to_four_axes(allow, *shape).to(query.device)
        heads, values = ablate
        values = None if values is None else masks.to_four_axes(values, *shape, "values").to(query.device)
        switches = Switches(allow, position, temperature, need_weights, trace, Ablation(heads, values))
        switches.check(type(self).__name__, self.can, len(query), self.n_heads)
        if heads is not None:
            switches = switches._replace(ablate=Ablation(heads.to(query.device), values))
        out, weights = self.attend(query, key, value, switches)
        weights = weights if need_weights else None
        if not batched:
            out, weights = out.squeeze(0), None if weights is None else weights.squeeze(0)
        return out, weights

    def with_cache(self, cache: KVCache) -> Self:
        """Return a layer with the same weights that appends the keys and values of each call to a cache.

        It is called with the new tokens alone; j counts all tokens, and the rows equal those of one pass over the text.

        Raises:
            Unsupported: "cache" is not in `can`; (in the pass) a trace is given, which needs the whole sequence.
        """
        if "cache" not in self.can:
            raise Unsupported(f"{type(self).__name__} cannot cache keys and values; choose another implementation")
        twin = copy.copy(self)
        twin.cache = cache
        return twin

    @property
    def drop_rate(self) -> float:
        """Dropout probability of this pass; 0 in eval mode."""
        return self.dropout if self.training else 0.0

    def extra_repr(self) -> str:
        """Return the sizes and options that `repr` shows."""
        names = ["d_model", "n_heads", "bias", "out_bias", "dropout"]
        names += ["n_kv_heads"] if self.n_kv_heads < self.n_heads else []
        names += ["v_bias"] if self.v_bias != self.bias else []
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)

    def _check_form(self) -> None:
        """Check that this implementation supports the requested key/value heads and biases."""
        name, h, g = type(self).__name__, self.n_heads, self.n_kv_heads
        if not 1 <= g <= h or h % g:
            raise SizeError(f"n_kv_heads={g} cannot serve {h} query heads equally; choose a divisor of {h}")
        if g < h and "kv_heads" not in self.can:
            raise Unsupported(f"{name} cannot share {g} key/value heads; choose another implementation")
        if self.one_matrix and self.v_bias != self.bias:
            raise Unsupported(
                f"{name} has one matrix for q, k and v, so one bias: v_bias={self.v_bias} needs bias={self.v_bias}; "
                f"choose another implementation"
            )

    def _check_inputs(self, query: Tensor, key: Tensor, value: Tensor) -> bool:
        """Check sizes, dtypes and devices; return whether there is a batch axis."""
        check_tensors(query=query, key=key, value=value)
        weight = next(self.parameters())
        if query.dtype != weight.dtype:
            raise DtypeError(f"query is {query.dtype}, the layer {weight.dtype}; convert one with .to(dtype)")
        if query.device != weight.device:
            raise DeviceError(f"query is on {query.device}, the layer on {weight.device}; move one with .to(device)")
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


def add_once(switches: Switches, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Apply position.add to query, key and value, once per distinct tensor.

    Self-attention thus stays self-attention. In cross-attention it records the inputs of keys and values; the caller
    records those of the query as "x".
    """
    query, key, value = _apply_once(switches.position.add, query, key, value)
    if key is not query:
        switches.trace("x.k", key, "b j c", "position.add(key)")
    if value is not key:
        switches.trace("x.v", value, "b j c", "position.add(value)")
    return query, key, value


def _offset_position(cache: KVCache, position: Position, trace: Tracer) -> Position:
    """Return the encoding for tokens that follow those in the cache."""
    if trace is not no_trace:
        raise Unsupported("a trace needs the whole sequence, not only its new tokens; omit it, or use no cache")
    return Offset(position, cache.length) if cache.length else position


def _apply_once(
    function: Callable[[Tensor], Tensor], query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    new_query = function(query)
    new_key = new_query if key is query else function(key)
    new_value = new_query if value is query else new_key if value is key else function(value)
    return new_query, new_key, new_value
