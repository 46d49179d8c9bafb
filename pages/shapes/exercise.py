"""The exercise: attention written line by line, each line run on the page's layer and held against what that makes.

Nothing that is typed is run: every line that can be chosen is one of `GAPS`.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from headlight.picture.traces import Traced
from headlight.ui import sheet
from headlight.ui.numbers import count, difference
from headlight.ui.sheet import Block
from mha_core import Trace
from mha_core.attention.efficient import EfficientAttention
from mha_core.measure import measures

from . import random_layer
from .lesson import StepLesson, shape_of, source_of

Line = Callable[..., Tensor]


@dataclass(frozen=True)
class Gap:
    """A function that lacks its last line.

    Attributes:
        head: its first line. does: what it makes of what, in axes. sizes: the line that names them, or nothing.
        lines: what it may return: the right expression and the usual mistakes; which one is right, the layer says.
        given, made: names of the steps of the layer that go in and should come out.
    """

    head: str
    does: str
    sizes: str
    lines: tuple[str, ...]
    given: tuple[str, ...]
    made: str

    def source(self, number: int) -> str:
        """The whole function with the line of that number, counted from 1."""
        return "\n    ".join(filter(None, [f"{self.head}:", self.sizes, f"return {self.lines[number - 1]}"]))

    def function(self, number: int) -> Line:
        """Return the function with the chosen line, which is one of the table, never typed text."""
        names: dict[str, Any] = {"math": math, "torch": torch}
        exec(self.source(number), names)
        function: Line = names[self.head.removeprefix("def ").partition("(")[0]]
        return function


GAPS = (
    Gap(
        "def split_heads(x, n_heads)",
        "(b, i, c) → (b, h, i, d): each head its own part of every token",
        "b, i, c = x.shape",
        (
            "x.view(b, n_heads, i, c // n_heads)",
            "x.view(b, i, n_heads, c // n_heads).transpose(1, 2)",
            "x.view(b, i, n_heads, c // n_heads)",
        ),
        ("q.project",),
        "q",
    ),
    Gap(
        "def scores(q, k)",
        "(b, h, i, d), (b, h, j, d) → (b, h, i, j): how well each key matches each query",
        "",
        (
            "q @ k.transpose(2, 3)",
            "q @ k.transpose(2, 3) / q.shape[-1]",
            "q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])",
        ),
        ("q", "k"),
        "scores",
    ),
    Gap(
        "def weights(scores)",
        "(b, h, i, j) → (b, h, i, j): the weight of each key for a query",
        "",
        ("torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=1)", "torch.softmax(scores, dim=2)"),
        ("scores",),
        "weights",
    ),
    Gap(
        "def combine_heads(mixed)",
        "(b, h, i, d) → (b, i, c): the heads of a token side by side again",
        "b, h, i, d = mixed.shape",
        (
            "mixed.reshape(b, i, h * d)",
            "mixed.transpose(1, 2).view(b, i, h * d)",
            "mixed.transpose(1, 2).reshape(b, i, h * d)",
        ),
        ("mixed",),
        "joined",
    ),
)
NAME, QUESTION = "write it", "Can you write it yourself?"
ROUNDING = 1e-6  # relative; the right lines do what the layer does, step by step
NONE_CHOSEN = (0,) * len(GAPS)
_WRITTEN = re.compile(rf"[0-9](\.[0-9]){{{len(GAPS) - 1}}}", re.ASCII)


def chosen(written: str) -> list[int] | None:
    """The number of the line in each gap, counted from 1, 0 where none is chosen; None of what no link may say."""
    if not _WRITTEN.fullmatch(written):
        return None if written else [*NONE_CHOSEN]
    numbers = list(map(int, written.split(".")))
    return numbers if all(one <= len(gap.lines) for one, gap in zip(numbers, GAPS, strict=True)) else None


def write_it(layer: Traced, head: int, numbers: Sequence[int] = NONE_CHOSEN) -> StepLesson:
    """The functions with their lines, what each chosen one gives, and the layer that they make together.

    `numbers`: as in `chosen`.
    """
    own, steps = of_layer(layer)
    chosen = [(gap, number) for gap, number in zip(GAPS, numbers, strict=True) if number]
    panels = [_panel(at, number, own, steps) for at, number in enumerate(numbers)]
    said = (
        f"Layer {layer.layer} keeps its four Linears. Choose what each function between them returns. The line runs on "
        f"the layer’s own numbers for these {len(layer.tokens)} tokens, without mask, positional encoding and "
        "temperature, and its result is compared with the layer’s."
    )
    whole = [
        sheet.text(f"{count(len(GAPS) - len(chosen), 'line')} to choose; then the four run as one layer."),
        sheet.verdict("", "", ""),
    ]
    if len(chosen) == len(GAPS):
        made = run(together, [gap.function(number) for gap, number in chosen], own, steps["x"])
        linears = sheet.text("The projections and the last Linear are the layer’s own, with its biases.")
        whole = [linears, _judged(made, steps["out"])]
    return StepLesson(
        [
            sheet.title("Write attention yourself", "one line for each of four functions"),
            sheet.text(said),
            sheet.row(panels[:2], even=True),
            sheet.row(panels[2:], even=True),
            sheet.panel("All four together", whole),
        ],
        "\n\n".join([source_of(together), *(gap.source(number) for gap, number in chosen)]),
    )


def of_layer(layer: Traced) -> tuple[EfficientAttention, dict[str, Tensor]]:
    """The layer as “efficient”, and the steps of a pass of it that nothing acts on, by name."""
    own, trace = cast(EfficientAttention, random_layer.attention(layer, "efficient")), Trace()
    with torch.no_grad():
        own(layer.steps[0].value.to(next(own.parameters()).device), trace=trace)
    return own, {step.name: step.value for step in trace.steps}


def together(lines: Sequence[Line], layer: EfficientAttention, x: Tensor) -> Tensor:
    """x (b, i, c) -> out (b, i, c): the layer's own projections, and a line for each gap between them."""
    split, scores, weights, combine = lines
    k, v = (split(project(x), layer.n_kv_heads) for project in (layer.key, layer.value))
    shared = layer.n_heads // layer.n_kv_heads  # query heads to each key and value head
    k, v = k.repeat_interleave(shared, dim=1), v.repeat_interleave(shared, dim=1)
    mixed = weights(scores(split(layer.query(x), layer.n_heads), k)) @ v
    out: Tensor = layer.out(combine(mixed))
    return out


