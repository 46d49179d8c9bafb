"""One call of `attention` on random numbers of a visitor's shapes, beside torch's own function and the truth."""

import inspect
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from cachetools import LRUCache
from torch import Tensor
from torch.nn import functional as F

from headlight.link.limits import MAX_AXIS_LENGTH
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.ui import pages, paper, sheet
from headlight.ui.numbers import scientific, share, whole
from headlight.ui.sheet import Block
from mha_core import attention
from mha_core import device as devices
from mha_core.errors import SizeError
from mha_core.measure.measures import largest_difference, relative_difference

SCALED_DOT = "scaled dot product"  # the example's name in the link
AXES = (2, 5)  # of the queries
STEPS = {  # of the paper's two figures -> of Shapes
    "Linear": "q.project",
    "split into heads": "q.transpose",
    "MatMul: Q Kᵀ": "scores.product",
    "Scale: ÷ √d": "scores",
    "Mask": "masked",
    "SoftMax over the keys": "weights",
    "MatMul: weights · V": "mixed",
    "Concat": "joined",
    "Linear, out": "out",
}
MAX_SHOWN = 10  # rows and columns of a matrix that is to be read
MAX_COUNTS = {"numbers in a tensor": 300_000, "multiplications": 30_000_000, "matrix products in a loop": 256}
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

    @classmethod
    def of_link(cls, value: Callable[[str], Any]) -> "Case":
        """The case that a link says. Raises a SizeError for a shape that cannot be read. `value`: what a key says."""
        keys, width = (None if value(key) is None else int(value(key)) for key in ("nk", "wv"))
        return cls(parse_shape(value("qs"), *AXES), value("kv"), keys, width, int(value("draw")))

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
        """Values of the controls for this case, by key; the seed is kept."""
        return {"qs": ", ".join(map(str, self.queries)), "kv": self.source, "nk": self.keys, "wv": self.width}

    def check(self) -> None:
        """Raise a SizeError when it would take too long."""
        i, j, d, width = self.sizes
        many = math.prod(self.leading)
        check_amounts(many * max(i * d, j * d, j * width, i * j), many * i * j * (d + width))


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
        shapes: name -> shape and axes, of q, k, v, scores, weights, mixed.
        matrices: name -> (i, j) or (i, width), the first index of every leading axis, cut to what is shown.
        differences: name -> how far two results, or a row sum and 1, lie apart; the truth is in float64 on the CPU.
        device: where it was computed.
        notices: what must be said of that, in whole sentences.
    """

    shapes: dict[str, tuple[tuple[int, ...], str]]
    matrices: dict[str, list[list[float]]]
    differences: dict[str, float]
    device: str
    notices: tuple[str, ...] = ()


def check_amounts(*amounts: int) -> None:
    """Raise a SizeError when one of the counts, in the order of `MAX_COUNTS`, is too large."""
    for amount, (what, most) in zip(amounts, MAX_COUNTS.items(), strict=False):
        if amount > most:
            raise SizeError(f"{amount:,} {what}, at most {most:,} are allowed; choose smaller sizes")


def parse_shape(text: str, least: int, most: int) -> tuple[int, ...]:
    """ "2, 3, 6" -> (2, 3, 6), also with spaces, × or brackets.

    Raises:
        SizeError: not so many whole numbers, or one that is too large.
    """
    parts = [part for part in re.split(r"[\s,;×x()\[\]]+", text.strip()) if part]
    if not all(re.fullmatch(r"\d{1,6}", part, re.ASCII) for part in parts):
        raise SizeError(f"a shape has {least} to {most} whole numbers, such as 2, 3, 6")
    if not least <= len(parts) <= most:
        raise SizeError(f"{len(parts)} sizes were given; {least} to {most} are needed")
    shape = tuple(int(part) for part in parts)
    if min(shape) < 1 or max(shape) > MAX_AXIS_LENGTH:
        raise SizeError(f"every size must be from 1 to {MAX_AXIS_LENGTH:,}")
    return shape


def tensors(case: Case) -> tuple[Tensor, ...]:
    """q, then k and v as far as they come from elsewhere: standard normal, on the CPU."""
    i, j, d, width = case.sizes
    random = torch.Generator().manual_seed(case.seed)
    wanted = [(i, d), (j, d), (j, width)][: 1 + list(SOURCES).index(case.source)]
    return tuple(torch.randn(*case.leading, *pair, generator=random) for pair in wanted)


@single_flight(LRUCache(64))
def checked(case: Case, device: str) -> Checked:
    """The call, torch's own and the truth. Raises a SizeError when it is too large, a DeviceError when a device is."""
    case.check()
    given = tensors(case)

    def on(where: torch.device) -> tuple[Tensor, Tensor, Tensor, str]:
        ours = [one.to(where) for one in given]
        mixed, weights = attention(*ours)
        return mixed.cpu(), weights.cpu(), F.scaled_dot_product_attention(*_three(ours)).cpu(), where.type

    with pass_slot(), torch.no_grad():
        (mixed, weights, torchs, where), notices = devices.or_on_the_cpu(
            on, devices.pick(device), allowed=device == "auto", smaller="choose smaller sizes"
        )
        truth, _ = attention(*(one.double() for one in given))
    q, k, v = _three(given)
    shapes = {
        "q": (q, "…, i, d"),
        "k": (k, "…, j, d"),
        "v": (v, "…, j, any width"),
        "q kᵀ / √d, weights": (weights, "…, i, j"),
        "mixed": (mixed, "…, i, width of v"),
    }
    sums = weights.sum(dim=-1)
    return Checked(
        {name: (tuple(one.shape), axes) for name, (one, axes) in shapes.items()},
        {"weights": first(weights), "mixed, by attention": first(mixed), "mixed, by torch": first(torchs)},
        {
            "attention − torch's own": relative_difference(mixed, torchs),
            "attention − truth": relative_difference(mixed.double(), truth),
            "torch's own − truth": relative_difference(torchs.double(), truth),
            "largest single difference to torch's own": largest_difference(mixed, torchs),
            "row sum farthest from 1, minus 1": largest_difference(sums, torch.ones_like(sums)),
        },
        where,
        notices,
    )


