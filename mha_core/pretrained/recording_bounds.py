"""What a recording may hold, and in which form; docs/recordings.md has the same."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..errors import HeadlightError

FORMAT = "headlight recording 1"
KEY = "headlight"  # of what the file says, in its metadata
MOST_WEIGHTS = 2**25  # of all maps together: 128 MiB
MOST_GROUPS = 64
MOST_STEPS = 1000
MOST_HEADS = 4096  # of a group, in all layers
MOST_TOKENS = 4096  # of an axis
MOST_NOTICES = 20
LONGEST_WORDS = 300  # characters of a token or a name
LAST_STEP = 10**12
ABOVE_ONE = 2**-7  # of a weight or the sum of a row: rounding in half precision


def check_words(said: dict[str, Any]) -> None:
    """Raises a HeadlightError for more or longer words, steps and layers than are read."""
    steps, groups = said["steps"], said["groups"]
    at_most("steps", len(steps), MOST_STEPS)
    at_most("groups of maps", len(groups), MOST_GROUPS)
    at_most("notices", len(said["notices"]), MOST_NOTICES)
    if not groups or not steps:
        raise HeadlightError("it has no maps")
    if not all(type(step) is int and 0 <= step <= LAST_STEP for step in steps) or steps != sorted(set(steps)):
        raise HeadlightError("its steps are not whole numbers from 0 on, each larger than the one before")
    words = [said["title"], *said["notices"]]
    for group in groups:
        at_most("layers in a group", len(group["paths"]), MOST_HEADS)
        for tokens in (group["rows"], group["columns"] or group["rows"]):
            at_most("tokens on an axis", len(tokens), MOST_TOKENS)
            words += tokens
        words += [group["name"], *group["paths"]]
    if not all(isinstance(text, str) for text in words):
        raise HeadlightError("one of its names or tokens is no text")
    at_most("characters in one of its texts", max(map(len, words)), LONGEST_WORDS)
    names = [group["name"] for group in groups]
    if len(set(names)) < len(names) or not all(names):
        raise HeadlightError("its groups do not have names of their own")


def check_maps(name: str, maps: Tensor) -> None:
    """Raises a HeadlightError for numbers that no weights can be."""
    if not bool(maps.isfinite().all()):
        raise HeadlightError(f"the maps of “{name:.40}” hold NaN or infinity")
    if float(maps.min()) < 0 or float(maps.max()) > 1 + ABOVE_ONE:
        raise HeadlightError(f"the maps of “{name:.40}” go beyond 0 to 1: they are no weights of a softmax")
    most = float(maps.sum(-1, dtype=torch.float64).max())
    if most > 1 + ABOVE_ONE:
        raise HeadlightError(f"a row of “{name:.40}” sums to {most:.3f}, at most 1 can be shared out")


def at_most(what: str, came: int, most: int) -> None:
    """Raises a HeadlightError for more than is read."""
    if came > most:
        raise HeadlightError(f"it has {came:,} {what}, at most {most:,} are read")
