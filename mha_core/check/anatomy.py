"""The parts of a pass, found from its gradients: the maps and their axes, the projections, what each head reads.

A number depends on an entry of a tensor where its gradient there is not 0, whatever the code is called. Axis letters:
b batch, h head, i query, j key, n token, c channel of a projection, d head channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ..errors import Unsupported
from .tap import _PRODUCTS, Line, Operation, Tap
from .target import Target

TEXT = 0  # the text of the batch that is looked at


@dataclass(frozen=True)
class MapAxes:
    """The axes of a softmax by their meaning; a head may have a softmax of its own."""

    size: tuple[int, ...]  # after a joint axis of texts and heads is split
    order: tuple[int, ...]  # axes of size as (b, h, i, j); −1: there is none
    dim: str  # what the softmax sums over
    shape: tuple[int, ...]

    def standard(self, tensor: Tensor) -> Tensor:
        """Return a tensor of the softmax's shape as (b, h, i, j)."""
        tensor = tensor.reshape(self.size)
        axes = [axis for axis in self.order if axis >= 0]
        tensor = tensor.permute(*axes, *(axis for axis in range(tensor.dim()) if axis not in axes))
        for place, axis in enumerate(self.order):
            if axis < 0:
                tensor = tensor.unsqueeze(place)
        return tensor.flatten(4).squeeze(4) if tensor.dim() > 4 else tensor

    def original(self, tensor: Tensor) -> Tensor:
        """Return a tensor (b, h, i, j) in the softmax's shape."""
        for place in reversed(range(4)):
            if self.order[place] < 0:
                tensor = tensor.select(place, 0)
        axes = [axis for axis in self.order if axis >= 0]
        rest = [axis for axis in range(len(self.size)) if axis not in axes]
        for _ in rest:
            tensor = tensor.unsqueeze(-1)
        places = [*axes, *rest]
        return tensor.permute(*(places.index(axis) for axis in range(len(places)))).reshape(self.shape)


@dataclass(frozen=True, eq=False)
class Projection:
    """A product of the inputs with a parameter, or the inputs themselves, in the graph."""

    tensor: Tensor
    line: Line | None
    index: int  # of the operation; −1: an input


