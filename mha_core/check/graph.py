"""The parts of a pass, found from its gradients: the maps and their axes, the projections, what each head reads.

A number depends on an entry of a tensor where its gradient there is not 0, whatever the code is called. Axis letters:
b batch, h head, i query, j key, n token, c channel of a projection, d head channel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ..errors import Unsupported
from .recorder import MASKS, NORMS, PRODUCTS, SHIFTS, Operation, Recorder
from .target import Target

TEXT = 0  # the text of the batch that is looked at


@dataclass(frozen=True)
class MapAxes:
    """The axes of a softmax by their meaning."""

    size: tuple[int, ...]  # its shape, with a joint axis of texts and heads split
    order: tuple[int, ...]  # the axes of size as texts, heads, others, queries and keys
    counts: tuple[int, ...]  # the numbers of texts, heads, queries and keys
    shape: tuple[int, ...]  # its shape
    sum_axis: str  # "keys", or what else the weights sum to 1 over; "" for nothing
    late: int | None  # the sum divides the result in a later step; its axis, or None

    def standard(self, tensor: Tensor) -> Tensor:
        """Return a tensor of the softmax's shape as (b, h, i, j)."""
        return tensor.reshape(self.size).permute(self.order).reshape(self.counts)

    def original(self, tensor: Tensor) -> Tensor:
        """Return a tensor (b, h, i, j) in the softmax's shape."""
        places = [self.order.index(axis) for axis in range(len(self.size))]
        return tensor.reshape([self.size[axis] for axis in self.order]).permute(places).reshape(self.shape)


