"""Calls of attention as groups of layers that can be looked at together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from ..errors import SizeError
from .recordings import Group, Recording

if TYPE_CHECKING:
    from .watcher import Seen

Tokens = Sequence[str] | None
ALIKE = "There are as many rows as columns, so it cannot be told whose tokens a square map has: it is numbered."


def grouped(maps: Sequence[Seen], unseen: Sequence[str], rows: Tokens, columns: Tokens, title: str) -> Recording:
    """Layers that have one place in the module but for its numbers, and one shape, in the order of their first call.

    Raises:
        SizeError: rows or columns fit no map.
    """
    found: dict[tuple[str, object, bool], list[Seen]] = {}
    for one in maps:
        place = re.sub(r"(?<![^._])\d+(?![^.])", "*", one.path)  # layers.layer_0.attn1 -> layers.layer_*.attn1
        found.setdefault((place, one.weights.shape, one.itself is False), []).append(one)
    places = Counter(place for place, *_ in found)
    groups, said = list[Group](), list[str]()
    for (place, _, crosses), calls in found.items():
        heads, i, j = calls[0].weights.shape
        name = place or "attention"
        if places[place] > 1:
            name += f", {heads} heads of {i} × {j}{', two sequences' * (crosses and i == j)}"
        alike = not crosses and rows is not None and columns is not None and len(rows) == len(columns) == i
        if alike:
            said.append(ALIKE)
        own = _numbers(i) if alike else _fitting(i, rows, columns)
        others = _fitting(j, columns, rows) if crosses else None
        whole = torch.stack([call.weights.float() for call in calls])[None]
        groups.append(Group(name, tuple(call.path for call in calls), own, others, whole))
    for name, tokens in (("rows", rows), ("columns", columns)):
        sizes = dict.fromkeys(group.maps.shape[-2:] for group in groups)
        if tokens is not None and not any(len(tokens) in size for size in sizes):
            there = ", ".join(f"{i} × {j}" for i, j in sizes)
            raise SizeError(f"{name} has {len(tokens)} tokens, the maps have {there}; give as many as the module reads")
    if unseen:
        said.append(f"{len(unseen)} modules called attention ran unseen, as {unseen[0]}.")
    return Recording(tuple(groups), (0,), title, tuple(dict.fromkeys(said)))


def _fitting(count: int, *choices: Tokens) -> list[str]:
    """The first of the tokens that are so many; numbers where none are."""
    return next((list(tokens) for tokens in choices if tokens is not None and len(tokens) == count), _numbers(count))


def _numbers(count: int) -> list[str]:
    return list(map(str, range(count)))