def first(of: Tensor) -> list[list[float]]:
    """The first matrix of the last two axes, cut to what can be read."""
    matrix: list[list[float]] = of.reshape(-1, *of.shape[-2:])[0, :MAX_SHOWN, :MAX_SHOWN].tolist()
    return matrix


def _three(given: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v as `attention` fills them in."""
    q, k, v = (given[min(at, len(given) - 1)] for at in range(3))
    return q, k, v


def blocks(case: Case, device: str) -> list[Block]:
    """The call and how far it lies from torch's own, its numbers, shapes, source and formulas. Raises as `checked`."""
    made = checked(case, device)
    ours, torchs = SOURCES[case.source]
    far = made.differences["attention − torch's own"]
    agree = f"{'agree' if far <= 1e-6 else 'differ'} (relative difference {scientific(far)})"
    offered = [(name, {"case": name}, _same(one, case)) for name, one in CASES.items()]
    shapes = sheet.table(
        ["tensor", "shape", "axes"], [[name, str(of), axes] for name, (of, axes) in made.shapes.items()]
    )
    far_apart = [[name, scientific(value)] for name, value in made.differences.items()]
    differences = sheet.table(["difference", "measured"], far_apart, "relative: ‖a − b‖ / ‖b‖; the truth is in float64")
    return [
        sheet.notices(made.notices),
        sheet.title(f"{ours} and PyTorch’s own {agree}", f"{torchs}, computed now on {made.device} in float32"),
        sheet.buttons("Cases", offered),
        sheet.columns(
            [
                _matrices(case, made),
                sheet.panel("Shapes", [shapes], "same leading axes"),
                sheet.panel("How far apart", [differences]),
                _formulas(case),
                sheet.panel("The function", [sheet.code(inspect.getsource(attention).splitlines())], "as it ran"),
            ]
        ),
    ]


def _same(one: Case, other: Case) -> bool:
    return (one.queries, one.source, one.sizes) == (other.queries, other.source, other.sizes)


def _matrices(case: Case, made: Checked) -> Block:
    """The first index of every leading axis: the weights, and the outputs of both functions."""
    i, j, _, width = case.sizes
    cut = max(i, j, width) > MAX_SHOWN
    drawn = []
    for name, values in made.matrices.items():
        rows, cols = (list(map(str, range(len(side)))) for side in (values, values[0]))
        how: dict[str, Any] = {"axes": "i c"}
        if name == "weights":
            how = {"axes": "i j", "colour": "weights", "write": lambda weight: share(weight, 2)}
        drawn.append(
            sheet.matrix(name, values, rows=rows, cols=cols, compact=True, **(how | {"axes": ""} if cut else how))
        )
    where = f"index {', '.join('0' for _ in case.leading)} of the leading axes; " if case.leading else ""
    shown = f"the first rows and columns of {i} queries, {j} keys, {width} channels" if cut else "all rows and columns"
    return sheet.panel("The numbers", [sheet.row(drawn)], f"{where}{shown}; counted from 0")


def _formulas(case: Case) -> Block:
    """The paper's formulas with the sizes of this call."""
    i, j, d, width = case.sizes
    heads = case.leading[-1] if len(case.leading) > 1 else 1
    steps = [
        (name, pages.link("shapes", ("step", step), *[("mask", "causal")] * (step == "masked")))
        for name, step in STEPS.items()
    ]
    shown = [
        paper.attention(i, j, d, width, case.leading),
        paper.multi_head(i, heads, heads * d, width),
        sheet.text("The steps of the paper’s two figures, on Shapes:"),
        sheet.links(steps),
    ]
    said = f"the axis before the queries counts {whole(heads)} heads" if heads > 1 else "here with one head"
    return sheet.panel("In the paper’s notation", shown, f"sizes have the colours of their axes; {said}")
