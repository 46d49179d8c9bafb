"""Positional encodings: one class with three places where it may act."""

import torch
from torch import Tensor, nn

from ..errors import PositionError

PLACES = ("add", "rotate", "bias")


class Position(nn.Module):
    """The three places, as no-ops. An encoding overrides exactly one of them.

    `add` acts on the embeddings, `rotate` on queries and keys after the split into heads, `bias` on the scaled scores.
    Every forward pass names all three in this order, so no layer knows which encoding it serves.

    Attributes:
        acts: the places that are overridden, out of "add", "rotate", "bias"; a fact of the class, read off its methods.
    """

    acts: frozenset[str] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.acts = frozenset(place for place in PLACES if getattr(cls, place) is not getattr(Position, place))

    def add(self, x: Tensor) -> Tensor:
        """x (b, i, c) -> (b, i, c)."""
        return x

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """q (b, h, i, d), k (b, h, j, d) -> the same shapes."""
        return q, k

    def bias(self, q: Tensor, len_k: int) -> Tensor | None:
        """q (b, h, i, d) -> a number to add to each scaled score, (b|1, h, i, j), or None."""
        return None


class Nothing(Position):
    """No positions: attention then sees a bag of words."""


class LayerPart(Position):
    """An encoding without its `add`, for the layers of an encoder that has called `add` on its embeddings itself."""

    def __init__(self, inner: Position) -> None:
        super().__init__()
        self.inner = inner
        self.acts = inner.acts - {"add"}  # a fact of its part, so of the instance

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        return self.inner.rotate(q, k)

    def bias(self, q: Tensor, len_k: int) -> Tensor | None:
        return self.inner.bias(q, len_k)


class Offset(Position):
    """An encoding for tokens that come after `offset` others: it acts as on a whole text, of which the end is kept.

    Works for any encoding, as each treats a token by its place alone: zeros stand for the tokens before. So one token
    more costs an encoding the whole text: little beside the layers, and no encoding needs to know of it.
    """

    def __init__(self, inner: Position, offset: int) -> None:
        super().__init__()
        self.inner = inner
        self.offset = offset
        self.acts = inner.acts

    def add(self, x: Tensor) -> Tensor:
        return self.inner.add(self._whole(x))[:, self.offset :] if "add" in self.acts else x

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        if "rotate" not in self.acts:
            return q, k
        q, k = self.inner.rotate(self._whole(q), self._whole(k))
        return q[:, :, self.offset :], k[:, :, self.offset :]

    def bias(self, q: Tensor, len_k: int) -> Tensor | None:
        bias = self.inner.bias(self._whole(q), len_k) if "bias" in self.acts else None
        return None if bias is None else bias[:, :, self.offset :]

    def _whole(self, x: Tensor) -> Tensor:
        """(…, n, d) -> (…, offset + n, d)."""
        return torch.nn.functional.pad(x, (0, 0, self.offset, 0))


class Together(Position):
    """Two encodings that act in different places.

    Raises:
        PositionError: both act in the same place.
    """

    def __init__(self, a: Position, b: Position) -> None:
        super().__init__()
        shared = a.acts & b.acts
        if shared:
            names = f"{type(a).__name__} and {type(b).__name__}"
            raise PositionError(f"{names} both act in {', '.join(sorted(shared))}; combine two different places")
        self.a, self.b = a, b
        self.acts = a.acts | b.acts

    def add(self, x: Tensor) -> Tensor:
        return self.b.add(self.a.add(x))

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        return self.b.rotate(*self.a.rotate(q, k))

    def bias(self, q: Tensor, len_k: int) -> Tensor | None:
        first = self.a.bias(q, len_k)
        return self.b.bias(q, len_k) if first is None else first


def random_table(rows: int, columns: int, std: float, generator: torch.Generator | None) -> nn.Parameter:
    """A parameter (rows, columns) with a normal start; the generator, on the CPU, makes it the same each time."""
    table = nn.Parameter(torch.empty(rows, columns))
    if not table.is_meta:  # there a draw would import torch's compiler, for nothing
        nn.init.normal_(table, std=std, generator=generator)
    return table
