"""Learned tables with shuffled or scaled rows: known positions in the wrong place or size."""

import copy
import math

import torch
from torch import nn

from ..errors import PositionError
from .added import Learned

SEED = 0


def is_altered(name: str) -> bool:
    """Return whether a name is one that `altered` takes."""
    return name == "shuffled" or name.startswith("scaled:")


def altered(learned: Learned, name: str) -> Learned:
    """Return a copy with shuffled rows, "shuffled", or with scaled rows, "scaled:0.5".

    The permutation of all rows is fixed, so that every call gives the same table.

    Raises:
        PositionError: another name, or a factor that is not a finite number.
    """
    table = learned.table.detach()
    table = table[shuffled_rows(len(table)).to(table.device)] if name == "shuffled" else table * _factor(name)
    twin = copy.deepcopy(learned)
    twin.table = nn.Parameter(table, requires_grad=learned.table.requires_grad)
    return twin


def shuffled_rows(n: int) -> torch.Tensor:
    """Return the fixed permutation of n rows, int64 (n,)."""
    return torch.randperm(n, generator=torch.Generator().manual_seed(SEED))


def _factor(name: str) -> float:
    kind, _, text = name.partition(":")
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if kind != "scaled" or not math.isfinite(factor):
        raise PositionError(f"position={name!r} is not known; write shuffled, or scaled: and a number, as scaled:0.5")
    return factor
