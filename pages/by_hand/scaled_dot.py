"""A call of `attention` on random numbers, compared with torch's own function and with float64."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from cachetools import LRUCache
from torch import Tensor
from torch.nn import functional as F

from headlight import ROOT
from headlight.link.limits import MAX_AXIS_LENGTH
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.ui import equations, pages, sheet
from headlight.ui.numbers import integer, scientific, share
from headlight.ui.sheet import Block
from mha_core import attention
from mha_core import device as devices
from mha_core.errors import SizeError
from mha_core.measure.measures import largest_difference, relative_difference

SCALED_DOT = "scaled dot product"  # the example's name in the link
AXES = (2, 5)  # of the queries
STEPS = {  # step in the paper's two figures -> step on Shapes
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
_FORMS = json.loads((ROOT / "assets" / "plain_forms.json").read_text(encoding="utf-8"))
PLAIN = _FORMS["attention"]  # without options; tests/plain_forms.py makes it
MAX_SHOWN = 10  # rows and columns of a matrix on the page
MAX_COUNTS = {"numbers in a tensor": 300_000, "multiplications": 30_000_000, "matrix products in a loop": 256}
WEIGHTS, MIXED = "q kᵀ / √d, weights", ("mixed, by torch", "mixed, in float64")
SHAPES = {  # tensor -> its axes
    "q": "…, i, d",
    "k": "…, j, d",
    "v": "…, j, any width",
    WEIGHTS: "…, i, j",
    "mixed": "…, i, width of v",
}
SOURCES = {  # origin of keys and values -> call of attention, call of torch's function
    "both the queries": ("attention(q)", "F.scaled_dot_product_attention(q, q, q)"),
    "keys from elsewhere": ("attention(q, k)", "F.scaled_dot_product_attention(q, k, k)"),
    "both from elsewhere": ("attention(q, k, v)", "F.scaled_dot_product_attention(q, k, v)"),
}


@dataclass(frozen=True)
class Case:
    """The arguments of a call.

    Attributes:
        queries: the shape (…, i, d).
        source: a name of `SOURCES`.
        keys: the number of separate keys; None for that of the queries.
        width: the channels of separate values; None for d.
        seed: the seed of the random numbers.
    """

    queries: tuple[int, ...]
    source: str = "both the queries"
    keys: int | None = None
    width: int | None = None
    seed: int = 0

    @classmethod
    def from_link(cls, value: Callable[[str], Any]) -> "Case":
        """Parse a case; `value` returns the value of a key of the link.

        Raises:
            SizeError: the shape is invalid.
        """
        keys, width = (None if value(key) is None else int(value(key)) for key in ("nk", "wv"))
        return cls(parse_shape(value("qs"), *AXES), value("kv"), keys, width, int(value("draw")))

    @property
    def leading(self) -> tuple[int, ...]:
        """The leading axes."""
        return self.queries[:-2]

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """The sizes i, j, d and the width of v."""
        i, d = self.queries[-2:]
        j = i if self.source == "both the queries" or self.keys is None else self.keys
        return i, j, d, d if self.source != "both from elsewhere" or self.width is None else self.width

    @property
    def controls(self) -> dict[str, Any]:
        """The values of the controls by key, except the seed."""
        return {"qs": ", ".join(map(str, self.queries)), "kv": self.source, "nk": self.keys, "wv": self.width}

    def check(self) -> None:
        """Check that the call is small enough.

        Raises:
            SizeError: it would take too long.
        """
        i, j, d, width = self.sizes
        batch = math.prod(self.leading)
        check_amounts(batch * max(i * d, j * d, j * width, i * j), batch * i * j * (d + width))


# suggested shapes
CASES = {
    "(2, 3, 6)": Case((2, 3, 6)),
    "one text": Case((3, 6)),
    "heads": Case((2, 4, 10, 8)),
    "five axes": Case((2, 2, 4, 5, 6)),
    "keys from elsewhere": Case((2, 3, 6), "keys from elsewhere", keys=5),
    "values of another width": Case((2, 3, 6), "both from elsewhere", keys=5, width=4),
}


def check_amounts(*amounts: int) -> None:
    """Check counts in the order of `MAX_COUNTS`.

    Raises:
        SizeError: one of them is too large.
    """
    for amount, (noun, limit) in zip(amounts, MAX_COUNTS.items(), strict=False):
        if amount > limit:
            raise SizeError(f"{amount:,} {noun}, at most {limit:,} are allowed; choose smaller sizes")


def parse_shape(text: str, min_sizes: int, max_sizes: int) -> tuple[int, ...]:
    """Parse a shape such as "2, 3, 6", also with spaces, × or brackets.

    Raises:
        SizeError: it has too few or too many sizes, or one that is too large.
    """
    parts = [part for part in re.split(r"[\s,;×x()\[\]]+", text.strip()) if part]
    if not all(re.fullmatch(r"\d{1,6}", part, re.ASCII) for part in parts):
        raise SizeError(f"a shape has {min_sizes} to {max_sizes} whole numbers, such as 2, 3, 6")
    if not min_sizes <= len(parts) <= max_sizes:
        raise SizeError(f"{len(parts)} sizes were given; {min_sizes} to {max_sizes} are needed")
    shape = tuple(int(part) for part in parts)
    if min(shape) < 1 or max(shape) > MAX_AXIS_LENGTH:
        raise SizeError(f"every size must be from 1 to {MAX_AXIS_LENGTH:,}")
    return shape


def tensors(case: Case) -> tuple[Tensor, ...]:
    """Return q, and k and v if they are separate: standard normal, on the CPU."""
    i, j, d, width = case.sizes
    random = torch.Generator().manual_seed(case.seed)
    shapes = [(i, d), (j, d), (j, width)][: 1 + list(SOURCES).index(case.source)]
    return tuple(torch.randn(*case.leading, *pair, generator=random) for pair in shapes)


def compare(case: Case, device: str) -> tuple[dict[str, Tensor], str, tuple[str, ...]]:
    """Compute the call by `attention`, by torch's own function and in float64 on the CPU.

    Returns:
        the names of `SHAPES` and MIXED -> tensors on the CPU; the type of the device; notices on it.

    Raises:
        SizeError: the call is too large.
        DeviceError: the device cannot compute it.
    """
    case.check()
    inputs = tensors(case)

    def compute(place: torch.device) -> tuple[list[Tensor], str]:
        ours = [tensor.to(place) for tensor in inputs]
        results = (*attention(*ours), F.scaled_dot_product_attention(*_with_defaults(ours)))
        return [result.cpu() for result in results], place.type

    with pass_slot(), torch.no_grad():
        (results, place), notices = devices.run_with_cpu_fallback(
            compute, devices.pick(device), allowed=device == "auto", smaller="choose smaller sizes"
        )
        truth, _ = attention(*(tensor.double() for tensor in inputs))
    mixed, weights, torchs = results
    values = (*_with_defaults(inputs), weights, mixed, torchs, truth)
    return dict(zip((*SHAPES, *MIXED), values, strict=True)), place, notices


def differences(results: Mapping[str, Tensor]) -> dict[str, float]:
    """Return the differences of the results of `compare`, and of a row sum and 1."""
    mixed, torchs, truth = (results[name] for name in ("mixed", *MIXED))
    sums = results[WEIGHTS].sum(dim=-1)
    return {
        "attention − torch's own": relative_difference(mixed, torchs),
        "attention − truth": relative_difference(mixed.double(), truth),
        "torch's own − truth": relative_difference(torchs.double(), truth),
        "largest single difference to torch's own": largest_difference(mixed, torchs),
        "row sum farthest from 1, minus 1": largest_difference(sums, torch.ones_like(sums)),
    }


def first_matrix(tensor: Tensor) -> list[list[float]]:
    """Return the matrix at index 0 of all leading axes, cropped for display."""
    matrix: list[list[float]] = tensor.reshape(-1, *tensor.shape[-2:])[0, :MAX_SHOWN, :MAX_SHOWN].tolist()
    return matrix


def _with_defaults(inputs: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return q, k and v with the defaults of `attention`."""
    q, k, v = (inputs[min(index, len(inputs) - 1)] for index in range(3))
    return q, k, v


