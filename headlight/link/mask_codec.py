"""Painted masks as compact text: the cells of a rule's mask that are flipped.

`p` of a link is the number of tokens and, after dots, the cells that are flipped in all heads and then those of single
heads, as in "6.rGB.3rJB": see `write_cells`. assets/web/link/painted.js implements the same format.
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
    """Return the cells that `write_cells` has written, bool (size,); None if the text is not valid."""
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
    """Return the flipped cells, bool (h, i, j), as `p` of a link; "" without any."""
    everyone = flips.all(dim=0)
    single = flips & ~everyone
    texts = [write_cells(everyone), *(f"{head}{write_cells(cells)}" for head, cells in enumerate(single))]
    parts = [text for text in texts if text and not text.isdigit()]
    return ".".join([str(flips.shape[-1]), *parts]) if parts else ""


def read_flips(text: str, heads: int) -> Tensor | None:
    """Return the cells that `write_flips` has written, bool (h, i, j); None if the text is not valid."""
    if len(text) > MAX_PAINTED_LENGTH or not re.fullmatch(r"\d{1,2}(\.\d{0,2}[rb][\w-]+)+", text, re.ASCII):
        return None
    size, *parts = text.split(".")
    n, previous = int(size), -1
    if not 0 < n <= MAX_PAINTED:
        return None
    flips = torch.zeros(heads, n, n, dtype=torch.bool)
    for index, part in enumerate(parts):
        head = part[: len(part) - len(part.lstrip(string.digits))]
        cells = read_cells(part[len(head) :], n * n)
        # the part for all heads comes first, then single heads in order, each once
        if cells is None or (not head and index) or (head and not previous < int(head) < heads):
            return None
        previous = int(head) if head else previous
        flips[int(head) if head else slice(None)] |= cells.view(n, n)
    return flips


def normalize(text: str, heads: int) -> str | None:
    """Normalize a painted mask; return None if it is not valid. "" is valid: nothing is painted."""
    flips = read_flips(text, heads) if text else None
    return "" if not text else None if flips is None else write_flips(flips)


def token_count(painted: str) -> int:
    """Return the number of tokens of a painted mask."""
    return int(painted.split(".")[0])


def is_per_head(painted: str) -> bool:
    """Return whether the heads of a painted mask differ."""
    return any(part[:1].isdigit() for part in painted.split(".")[1:])


def allow_mask(mask: str, painted: str, n: int, heads: int, built_in: str = "none", keys: int | None = None) -> Tensor:
    """Return the mask of a rule with painted cells.

    Args:
        mask: the rule as an expression.
        painted: the painted cells; ignored if they are for another number of tokens.
        n: number of tokens.
        heads: number of heads.
        built_in: the model's own rule, which is joined by and.
        keys: number of keys, n by default; those beyond the tokens are allowed.

    Returns:
        bool (i, j), or (h, i, j) if the heads differ; True = may attend.

    Raises:
        MaskError: the rule is unknown.
    """
    allow = masks.allow(masks.parse(mask), n, n)[0, 0]
    flips = read_flips(painted, heads) if painted and token_count(painted) == n else None
    if flips is not None:
        allow = allow ^ flips if is_per_head(painted) else allow ^ flips[0]
    allow = allow if built_in == "none" else allow & masks.allow(masks.parse(built_in), n, n)[0, 0]
    more = 0 if keys is None else keys - n
    return torch.nn.functional.pad(allow[..., : n + more], (0, max(0, more)), value=True) if more else allow


def head_mask(allow: Tensor, head: int) -> Tensor:
    """Return the mask (i, j) of one head from a mask (i, j) or (h, i, j)."""
    return allow[head] if allow.dim() == 3 else allow


@lru_cache(maxsize=64)
def forbidden_cells(
    mask: str, painted: str, n: int, heads: int, built_in: str = "none", keys: int | None = None
) -> list[str]:
    """Return the forbidden cells by `write_cells`: one text for all heads, or one for each."""
    allow = allow_mask(mask, painted, n, heads, built_in, keys)
    return [write_cells(~head_allow) for head_allow in (allow if allow.dim() == 3 else allow[None])]


def _edges(values: list[int], size: int) -> list[int] | None:
    """Return the starts of the runs; None unless they increase and are less than the size."""
    edges: list[int] = []
    position = length = shift = 0
    for value in values:
        length += (value & 31) << shift
        shift += 5
        if value < 32:
            position += length
            if position >= size or (edges and position <= edges[-1]) or (shift > 5 and not value):
                return None
            edges.append(position)
            length = shift = 0
        elif shift > 20:
            return None
    return None if shift else edges