@dataclass
class Anatomy:
    """A pass of a target in the autograd graph."""

    target: Target
    n: int
    batch: int
    seed: int = 0
    allow: Tensor | None = None
    weights_used: Tensor | None = None  # (b, h, i, j) in place of the softmax's result
    constant: bool = False  # every token has the same content
    order: Tensor | None = None  # of the tokens; default: as drawn
    tap: Tap = field(init=False)

    def __post_init__(self) -> None:
        contents = [self._content(seed) for seed in range(self.seed, self.seed + (3 if self.target.takes_qkv else 1))]
        self.x = contents[0]
        self.key = contents[1] if self.target.takes_qkv else None
        self.value = contents[2] if self.target.takes_qkv else None
        self._count = 0
        self.axes_known: Sequence[MapAxes] = ()
        self._run(None)
        if self.weights_used is not None:
            self.axes_known = tuple(self.map_axes)
            self._count = 0
            for name in ("softmaxes", "map_axes"):
                self.__dict__.pop(name, None)
            self._run(self.weights_used)

    def _content(self, seed: int) -> Tensor:
        x = self.target.draw(self.n, self.batch, seed)
        x = x if self.order is None else x[:, self.order]
        return (x[:, :1].expand_as(x) if self.constant else x).clone().requires_grad_()

    def _run(self, weights: Tensor | None) -> None:
        def substitute(operation: Operation) -> Tensor | None:
            if weights is None:
                return None
            axes = next(
                (known_axes for known_axes in self.axes_known if known_axes.shape == tuple(operation.result.shape)),
                None,
            )
            if axes is None:
                return None
            place, self._count = self._count, self._count + 1
            part = weights[:, place : place + 1] if len(self.axes_known) > 1 else weights
            return axes.original(part.to(operation.result))

        self.tap = Tap(substitute)
        with torch.enable_grad(), self.tap:
            self.answer = self.target(self.x, self.key, self.value, allow=self.allow)
        self.out = self.answer.out

    def gradient(self, number: Tensor, tensor: Tensor) -> Tensor | None:
        """Return d number / d tensor, or None where it does not depend on it."""
        if not number.requires_grad or not tensor.requires_grad:
            return None
        (slope,) = torch.autograd.grad(number, tensor, retain_graph=True, allow_unused=True)
        return None if slope is None or not bool(slope.any()) else slope

    def out_number(self, token: int) -> Tensor:
        """Return one number of the output of a token, a random mixture of its channels."""
        mixture = torch.randn(self.out.shape[-1], generator=torch.Generator().manual_seed(5), dtype=torch.float64)
        return (self.out[TEXT, token] * mixture.to(self.out)).sum()

    @cached_property
    def softmaxes(self) -> list[Operation]:
        """The softmax whose result the output depends on; of layers that loop over heads, one for each.

        Raises:
            Unsupported: none is there.
        """
        number = self.out_number(self.n // 2) + self.out_number(self.n - 1)
        candidates = [
            operation
            for operation in self.tap.operations
            if operation.name == "softmax"
            and operation.result.numel() >= self.n * self.n
            and self.gradient(number, operation.result) is not None
        ]
        if not candidates:
            raise Unsupported("no softmax was seen in its pass, neither torch's nor exp(s) / Σ exp(s)")
        last = candidates[-1]
        alike = [operation for operation in candidates if operation.result.shape == last.result.shape]
        heads = self.target.n_heads
        return (
            alike[-heads:]
            if len(alike) >= heads > 1 and last.result.numel() < heads * self.n * self.n * self.batch
            else [last]
        )

    @cached_property
    def map_axes(self) -> list[MapAxes]:
        """The axes of each softmax."""
        return [self._axes(operation) for operation in self.softmaxes]

    def _axes(self, operation: Operation) -> MapAxes:
        shape = tuple(operation.result.shape)
        size, dim = self._split(shape, operation.dim)
        supports = []
        for token in (self.n // 2, self.n - 1):
            slope = self.gradient(self.out_number(token), operation.result)
            if slope is None:
                raise Unsupported("the output of a token does not depend on the softmax")
            rest = slope.reshape(size).ne(0)
            supports.append([_indices(rest, axis) for axis in range(len(size))])
        tokens = [axis for axis, length in enumerate(size) if length == self.n]
        query = [a for a in tokens if supports[0][a] == [self.n // 2] and supports[1][a] == [self.n - 1]]
        texts = [
            a for a, length in enumerate(size) if length == self.batch and supports[0][a] == supports[1][a] == [TEXT]
        ]
        if len(tokens) < 2:
            raise Unsupported(f"the softmax has {' × '.join(map(str, shape))} numbers, not queries × keys")
        i = query[0] if query else next(a for a in reversed(tokens) if a != dim)
        j = next((a for a in reversed(tokens) if a != i), -1)
        rest_axes = [a for a, length in enumerate(size) if a not in (i, j, *texts[:1]) and length > 1]
        order = (texts[0] if texts else -1, rest_axes[0] if rest_axes else -1, i, j)
        name = {order[0]: "batch", order[1]: "heads", order[2]: "queries", order[3]: "keys"}.get(dim, "heads")
        return MapAxes(size, order, name, shape)

    def _split(self, shape: tuple[int, ...], dim: int) -> tuple[tuple[int, ...], int]:
        """Split a joint axis of texts and heads."""
        heads, joint = self.target.n_heads, self.batch * self.target.n_heads
        if heads > 1 and self.batch > 1 and joint in shape and self.batch not in shape:
            axis = shape.index(joint)
            return (*shape[:axis], self.batch, heads, *shape[axis + 1 :]), dim + (dim > axis)
        return shape, dim

    @property
    def queries_mixed(self) -> bool:
        """Return whether the output of a token comes from the weights of several queries."""
        axes, operation = self.map_axes[0], self.softmaxes[0]
        slope = self.gradient(self.out_number(self.n // 2), operation.result)
        return slope is not None and _indices(axes.standard(slope).ne(0), 2) != [self.n // 2]

    @cached_property
    def weights(self) -> Tensor:
        """The maps (b, h, i, j)."""
        parts = zip(self.map_axes, self.softmaxes, strict=True)
        return torch.cat([axes.standard(operation.result) for axes, operation in parts], 1)

    @cached_property
    def scores(self) -> Tensor:
        """The scores as the softmax takes them (b, h, i, j)."""
        parts = zip(self.map_axes, self.softmaxes, strict=True)
        return torch.cat([axes.standard(operation.inputs[0]) for axes, operation in parts], 1)

    @property
    def line(self) -> Line | None:
        """Return the line of the softmax."""
        return self.softmaxes[-1].line

    @cached_property
    def projections(self) -> list[Projection]:
        """The products of an input with a parameter, in order; the inputs of a function without parameters."""
        inputs = [x for x in (self.x, self.key, self.value) if x is not None]
        products = []
        for index, operation in enumerate(self.tap.operations):
            if operation.name not in _PRODUCTS or not operation.result.requires_grad:
                continue
            if any(tensor.is_leaf and not any(tensor is x for x in inputs) for tensor in map(_base, operation.inputs)):
                products.append(Projection(operation.result, operation.line, index))
        return products or [Projection(x, None, -1) for x in inputs]

    @cached_property
    def sources(self) -> list[Projection]:
        """The projections that do not come from the weights: of queries, keys and values."""
        maps = [operation.result for operation in self.softmaxes]
        return [
            projection
            for projection in self.projections
            if all(self.gradient(projection.tensor.sum(), x) is None for x in maps)
        ]

    def value_sources(self, plain: Anatomy) -> list[Projection]:
        """Return the projections before the maps, the last one first, in a pass with other weights in their place."""
        indices = {projection.index for projection in plain.sources}
        return [projection for projection in reversed(self.projections) if projection.index in indices]

    def reads(self, number: Tensor, projection: Projection) -> Tensor | None:
        """Return d number / d projection as (b, n, c), or None where it does not depend on it."""
        slope = self.gradient(number, projection.tensor)
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
        if text is None:
            return tensor.permute(token, *rest).reshape(1, self.n, -1)
        return tensor.permute(text, token, *rest).reshape(self.batch, self.n, -1)

    def source(self, number: Tensor, token: int) -> tuple[Projection, Tensor] | None:
        """Return the last of the sources on whose numbers at a token a number depends, and how (b, n, c)."""
        for projection in reversed(self.sources):
            slopes = self.reads(number, projection)
            if slopes is not None and bool(slopes[TEXT, token].any()):
                return projection, slopes
        return None

    @property
    def softmax_index(self) -> int:
        """Return the index of the last softmax among the operations."""
        return max(index for index, operation in enumerate(self.tap.operations) if operation is self.softmaxes[-1])


def _base(tensor: Tensor) -> Any:
    """Return the parameter of which a tensor is a transposed or split view."""
    while tensor._base is not None:
        tensor = tensor._base
    return tensor


def _indices(nonzero: Tensor, axis: int) -> list[int]:
    """Return the indices along an axis at which anything is true."""
    others = [other for other in range(nonzero.dim()) if other != axis]
    return [int(index) for index in (nonzero.any(dim=others) if others else nonzero).nonzero().flatten()]
