"""Painted masks as compact text: which cells of a rule's mask are turned round.

`p` of a link is the number of tokens and, after dots, the cells that are turned round in all heads and then those of
single heads, as in "6.rGB.3rJB": see `write_cells`. The browser reads and writes the same (assets/web/link/painted.js).
"""

import re
import string
from functools import lru_cache

import torch
from torch import Tensor

from mha_core import masks
from mha_core.show.cells import DIGITS, POWERS, write_cells

from .limits import MAX_PAINTED, MAX_PAINTED_LENGTH

_VALUES = {digit: value for value, digit in enumerate(DIGITS)}


def read_cells(text: str, size: int) -> Tensor | None:
    """The inverse of `write_cells`, bool (size,); None when the text is no such cells."""
    kind, values = text[:1], [_VALUES.get(digit, -1) for digit in text[1:]]
    if not text:
        return torch.zeros(size, dtype=torch.bool)
    if kind not in ("r", "b") or not values or -1 in values:
        return None
    if kind == "b":
        if len(values) > -(-size // 6):
            return None
        flat = (torch.tensor(values)[:, None] & POWERS).bool().flatten()
        if bool(flat[size:].any()):
            return None
        return torch.nn.functional.pad(flat[:size], (0, max(0, size - len(flat))))
    edges = _edges(values, size)
    if edges is None:
        return None
    turns = torch.zeros(size, dtype=torch.int32)
    turns[edges] = 1
    return turns.cumsum(0) % 2 == 1


def write_flips(flips: Tensor) -> str:
    """The cells that are turned round in each head, bool (h, i, j), as `p` of a link; "" when there are none."""
    everyone = flips.all(dim=0)
    single = flips & ~everyone
    texts = [write_cells(everyone), *(f"{head}{write_cells(cells)}" for head, cells in enumerate(single))]
    parts = [text for text in texts if text and not text.isdigit()]
    return ".".join([str(flips.shape[-1]), *parts]) if parts else ""


def read_flips(text: str, heads: int) -> Tensor | None:
    """The inverse of `write_flips`, bool (h, i, j); None when the text is no painted mask of so many heads."""
    if len(text) > MAX_PAINTED_LENGTH or not re.fullmatch(r"\d{1,2}(\.\d{0,2}[rb][\w-]+)+", text, re.ASCII):
        return None
    size, *parts = text.split(".")
    n, before = int(size), -1
    if not 0 < n <= MAX_PAINTED:
        return None
    flips = torch.zeros(heads, n, n, dtype=torch.bool)
    for at, part in enumerate(parts):
        head = part[: len(part) - len(part.lstrip(string.digits))]
        cells = read_cells(part[len(head) :], n * n)
        # all heads come first and single heads in order, each once
        if cells is None or (not head and at) or (head and not before < int(head) < heads):
            return None
        before = int(head) if head else before
        flips[int(head) if head else slice(None)] |= cells.view(n, n)
    return flips


def usable(text: str, heads: int) -> str | None:
    """The text in its one spelling, None when it is no painted mask. "" is one: nothing painted."""
    flips = read_flips(text, heads) if text else None
    return "" if not text else None if flips is None else write_flips(flips)


def tokens_of(painted: str) -> int:
    """The number of tokens that a painted mask belongs to."""
    return int(painted.split(".")[0])


def per_head(painted: str) -> bool:
    """True when its heads differ."""
    return any(part[:1].isdigit() for part in painted.split(".")[1:])


def allowed(mask: str, painted: str, n: int, heads: int, built_in: str = "none", keys: int | None = None) -> Tensor:
    """The mask of a rule with painted cells, bool (i, j), or (h, i, j) when the heads differ. True = may look.

    Args:
        built_in: the rule that belongs to the model itself; nothing that it forbids is allowed.
        keys: that the n tokens look at, n of them by default; those beyond the tokens are open.

    Raises:
        MaskError: the rule is not known. A painting of another length is left out.
    """
    allow = masks.allow(masks.parse(mask), n, n)[0, 0]
    flips = read_flips(painted, heads) if painted and tokens_of(painted) == n else None
    if flips is not None:
        allow = allow ^ flips if per_head(painted) else allow ^ flips[0]
    allow = allow if built_in == "none" else allow & masks.allow(masks.parse(built_in), n, n)[0, 0]
    more = 0 if keys is None else keys - n
    return torch.nn.functional.pad(allow[..., : n + more], (0, max(0, more)), value=True) if more else allow


def of_head(allow: Tensor, head: int) -> Tensor:
    """The mask (i, j) of one head, out of one for all heads or one a head."""
    return allow[head] if allow.dim() == 3 else allow


@lru_cache(maxsize=64)
def forbidden(
    mask: str, painted: str, n: int, heads: int, built_in: str = "none", keys: int | None = None
) -> list[str]:
    """The forbidden cells as `write_cells`: one text for all heads, or one a head."""
    allow = allowed(mask, painted, n, heads, built_in, keys)
    return [write_cells(~own) for own in (allow if allow.dim() == 3 else allow[None])]


def _edges(values: list[int], size: int) -> list[int] | None:
    """The beginnings of the runs, None unless each lies behind the one before and within the size."""
    edges: list[int] = []
    at = length = shift = 0
    for value in values:
        length += (value & 31) << shift
        shift += 5
        if value < 32:
            at += length
            if at >= size or (edges and at <= edges[-1]) or (shift > 5 and not value):
                return None
            edges.append(at)
            length = shift = 0
        elif shift > 20:
            return None
    return None if shift else edges
