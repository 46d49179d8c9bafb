"""Mask rules, expressions over the query index i and the key index j, and their combinators."""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import and_, or_

import torch
from torch import Tensor

from ..errors import MaskError

Rule = Callable[[Tensor, Tensor], Tensor]


def full(i: Tensor, j: Tensor) -> Tensor:
    """Allow every key."""
    return (i >= 0) & (j >= 0)


def causal(i: Tensor, j: Tensor) -> Tensor:
    """Allow the token itself and earlier keys."""
    return j <= i


def window(w: int) -> Rule:
    """Allow keys fewer than `w` steps away on either side: up to 2 w − 1 keys, the token included."""
    _positive(f"window:{w}", w)
    return lambda i, j: (i - j).abs() < w


def prefix(n: int) -> Rule:
    """Allow the first `n` keys to every query, and the rest causally."""
    _not_negative(f"prefix:{n}", n)
    return lambda i, j: (j <= i) | (j < n)


def sinks(n: int) -> Rule:
    """Allow the first `n` keys only; meant to be combined, as either(sinks(1), window(4))."""
    _not_negative(f"sinks:{n}", n)
    return lambda i, j: (j < n) & (i >= 0)


def dilated(w: int, s: int) -> Rule:
    """Allow every `s`-th neighbour, `w` on each side counting the token itself."""
    _positive(f"dilated:{w}:{s}", w, s)
    return lambda i, j: ((i - j).abs() < w * s) & ((i - j) % s == 0)


def documents(ids: Sequence[int] | Tensor) -> Rule:
    """Allow keys with the document id of the query.

    Args:
        ids: one integer per token, (length,); queries and keys are the same tokens.
    """
    id_tensor = torch.as_tensor(ids)

    def rule(i: Tensor, j: Tensor) -> Tensor:
        if id_tensor.dim() != 1 or id_tensor.numel() != i.numel() or id_tensor.numel() != j.numel():
            sizes = f"{i.numel()} queries and {j.numel()} keys"
            raise MaskError(f"documents has ids of shape {tuple(id_tensor.shape)} for {sizes}; give one id a token")
        document = id_tensor.to(i.device)
        return document[i] == document[j]

    return rule


def split(*starts: int) -> Rule:
    """Allow keys of the same document, where a new document begins at each of these tokens."""
    _not_negative(f"documents:{':'.join(map(str, starts))}", *starts)

    def border(start: int) -> Rule:
        return lambda i, j: (i < start) == (j < start)

    return both(*map(border, starts))


def unseen(*places: int) -> Rule:
    """Hide these keys from every query but the token itself; positions beyond the text are ignored."""
    _not_negative(f"unseen:{':'.join(map(str, places))}", *places)
    return lambda i, j: (i == j) | ~torch.isin(j, torch.tensor(places, dtype=j.dtype, device=j.device))


def cells(pairs: Iterable[tuple[int, int]]) -> Rule:
    """Allow exactly the given (query, key) pairs."""
    allowed = sorted({(int(i), int(j)) for i, j in pairs})

    def rule(i: Tensor, j: Tensor) -> Tensor:
        outside = [(a, b) for a, b in allowed if not (0 <= a < i.numel() and 0 <= b < j.numel())]
        if outside:
            raise MaskError(f"cell {outside[0]} lies outside {i.numel()} queries × {j.numel()} keys; remove it")
        painted = torch.zeros(i.numel(), j.numel(), dtype=torch.bool, device=i.device)
        if allowed:
            rows, columns = torch.tensor(allowed, device=i.device).T
            painted[rows, columns] = True
        return painted

    return rule


def both(*rules: Rule) -> Rule:
    """Allow a key where every rule allows it."""
    return lambda i, j: reduce(and_, (rule(i, j) for rule in rules), full(i, j))


def either(*rules: Rule) -> Rule:
    """Allow a key where at least one rule allows it."""
    return lambda i, j: reduce(or_, (rule(i, j) for rule in rules), ~full(i, j))


def invert(rule: Rule) -> Rule:
    """Allow a key exactly where `rule` forbids it."""
    return lambda i, j: ~rule(i, j)


def _positive(form: str, *numbers: int) -> None:
    if any(not isinstance(n, int) or n < 1 for n in numbers):
        raise MaskError(f"mask {form!r}: numbers must be integers of at least 1")


def _not_negative(form: str, *numbers: int) -> None:
    if any(not isinstance(n, int) or n < 0 for n in numbers):
        raise MaskError(f"mask {form!r}: numbers must be integers of at least 0")