@dataclass
class PassGraph:
    """A recorded pass and its parts: maps, projections, and the entries that each number depends on."""

    target: Target  # the module or function
    n: int  # the number of tokens
    batch: int  # the number of texts
    seed: int = 0  # of the inputs
    allow: Tensor | None = None  # the mask (b, i, j)
    constant: bool = False  # every token has the same content
    order: Tensor | None = None  # of the tokens; default: as drawn
    replacements: Mapping[int, Tensor] = field(
        default_factory=dict
    )  # results in place of those of operations, by index

    def __post_init__(self) -> None:
        self.x = self._content(self.seed)
        self.key = self._content(self.seed + 1) if self.target.takes_qkv else self.x
        self.value = self._content(self.seed + 2) if self.target.takes_qkv else self.x
        self.recorder = Recorder(self.replacements)
        with torch.enable_grad(), self.recorder:
            self.answer = self.target(self.x, self.key, self.value, allow=self.allow)
        self.out = self.answer.out

    def _content(self, seed: int) -> Tensor:
        x = self.target.draw(self.n, self.batch, seed)
        x = x if self.order is None else x[:, self.order]
        return (x[:, :1].expand_as(x) if self.constant else x).clone().requires_grad_()

    def with_weights(self, weights: Tensor) -> PassGraph:
        """Return the same pass with maps (b, h, i, j) in the place of its own."""
        parts = [weights] if len(self.softmaxes) == 1 else [weights[:, h : h + 1] for h in range(weights.shape[1])]
        placed = zip(self.softmaxes, parts, strict=True)
        return replace(self, replacements={o.index: self.axes.original(part.to(o.result)) for o, part in placed})

    def gradient(self, number: Tensor, tensor: Tensor) -> Tensor | None:
        """Return d number / d tensor, or None where it does not depend on it."""
        if not number.requires_grad or not tensor.requires_grad:
            return None
        (slope,) = torch.autograd.grad(number, tensor, retain_graph=True, allow_unused=True)
        return None if slope is None or not bool(slope.any()) else slope

    def out_number(self, *tokens: int) -> Tensor:
        """Return one number of the outputs of tokens, a random mixture of their channels."""
        mixture = torch.randn(self.out.shape[-1], generator=torch.Generator().manual_seed(5), dtype=torch.float64)
        return (self.out[TEXT, list(tokens)] * mixture.to(self.out)).sum()

    @cached_property
    def softmaxes(self) -> list[Operation]:
        """The softmax on whose result the output depends; of layers that loop over heads, one for each.

        Raises:
            Unsupported: none is there.
        """
        number, heads = self.out_number(self.n // 2, self.n - 1), self.target.n_heads
        square = [o for o in self.recorder.operations if o.name in NORMS and list(o.result.shape).count(self.n) > 1]
        active = [o for o in square if self.gradient(number, o.result) is not None]
        if not active:
            raise Unsupported("no softmax was seen in its pass, neither torch's nor an exp of the scores")
        last = next((o for o in reversed(active) if self._norm(o)[0] is not None), active[-1])
        alike = [o for o in square if o.result.shape == last.result.shape and o.line == last.line]
        is_loop = len(alike) >= heads > 1 and last.result.numel() < heads * self.n * self.n * self.batch
        return alike[-heads:] if is_loop else [last]

    def _norm(self, operation: Operation) -> tuple[int | None, bool]:
        """Return the axis over which weights sum to 1, and whether a later division makes it so.

        Where it does, other factors of a row change no output: Σ w · d output / d w is 0 (Euler).
        """
        result = operation.result.detach()
        for axis in reversed(range(result.dim())):
            sums = result.sum(axis)
            if bool(((sums - 1).abs() < 1e-3).logical_or(sums.isnan()).all()):
                return axis, False
        slope = self.gradient(self.out_number(self.n // 2, self.n - 1), operation.result)
        moves = torch.zeros_like(result) if slope is None else slope * result
        still = [axis for axis in range(result.dim()) if moves.sum(axis).abs().max() < 1e-4 * moves.abs().max()]
        return (still[0], True) if still else (None, False)

    @cached_property
    def axes(self) -> MapAxes:
        """The axes of each softmax."""
        operation = next(
            o for o in reversed(self.softmaxes) if self.gradient(self.out_number(self.n - 1), o.result) is not None
        )
        shape = tuple(operation.result.shape)
        heads, joint = self.target.n_heads, self.batch * self.target.n_heads
        size, (axis, is_late) = shape, self._norm(operation)
        late = axis if is_late else None
        if heads > 1 and self.batch > 1 and joint in shape and self.batch not in shape:
            place = shape.index(joint)
            size = (*shape[:place], self.batch, heads, *shape[place + 1 :])
            axis = axis + (axis > place) if axis is not None else None
        ends = (self.n // 2, self.n - 1)
        supports = []
        for token in ends:
            slope = self.gradient(self.out_number(token), operation.result)
            if slope is None:
                raise Unsupported("the output of a token does not depend on the softmax")
            supports.append([_indices(slope.reshape(size).ne(0), a) for a in range(len(size))])
        tokens = [a for a, length in enumerate(size) if length == self.n]
        query = [a for a in tokens if [support[a] for support in supports] == [[end] for end in ends]]
        texts = [
            a for a, length in enumerate(size) if length == self.batch and supports[0][a] == supports[1][a] == [TEXT]
        ][:1]
        # the sum of a later division mixes what it runs over
        i = query[0] if query else axis if is_late and axis else next(a for a in reversed(tokens) if a != axis)
        j = next(a for a in reversed(tokens) if a != i)
        rest = [a for a in range(len(size)) if a not in (i, j, *texts)]
        sum_axis = "" if axis is None else {i: "queries", j: "keys", **dict.fromkeys(texts, "batch")}.get(axis, "heads")
        counts = (size[texts[0]] if texts else 1, math.prod(size[a] for a in rest), self.n, self.n)
        return MapAxes(size, (*texts, *rest, i, j), counts, shape, sum_axis, late)

    def effect(self, *tokens: int) -> Tensor:
        """Return d output of tokens / d weights (b, h, i, j)."""
        number = self.out_number(*tokens)
        slopes = [self.gradient(number, o.result) for o in self.softmaxes]
        parts = zip(slopes, self.softmaxes, strict=True)
        return torch.cat(
            [self.axes.standard(torch.zeros_like(o.result) if slope is None else slope) for slope, o in parts], 1
        )

    @cached_property
    def weights(self) -> Tensor:
        """The maps (b, h, i, j)."""
        late = self.axes.late
        results = [o.result if late is None else o.result / o.result.sum(late, keepdim=True) for o in self.softmaxes]
        return torch.cat([self.axes.standard(result) for result in results], 1)

    @cached_property
    def scores(self) -> Tensor:
        """The scores as the first softmax takes them (b, h, i, j), without what an exp shifts them by."""
        parts = []
        for operation in self.softmaxes:
            scores = operation.inputs[0]
            names = SHIFTS if operation.name == "exp" else {"softmax"}
            while (maker := self.recorder.maker(scores, names)) is not None:
                scores = maker.inputs[0]
            parts.append(self.axes.standard(scores))
        return torch.cat(parts, 1)

    @property
    def mask_steps(self) -> list[Operation]:
        """Return the operations that may mask scores or weights."""
        size = self.softmaxes[-1].result.numel()
        return [o for o in self.recorder.operations if o.name in MASKS and o.result.numel() == size]

    @cached_property
    def projections(self) -> list[Operation]:
        """The products of an input with a parameter, in order; the inputs of a function without parameters."""
        inputs = [self.x, self.key, self.value] if self.target.takes_qkv else [self.x]
        bases = {id(x) for x in inputs}
        products = [
            o
            for o in self.recorder.operations
            if o.name in PRODUCTS
            and o.result.requires_grad
            and any(base.is_leaf and id(base) not in bases for base in map(_base, o.inputs))
        ]
        return products or [Operation("input", (), x) for x in inputs]

    @cached_property
    def sources(self) -> list[Operation]:
        """The projections that do not come from the weights: of queries, keys and values."""
        maps = [operation.result for operation in self.softmaxes]
        return [o for o in self.projections if all(self.gradient(o.result.sum(), x) is None for x in maps)]

    def value_sources(self, plain: PassGraph) -> list[Operation]:
        """Return the projections before the maps, the last one first, in a pass with other weights in their place."""
        indices = {operation.index for operation in plain.sources}
        return [operation for operation in reversed(self.projections) if operation.index in indices]

    def reads(self, number: Tensor, operation: Operation) -> Tensor | None:
        """Return d number / d result as (b, n, c), or None where it does not depend on it."""
        slope = self.gradient(number, operation.result)
        return None if slope is None else self.as_tokens(slope)

    def jacobian(self, numbers: Tensor, tensor: Tensor) -> Tensor:
        """Return d numbers / d tensor, (m) by a projection's shape -> (m, b, n, c)."""
        if not numbers.requires_grad:
            return torch.zeros(len(numbers), *self.as_tokens(tensor.detach()).shape, dtype=tensor.dtype)
        basis = torch.eye(len(numbers), dtype=numbers.dtype, device=numbers.device)
        options: dict[str, Any] = {"retain_graph": True, "materialize_grads": True}
        try:
            (rows,) = torch.autograd.grad(numbers, tensor, basis, is_grads_batched=True, **options)
        except RuntimeError:  # an operation that cannot be mapped over
            rows = torch.stack([torch.autograd.grad(number, tensor, **options)[0] for number in numbers])
        return torch.stack([self.as_tokens(part) for part in rows])

    def as_tokens(self, tensor: Tensor) -> Tensor:
        """Return a tensor of a projection's shape as (b, n, c)."""
        shape = list(tensor.shape)
        joint = self.batch * self.n
        if joint in shape and not (self.n in shape and (self.batch in shape or self.batch == 1)):
            axis = shape.index(joint)
            parts = (self.n, self.batch) if self.target.layout == "sbd" else (self.batch, self.n)
            tensor = tensor.reshape(*shape[:axis], *parts, *shape[axis + 1 :])
            shape = list(tensor.shape)
        if self.n not in shape or (self.batch not in shape and self.batch > 1):
            raise Unsupported(f"a projection of {' × '.join(map(str, shape))} numbers has no axis of tokens")
        text = shape.index(self.batch) if self.batch in shape else None
        token = next(axis for axis, length in enumerate(shape) if length == self.n and axis != text)
        rest = [axis for axis in range(len(shape)) if axis not in (text, token)]
        places = (token, *rest) if text is None else (text, token, *rest)
        return tensor.permute(places).reshape(self.batch, self.n, -1)

    def source(self, number: Tensor, token: int) -> tuple[Operation, Tensor]:
        """Return the last of the sources on whose numbers at a token a number depends, and how (b, n, c).

        Raises:
            Unsupported: it depends on none.
        """
        for operation in reversed(self.sources):
            slopes = self.reads(number, operation)
            if slopes is not None and bool(slopes[TEXT, token].any()):
                return operation, slopes
        raise Unsupported("its scores come from no projection of the inputs")


def _base(tensor: Tensor) -> Any:
    """Return the parameter of which a tensor is a transposed or split view."""
    while tensor._base is not None:
        tensor = tensor._base
    return tensor


def _indices(nonzero: Tensor, axis: int) -> list[int]:
    """Return the indices along an axis at which anything is true."""
    others = [other for other in range(nonzero.dim()) if other != axis]
    return [int(index) for index in (nonzero.any(dim=others) if others else nonzero).nonzero().flatten()]
