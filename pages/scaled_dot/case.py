"""One call of `attention` on random numbers of a visitor's shapes, beside torch's own function and the truth."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from cachetools import LRUCache
from torch import Tensor
from torch.nn import functional as F

from headlight.link.limits import LONGEST_AXIS
from headlight.queue.places import turn
from headlight.queue.single_flight import shared
from mha_core import attention
from mha_core import device as devices
from mha_core.errors import SizeError
from mha_core.measure.measures import largest_difference, relative_difference

AXES = (2, 5)  # of the queries
MOST_NUMBERS = 300_000  # of one tensor
MOST_STEPS = 30_000_000  # multiplications of both products
MOST_SHOWN = 10  # rows and columns of a matrix that is to be read
SOURCES = {  # where keys and values come from -> the call of attention, and that of torch's function
    "both the queries": ("attention(q)", "F.scaled_dot_product_attention(q, q, q)"),
    "keys from elsewhere": ("attention(q, k)", "F.scaled_dot_product_attention(q, k, k)"),
    "both from elsewhere": ("attention(q, k, v)", "F.scaled_dot_product_attention(q, k, v)"),
}


@dataclass(frozen=True)
class Case:
    """What is computed.

    Attributes:
        queries: the shape (…, i, d).
        source: a name of `SOURCES`.
        keys: how many keys from elsewhere, None = as many as queries; width: of the values from elsewhere, None = d.
        seed: of the random numbers.
    """

    queries: tuple[int, ...]
    source: str = "both the queries"
    keys: int | None = None
    width: int | None = None
    seed: int = 0

    @property
    def leading(self) -> tuple[int, ...]:
        return self.queries[:-2]

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """i, j, d, and the width of v."""
        i, d = self.queries[-2:]
        j = i if self.source == "both the queries" or self.keys is None else self.keys
        return i, j, d, d if self.source != "both from elsewhere" or self.width is None else self.width

    @property
    def controls(self) -> dict[str, Any]:
        """What the controls say of it, by key; the seed stays as it is."""
        return {"qs": ", ".join(map(str, self.queries)), "kv": self.source, "nk": self.keys, "wv": self.width}

    def check(self) -> None:
        """Raises a SizeError when it would take too long to be waited for."""
        i, j, d, width = self.sizes
        many = math.prod(self.leading)
        largest = many * max(i * d, j * d, j * width, i * j)
        steps = many * i * j * (d + width)
        if largest > MOST_NUMBERS:
            raise SizeError(f"a tensor of {largest:,} numbers, at most {MOST_NUMBERS:,} here; choose smaller sizes")
        if steps > MOST_STEPS:
            raise SizeError(f"{steps:,} multiplications, at most {MOST_STEPS:,} here; choose smaller sizes")


# by one click: shapes that the function meets
CASES = {
    "(2, 3, 6)": Case((2, 3, 6)),
    "one text": Case((3, 6)),
    "heads": Case((2, 4, 10, 8)),
    "five axes": Case((2, 2, 4, 5, 6)),
    "keys from elsewhere": Case((2, 3, 6), "keys from elsewhere", keys=5),
    "values of another width": Case((2, 3, 6), "both from elsewhere", keys=5, width=4),
}


@dataclass(frozen=True)
class Checked:
    """What came of it.

    Attributes:
        shapes: name -> shape, of q, k, v, scores, weights, mixed.
        weights, mixed, torchs: (i, j), (i, width) twice: the first index of every leading axis, cut to what is shown.
        to_torch, largest: the relative and the largest difference of the whole to torch's own.
        to_truth, torch_to_truth: relative differences to the same in float64 on the CPU.
        row_sum: the row sum of the weights that lies farthest from 1.
        device: where it was computed.
        notices: what must be said of that, in whole sentences.
    """

    shapes: dict[str, tuple[int, ...]]
    weights: list[list[float]]
    mixed: list[list[float]]
    torchs: list[list[float]]
    to_torch: float
    largest: float
    to_truth: float
    torch_to_truth: float
    row_sum: float
    device: str
    notices: tuple[str, ...] = ()


def parse_shape(text: str, least: int, most: int) -> tuple[int, ...]:
    """ "2, 3, 6" -> (2, 3, 6), also with spaces, × or brackets.

    Raises:
        SizeError: not so many whole numbers, or one that is too large.
    """
    parts = [part for part in re.split(r"[\s,;×x()\[\]]+", text.strip()) if part]
    if not all(re.fullmatch(r"\d{1,6}", part, re.ASCII) for part in parts):
        raise SizeError(f"a shape is {least} to {most} whole numbers, such as 2, 3, 6")
    if not least <= len(parts) <= most:
        raise SizeError(f"{len(parts)} sizes, need {least} to {most} of them")
    shape = tuple(int(part) for part in parts)
    if min(shape) < 1 or max(shape) > LONGEST_AXIS:
        raise SizeError(f"every size must be 1 to {LONGEST_AXIS:,}")
    return shape


def tensors(case: Case) -> tuple[Tensor, ...]:
    """q, then k and v as far as they come from elsewhere: standard normal, on the CPU."""
    i, j, d, width = case.sizes
    random = torch.Generator().manual_seed(case.seed)
    wanted = [(i, d), (j, d), (j, width)][: 1 + list(SOURCES).index(case.source)]
    return tuple(torch.randn(*case.leading, *pair, generator=random) for pair in wanted)


@shared(LRUCache(64))
def checked(case: Case, device: str) -> Checked:
    """The call, torch's own and the truth. Raises a SizeError when it is too large, a DeviceError when a device is."""
    case.check()
    given = tensors(case)

    def on(where: torch.device) -> tuple[Tensor, Tensor, Tensor, str]:
        ours = [one.to(where) for one in given]
        mixed, weights = attention(*ours)
        return mixed.cpu(), weights.cpu(), F.scaled_dot_product_attention(*_three(ours)).cpu(), where.type

    with turn(), torch.no_grad():
        (mixed, weights, torchs, where), notices = devices.or_on_the_cpu(
            on, devices.pick(device), allowed=device == "auto", smaller="choose smaller sizes"
        )
        truth, _ = attention(*(one.double() for one in given))
    q, k, v = _three(list(given))
    shapes = {"q": q, "k": k, "v": v, "scores": weights, "weights": weights, "mixed": mixed}
    return Checked(
        {name: tuple(one.shape) for name, one in shapes.items()},
        first(weights),
        first(mixed),
        first(torchs),
        relative_difference(mixed, torchs),
        largest_difference(mixed, torchs),
        relative_difference(mixed.double(), truth),
        relative_difference(torchs.double(), truth),
        max(weights.sum(dim=-1).flatten().tolist(), key=lambda total: abs(total - 1)),
        where,
        notices,
    )


def first(of: Tensor) -> list[list[float]]:
    """The first matrix of the last two axes, cut to what can be read."""
    matrix: list[list[float]] = of.reshape(-1, *of.shape[-2:])[0, :MOST_SHOWN, :MOST_SHOWN].tolist()
    return matrix


def _three(given: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v as `attention` fills them in."""
    q, k, v = (given[min(at, len(given) - 1)] for at in range(3))
    return q, k, v