def run(line: Line, *given: object) -> Tensor | str:
    """What a line gives; of one that torch refuses the reason, in its first line."""
    try:
        with torch.no_grad():
            return line(*given)
    except RuntimeError as error:
        return str(error).splitlines()[0]


def _panel(at: int, number: int, own: EfficientAttention, steps: dict[str, Tensor]) -> Block:
    """One function: its lines to choose from, and what the chosen one gives."""
    gap = GAPS[at]
    choices = [(line, {"gap": at, "line": n}, n == number) for n, line in enumerate(gap.lines, 1)]
    given = [*(steps[name] for name in gap.given), *([own.n_heads] if gap.made == "q" else [])]
    found = _judged(run(gap.function(number), *given), steps[gap.made]) if number else sheet.verdict("", "", "")
    return sheet.panel(
        f"{gap.head}:", [sheet.text(gap.does, muted=True), sheet.buttons("return", choices, code=True), found]
    )


def _judged(made: Tensor | str, right: Tensor) -> Block:
    """Tell whether a line gives the tensor of the layer."""
    if isinstance(made, str):
        return sheet.verdict("does not hold", "torch raises an error.", f"The error is: {made}")
    if made.shape != right.shape:
        said = f"Its shape is {shape_of(made)}, the layer’s is {shape_of(right)}."
        return sheet.verdict("does not hold", "The shape differs from the layer’s.", said)
    apart = measures.relative_difference(made, right)
    far = f"relative difference {difference(apart)}"
    holds = apart <= ROUNDING
    said = f"{'What' if holds else 'Not what'} the layer makes: {far}."
    return sheet.verdict("holds" if holds else "does not hold", said, "")
