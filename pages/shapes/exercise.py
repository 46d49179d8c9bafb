"""The exercise: attention written line by line, each line run on the page's layer and compared with its tensors.

Typed text is never executed: every line that can be chosen is one of `GAPS`.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from headlight.picture.traces import LayerTrace
from headlight.ui import sheet
from headlight.ui.numbers import count, difference
from headlight.ui.phrases import WORDS, Phrases
from headlight.ui.sheet import Block
from mha_core import Trace
from mha_core.attention.efficient import EfficientAttention
from mha_core.measure import measures

from . import random_layer
from .lesson import StepLesson, compose, shape_str

Line = Callable[..., Tensor]


@dataclass(frozen=True)
class Gap:
    """A function without its last line."""

    head: str  # its first line
    description: str  # a description with axes
    sizes: str  # the line that unpacks the sizes, or ""
    lines: Sequence[str]  # the expressions to choose from; the layer's tensors decide which one is right
    inputs: Sequence[str]  # the names of the layer's steps that are its inputs
    output: str  # the name of the layer's step that it should return

    def source(self, number: int) -> str:
        """Return the complete function with a line, counted from 1."""
        return "\n    ".join(filter(None, [f"{self.head}:", self.sizes, f"return {self.lines[number - 1]}"]))

    def function(self, number: int) -> Line:
        """Compile the function with a line, which is one of the table, never typed text."""
        names: dict[str, Any] = {"math": math, "torch": torch}
        exec(self.source(number), names)
        function: Line = names[self.head.removeprefix("def ").partition("(")[0]]
        return function


NAME, QUESTION = "write it", WORDS["write it"]["question"]
GAPS = tuple(Gap(**gap) for gap in WORDS[NAME]["gaps"])
ROUNDING = 1e-6  # relative; the right lines repeat the layer's own operations
NO_CHOICES = (0,) * len(GAPS)
_CHOICES = re.compile(rf"[0-9](\.[0-9]){{{len(GAPS) - 1}}}", re.ASCII)


def parse_choices(text: str) -> list[int] | None:
    """Parse the chosen line of each gap, counted from 1, or 0 for none; None if the text is invalid."""
    if not _CHOICES.fullmatch(text):
        return None if text else [*NO_CHOICES]
    numbers = list(map(int, text.split(".")))
    return numbers if all(number <= len(gap.lines) for number, gap in zip(numbers, GAPS, strict=True)) else None


def write_it(layer: LayerTrace, head: int, numbers: Sequence[int] = NO_CHOICES) -> StepLesson:
    """Return the lesson: the functions, the results of the chosen lines, and the layer that they make together.

    `numbers` holds the chosen line of each gap, as `parse_choices` returns it.
    """
    attention, steps = plain_pass(layer)
    choices = [(gap, number) for gap, number in zip(GAPS, numbers, strict=True) if number]
    panels = [_panel(index, number, attention, steps) for index, number in enumerate(numbers)]
    say = Phrases(NAME, layer=layer.layer, n=len(layer.tokens))
    blocks = [
        sheet.text(f"{count(len(GAPS) - len(choices), 'line')} to choose; then the four run as one layer."),
        sheet.verdict("", "", ""),
    ]
    if len(choices) == len(GAPS):
        result = run(combined_layer, [gap.function(number) for gap, number in choices], attention, steps["x"])
        linears = sheet.text("The projections and the last Linear are the layer’s own, with its biases.")
        blocks = [linears, _verdict(result, steps["out"])]
    rows = [sheet.row(pair, even=True) for pair in (panels[:2], panels[2:])]
    sources: list[Callable[..., object] | str] = [combined_layer, *(gap.source(number) for gap, number in choices)]
    return compose(say, [*rows, sheet.panel("All four together", blocks)], *sources)


def plain_pass(layer: LayerTrace) -> tuple[EfficientAttention, dict[str, Tensor]]:
    """Return the layer as “efficient”, and the steps of a plain pass by name."""
    attention, trace = cast(EfficientAttention, random_layer.attention(layer, "efficient")), Trace()
    with torch.no_grad():
        attention(layer.steps[0].value.to(next(attention.parameters()).device), trace=trace)
    return attention, {step.name: step.value for step in trace.steps}


def combined_layer(lines: Sequence[Line], layer: EfficientAttention, x: Tensor) -> Tensor:
    """Run the layer's own projections with a chosen line in each gap: x (b, i, c) -> out (b, i, c)."""
    split, scores, weights, combine = lines
    k, v = (split(project(x), layer.n_kv_heads) for project in (layer.key, layer.value))
    group_size = layer.n_heads // layer.n_kv_heads  # query heads to each key and value head
    k, v = k.repeat_interleave(group_size, dim=1), v.repeat_interleave(group_size, dim=1)
    mixed = weights(scores(split(layer.query(x), layer.n_heads), k)) @ v
    out: Tensor = layer.out(combine(mixed))
    return out


def run(line: Line, *inputs: object) -> Tensor | str:
    """Return the result of a line, or the first line of torch's error message."""
    try:
        with torch.no_grad():
            return line(*inputs)
    except RuntimeError as error:
        return str(error).splitlines()[0]


def _panel(index: int, number: int, attention: EfficientAttention, steps: dict[str, Tensor]) -> Block:
    """Return the panel of a function: its lines, and the result of the chosen one."""
    gap = GAPS[index]
    choices = [(line, {"gap": index, "line": n}, n == number) for n, line in enumerate(gap.lines, 1)]
    inputs = [*(steps[name] for name in gap.inputs), *([attention.n_heads] if gap.output == "q" else [])]
    verdict = _verdict(run(gap.function(number), *inputs), steps[gap.output]) if number else sheet.verdict("", "", "")
    return sheet.panel(
        f"{gap.head}:", [sheet.text(gap.description, muted=True), sheet.buttons("return", choices, code=True), verdict]
    )


def _verdict(result: Tensor | str, expected: Tensor) -> Block:
    """Return a verdict whether a result equals the layer's tensor."""
    if isinstance(result, str):
        return sheet.verdict("does not hold", "torch raises an error.", f"The error is: {result}")
    if result.shape != expected.shape:
        sentence = f"Its shape is {shape_str(result)}, the layer’s is {shape_str(expected)}."
        return sheet.verdict("does not hold", "The shape differs from the layer’s.", sentence)
    error = measures.relative_difference(result, expected)
    note = f"relative difference {difference(error)}"
    holds = error <= ROUNDING
    sentence = f"{'What' if holds else 'Not what'} the layer makes: {note}."
    return sheet.verdict("holds" if holds else "does not hold", sentence, "")
