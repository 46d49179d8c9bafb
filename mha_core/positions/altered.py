"""A learned table with its rows shuffled or scaled: positions that the model knows, at the wrong place or size."""

import copy
import math

import torch
from torch import nn

from ..errors import PositionError
from .added import Learned

SEED = 0


def is_altered(name: str) -> bool:
    """True of the names that `altered` takes."""
    return name == "shuffled" or name.startswith("scaled:")


def altered(learned: Learned, name: str) -> Learned:
    """A copy with its rows in another order, "shuffled", or times a number, "scaled:0.5".

    The order is a fixed one of all rows, so that every call gives the same.

    Raises:
        PositionError: another name, or a factor that is not a finite number.
    """
    table = learned.table.detach()
    if name == "shuffled":
        order = torch.randperm(len(table), generator=torch.Generator().manual_seed(SEED))
        table = table[order.to(table.device)]
    else:
        table = table * _factor(name)
    twin = copy.deepcopy(learned)
    twin.table = nn.Parameter(table, requires_grad=learned.table.requires_grad)
    return twin


def _factor(name: str) -> float:
    kind, _, text = name.partition(":")
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if kind != "scaled" or not math.isfinite(factor):
        raise PositionError(f"position={name!r} is not known; write shuffled, or scaled: and a number, as scaled:0.5")
    return factor
