"""Base class of positional encodings: three places where one may act."""

import torch
from torch import Tensor, nn

from ..errors import PositionError

PLACES = ("add", "rotate", "bias")


class Position(nn.Module):
    """Positional encoding with three no-op methods, of which each subclass overrides exactly one.

    `add` acts on the embeddings, `rotate` on queries and keys after the split into heads, `bias` on the scaled scores.
    Every forward pass calls all three in this order, so a layer does not depend on the encoding.

    Attributes:
        mechanisms: the overridden methods, out of "add", "rotate", "bias"; derived from the class.
    """

    mechanisms: frozenset[str] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.mechanisms = frozenset(place for place in PLACES if getattr(cls, place) is not getattr(Position, place))

    def add(self, x: Tensor) -> Tensor:
        """Return the embeddings x (b, i, c) with positions added."""
        return x

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Return q (b, h, i, d) and k (b, h, j, d) rotated by their positions."""
        return q, k

    def bias(self, q: Tensor, len_k: int) -> Tensor | None:
        """Return the bias on the scaled scores, (b|1, h, i, j), or None."""
        return None


class Nothing(Position):
    """No positions: attention sees a bag of words."""


class LayerPart(Position):
    """An encoding without its `add`, for the layers of an encoder that has called `add` on its embeddings itself."""

    def __init__(self, inner: Position) -> None:
        super().__init__()
        self.inner = inner
        self.mechanisms = inner.mechanisms - {"add"}  # depends on the inner encoding, so set on the instance

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Rotate with the inner encoding."""
        return self.inner.rotate(q, k)

    def bias(self, q: Tensor, len_k: int) -> Tensor | None:
        """Return the bias of the inner encoding."""
        return self.inner.bias(q, len_k)


class Offset(Position):
    """An encoding for tokens that follow `offset` earlier ones, as in decoding with a cache.

    It pads the input with zeros in place of the earlier tokens, applies the encoding, and cuts the padding off: correct
    for any encoding, because each depends on the position alone. A new token then costs the encoding a pass over the
    whole length, which is little beside the layers.
    """

    def __init__(self, inner: Position, offset: int) -> None:
        super().__init__()
        self.inner = inner
        self.offset = offset
        self.mechanisms = inner.mechanisms

    def add(self, x: Tensor) -> Tensor:
        """Add the positions from `offset` on."""
        return self.inner.add(self._pad(x))[:, self.offset :] if "add" in self.mechanisms else x

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Rotate by the positions from `offset` on."""
        if "rotate" not in self.mechanisms:
            return q, k
        q, k = self.inner.rotate(self._pad(q), self._pad(k))
        return q[:, :, self.offset :], k[:, :, self.offset :]

    def bias(self, q: Tensor, len_k: int) -> Tensor | None:
        """Return the bias of the rows from `offset` on."""
        bias = self.inner.bias(self._pad(q), len_k) if "bias" in self.mechanisms else None
        return None if bias is None else bias[:, :, self.offset :]

    def _pad(self, x: Tensor) -> Tensor:
        """Pad (…, n, d) in front to (…, offset + n, d)."""
        return torch.nn.functional.pad(x, (0, 0, self.offset, 0))


class Together(Position):
    """Two encodings that act in different places.

    Raises:
        PositionError: both act in the same place.
    """

    def __init__(self, a: Position, b: Position) -> None:
        super().__init__()
        shared = a.mechanisms & b.mechanisms
        if shared:
            names = f"{type(a).__name__} and {type(b).__name__}"
            raise PositionError(f"{names} both act in {', '.join(sorted(shared))}; combine two different places")
        self.a, self.b = a, b
        self.mechanisms = a.mechanisms | b.mechanisms

    def add(self, x: Tensor) -> Tensor:
        """Add with both encodings."""
        return self.b.add(self.a.add(x))

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Rotate with both encodings."""
        return self.b.rotate(*self.a.rotate(q, k))

    def bias(self, q: Tensor, len_k: int) -> Tensor | None:
        """Return the bias of the encoding that has one."""
        first = self.a.bias(q, len_k)
        return self.b.bias(q, len_k) if first is None else first


def random_table(rows: int, columns: int, std: float, generator: torch.Generator | None) -> nn.Parameter:
    """Return a normally initialised parameter (rows, columns); a CPU generator makes it reproducible."""
    table = nn.Parameter(torch.empty(rows, columns))
    if not table.is_meta:  # on the meta device a draw would only import torch's compiler
        nn.init.normal_(table, std=std, generator=generator)
    return table