@single_flight(LRUCache(64))
def blocks(case: Case, device: str) -> list[Block]:
    """Return the call with its differences, numbers, shapes, source and formulas. Raises as `compare`."""
    results, place, notices = compare(case, device)
    ours, torchs = SOURCES[case.source]
    errors = differences(results)
    error = errors["attention − torch's own"]
    verdict = f"{'agree' if error <= 1e-6 else 'differ'} (relative difference {scientific(error)})"
    call = case.queries, case.source, case.sizes
    buttons = [(name, {"case": name}, (c.queries, c.source, c.sizes) == call) for name, c in CASES.items()]
    shapes = [[name, str(tuple(results[name].shape)), axes] for name, axes in SHAPES.items()]
    lines = [[name, scientific(value)] for name, value in errors.items()]
    measured = sheet.table(["difference", "measured"], lines, "relative: ‖a − b‖ / ‖b‖; the truth is in float64")
    kind = "self-attention" if case.source == "both the queries" else "cross-attention"
    source = sheet.code(PLAIN, file="attention.py")
    return [
        sheet.notices(notices),
        sheet.title(f"{ours} and PyTorch’s own {verdict}", f"{kind}: {torchs}, computed now on {place} in float32"),
        sheet.buttons("Cases", buttons),
        sheet.columns(
            [
                sheet.panel("The function", [source], "mha_core.attention without mask, bias and temperature"),
                _matrices(case, results),
                sheet.panel("Shapes", [sheet.table(["tensor", "shape", "axes"], shapes)], "same leading axes"),
                sheet.panel("How far apart", [measured]),
                _formulas(case),
            ]
        ),
    ]


