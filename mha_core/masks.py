"""Masks, which say what each query may look at: rules, one expression over the query index i and the key index j each.

A rule takes integer tensors i (len_q, 1) and j (1, len_k), counted from 0 with special tokens, and returns a bool
tensor, True = query i may look at key j. Rules compose with `both`, `either` and `invert`; `allow` makes the tensor.
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from .errors import MaskError

__all__ = [
    "Rule",
    "allow",
    "both",
    "causal",
    "cells",
    "check",
    "dilated",
    "documents",
    "either",
    "full",
    "invert",
    "parse",
    "prefix",
    "sinks",
    "split",
    "unseen",
    "window",
]

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

    def rule(i: Tensor, j: Tensor) -> Tensor:
        result = full(i, j)
        for start in starts:
            result = result & ((i < start) == (j < start))
        return result

    return rule


def unseen(*places: int) -> Rule:
    """Nobody looks at these keys, but each at itself; a place that the text lacks changes nothing."""
    _not_negative(f"unseen:{':'.join(map(str, places))}", *places)

    def rule(i: Tensor, j: Tensor) -> Tensor:
        return (i == j) | ~torch.isin(j, torch.tensor(places, dtype=j.dtype, device=j.device))

    return rule


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

    def rule(i: Tensor, j: Tensor) -> Tensor:
        result = full(i, j)
        for part in rules:
            result = result & part(i, j)
        return result

    return rule


def either(*rules: Rule) -> Rule:
    """Allowed where at least one rule allows."""

    def rule(i: Tensor, j: Tensor) -> Tensor:
        result = ~full(i, j)
        for part in rules:
            result = result | part(i, j)
        return result

    return rule


def invert(rule: Rule) -> Rule:
    """Allowed exactly where `rule` forbids."""
    return lambda i, j: ~rule(i, j)


def allow(
    rule: Rule, len_q: int, len_k: int, keep: Tensor | None = None, device: torch.device | str | None = None
) -> Tensor:
    """The mask tensor of a rule, bool (b|1, 1, i, j), True = may look.

    Args:
        rule: see the module's text.
        keep: bool (b, j), True = real token; padding keys are forbidden to every query.
        device: where the tensor is made; default the CPU, or that of `keep`.

    Raises:
        MaskError: the rule does not return a bool tensor of that size, or `keep` does not fit.
    """
    if device is None and keep is not None:
        device = keep.device
    i = torch.arange(len_q, device=device)[:, None]
    j = torch.arange(len_k, device=device)[None, :]
    result = rule(i, j)
    if not isinstance(result, Tensor) or result.dtype != torch.bool:
        raise MaskError(
            f"a rule must return a bool tensor, this one gave {getattr(result, 'dtype', type(result).__name__)}"
        )
    try:
        result = result.expand(len_q, len_k)[None, None]
    except RuntimeError as error:
        raise MaskError(f"a rule gave shape {tuple(result.shape)} for {len_q} queries × {len_k} keys") from error
    if keep is None:
        return result
    if keep.dtype != torch.bool or keep.dim() != 2 or keep.shape[1] != len_k:
        raise MaskError(f"keep must be bool (batch, {len_k}), got {keep.dtype} {tuple(keep.shape)}")
    return result & keep.to(result.device)[:, None, None, :]


def check(mask: Tensor, b: int, h: int, i: int, j: int, device: torch.device, name: str = "allow") -> Tensor:
    """A caller's mask as bool (b|1, h|1, i, j) on `device`; `name`: what the caller calls it.

    Raises:
        MaskError: not bool, or none of the shapes (i, j), (h, i, j), (b|1, h|1, i, j).
    """
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        got = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise MaskError(
            f"{name} must be a bool tensor (True = may look), got {got}; compare it with 0 or use masks.allow"
        )
    shape = tuple(mask.shape)
    if shape == (i, j):
        full_shape = mask[None, None]
    elif shape == (h, i, j):
        full_shape = mask[None]
    elif len(shape) == 4 and shape[0] in (1, b) and shape[1] in (1, h) and shape[2:] == (i, j):
        full_shape = mask
    else:
        raise MaskError(
            f"{name} has shape {shape}; allowed are ({i}, {j}), ({h}, {i}, {j}) and ({b}|1, {h}|1, {i}, {j})"
        )
    return full_shape.to(device)


def parse(text: str) -> Rule:
    """The rule of a written form such as "causal", "window:3" or "causal & !window:4 | sinks:1".

    ! turns one rule round; it binds before &, and & before |.

    Raises:
        MaskError: an unknown name, a missing or superfluous number, a number out of range.
    """
    return either(*(both(*(_parse_one(part) for part in term.split("&"))) for term in text.split("|")))


# how many numbers each takes
_WRITTEN: dict[str, tuple[range, Callable[..., Rule]]] = {
    "none": (range(1), lambda: full),
    "causal": (range(1), lambda: causal),
    "window": (range(1, 2), window),
    "prefix": (range(1, 2), prefix),
    "sinks": (range(1, 2), sinks),
    "dilated": (range(2, 3), dilated),
    "documents": (range(1, 100), split),
    "unseen": (range(1, 100), unseen),
}


def _parse_one(text: str) -> Rule:
    written = text.strip()
    name, *numbers = written.removeprefix("!").lstrip().split(":")
    counts, make = _WRITTEN.get(name, (range(0), window))
    # nine digits hold in int64 with room to multiply two of them
    if len(numbers) not in counts or not all(number.isdecimal() and len(number) <= 9 for number in numbers):
        forms = "none, causal, window:3, prefix:2, sinks:1, dilated:3:2, documents:5 or unseen:4"
        raise MaskError(f"mask {written!r} is not known; write {forms}, joined by & and |, ! for not")
    rule = make(*(int(number) for number in numbers))
    return invert(rule) if written.startswith("!") else rule


def _positive(what: str, *numbers: int) -> None:
    if any(not isinstance(n, int) or n < 1 for n in numbers):
        raise MaskError(f"mask {what!r}: numbers must be integers of at least 1")


def _not_negative(what: str, *numbers: int) -> None:
    if any(not isinstance(n, int) or n < 0 for n in numbers):
        raise MaskError(f"mask {what!r}: numbers must be integers of at least 0")
