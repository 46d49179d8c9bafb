"""The rules: one expression over the query index i and the key index j each, and what composes them."""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import and_, or_

import torch
from torch import Tensor

from ..errors import MaskError

Rule = Callable[[Tensor, Tensor], Tensor]


def full(i: Tensor, j: Tensor) -> Tensor:
    """Everyone sees everyone."""
    return (i >= 0) & (j >= 0)


def causal(i: Tensor, j: Tensor) -> Tensor:
    """Nobody sees the future."""
    return j <= i


def window(w: int) -> Rule:
    """Only neighbours fewer than `w` steps away, on both sides: up to 2 w − 1 keys, itself included."""
    _positive(f"window:{w}", w)
    return lambda i, j: (i - j).abs() < w


def prefix(n: int) -> Rule:
    """The first `n` keys are free for all, the rest is causal."""
    _not_negative(f"prefix:{n}", n)
    return lambda i, j: (j <= i) | (j < n)


def sinks(n: int) -> Rule:
    """Only the first `n` keys; meant to be combined: either(sinks(1), window(4))."""
    _not_negative(f"sinks:{n}", n)
    return lambda i, j: (j < n) & (i >= 0)


def dilated(w: int, s: int) -> Rule:
    """Every `s`-th neighbour, `w` of them to each side counting itself."""
    _positive(f"dilated:{w}:{s}", w, s)
    return lambda i, j: ((i - j).abs() < w * s) & ((i - j) % s == 0)


def documents(ids: Sequence[int] | Tensor) -> Rule:
    """Nobody sees across a border: query and key must carry the same document id.

    Args:
        ids: one integer a token, (length,); queries and keys are the same tokens.
    """
    given = torch.as_tensor(ids)

    def rule(i: Tensor, j: Tensor) -> Tensor:
        if given.dim() != 1 or given.numel() != i.numel() or given.numel() != j.numel():
            sizes = f"{i.numel()} queries and {j.numel()} keys"
            raise MaskError(f"documents has ids of shape {tuple(given.shape)} for {sizes}; give one id a token")
        document = given.to(i.device)
        return document[i] == document[j]

    return rule


def split(*starts: int) -> Rule:
    """`documents` by their borders: a new document begins at each of these tokens."""
    _not_negative(f"documents:{':'.join(map(str, starts))}", *starts)

    def border(start: int) -> Rule:
        return lambda i, j: (i < start) == (j < start)

    return both(*map(border, starts))


def unseen(*places: int) -> Rule:
    """Nobody looks at these keys, but each at itself; a place that the text lacks changes nothing."""
    _not_negative(f"unseen:{':'.join(map(str, places))}", *places)
    return lambda i, j: (i == j) | ~torch.isin(j, torch.tensor(places, dtype=j.dtype, device=j.device))


def cells(pairs: Iterable[tuple[int, int]]) -> Rule:
    """Exactly the given (query, key) pairs."""
    wanted = sorted({(int(i), int(j)) for i, j in pairs})

    def rule(i: Tensor, j: Tensor) -> Tensor:
        outside = [(a, b) for a, b in wanted if not (0 <= a < i.numel() and 0 <= b < j.numel())]
        if outside:
            raise MaskError(f"cell {outside[0]} lies outside {i.numel()} queries × {j.numel()} keys; remove it")
        painted = torch.zeros(i.numel(), j.numel(), dtype=torch.bool, device=i.device)
        if wanted:
            rows, columns = torch.tensor(wanted, device=i.device).T
            painted[rows, columns] = True
        return painted

    return rule


def both(*rules: Rule) -> Rule:
    """Allowed where every rule allows."""
    return lambda i, j: reduce(and_, (rule(i, j) for rule in rules), full(i, j))


def either(*rules: Rule) -> Rule:
    """Allowed where at least one rule allows."""
    return lambda i, j: reduce(or_, (rule(i, j) for rule in rules), ~full(i, j))


def invert(rule: Rule) -> Rule:
    """Allowed exactly where `rule` forbids."""
    return lambda i, j: ~rule(i, j)


def _positive(what: str, *numbers: int) -> None:
    if any(not isinstance(n, int) or n < 1 for n in numbers):
        raise MaskError(f"mask {what!r}: numbers must be integers of at least 1")


def _not_negative(what: str, *numbers: int) -> None:
    if any(not isinstance(n, int) or n < 0 for n in numbers):
        raise MaskError(f"mask {what!r}: numbers must be integers of at least 0")