def _matrices(case: Case, results: Mapping[str, Tensor]) -> Block:
    """Return the weights and both outputs at index 0 of every leading axis."""
    i, j, _, width = case.sizes
    is_cut = max(i, j, width) > MAX_SHOWN
    matrices = []
    titles = {WEIGHTS: "weights", "mixed": "mixed, by attention", MIXED[0]: MIXED[0]}
    for key, name in titles.items():
        values = first_matrix(results[key])
        rows, cols = (list(map(str, range(len(side)))) for side in (values, values[0]))
        style: dict[str, Any] = {"axes": "i c"}
        if name == "weights":
            style = {"axes": "i j", "colour": "weights", "write": lambda weight: share(weight, 2)}
        style |= {"axes": ""} if is_cut else {}
        matrices.append(sheet.matrix(name, values, rows=rows, cols=cols, compact=True, **style))
    scope = f"index {', '.join('0' for _ in case.leading)} of the leading axes; " if case.leading else ""
    cut_note = f"the first rows and columns of {i} queries, {j} keys, {width} channels"
    extent = cut_note if is_cut else "all rows and columns"
    return sheet.panel("The numbers", [sheet.row(matrices)], f"{scope}{extent}; counted from 0")


def _formulas(case: Case) -> Block:
    """Return the paper's formulas with the sizes of this call."""
    i, j, d, width = case.sizes
    heads = case.leading[-1] if len(case.leading) > 1 else 1
    steps = [
        (name, pages.link("shapes", ("step", step), *[("mask", "causal")] * (step == "masked")))
        for name, step in STEPS.items()
    ]
    blocks = [
        equations.attention(i, j, d, width, case.leading),
        equations.multi_head(i, heads, heads * d, width),
        sheet.text("The steps of the paper’s two figures, on Shapes:"),
        sheet.links(steps),
    ]
    note = f"the axis before the queries counts {integer(heads)} heads" if heads > 1 else "here with one head"
    return sheet.panel("In the paper’s notation", blocks, f"sizes have the colours of their axes; {note}")
