"""The exercise: attention written line by line, each line run on the page's layer and held against what that makes.

Nothing that is typed is run: every line that can be chosen is a function of `own_lines`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from mha_core import Trace
from mha_core.attention.efficient import EfficientAttention
from mha_core.measure import measures
from pages.kit.draw import sheet
from pages.kit.draw.numbers import count, difference, number, share
from pages.kit.draw.sheet import Block
from pages.kit.picture.traces import Traced

from . import random_layer
from .lesson import StepLesson, shape_of, source_of
from .own_lines import GAPS, Gap, Line, last_line

NAME, QUESTION = "write it", "Can you write it yourself?"
ROUNDING = 1e-6  # relative; the right lines do what the layer does, step by step
_WRITTEN = re.compile(rf"[0-9](\.[0-9]){{{len(GAPS) - 1}}}", re.ASCII)


@dataclass(frozen=True)
class Made:
    """What a line gives: a tensor, or torch's reason why it gives none."""

    value: Tensor | None
    refused: str = ""


def usable(written: str) -> bool:
    """Tells whether a link may say this of the chosen lines: a number a gap, counted from 1, 0 = none yet."""
    return not written or bool(
        _WRITTEN.fullmatch(written)
        and all(int(one) <= len(gap.lines) for one, gap in zip(written.split("."), GAPS, strict=True))
    )


def chosen(written: str) -> list[int]:
    """The number of the line in each gap, 0 where none is chosen."""
    return list(map(int, written.split("."))) if written and usable(written) else [0] * len(GAPS)


def write_it(layer: Traced, head: int, written: str = "") -> StepLesson:
    """The functions with their lines, what each chosen one gives, and the layer that they make together."""
    own, steps = of_layer(layer)
    numbers = chosen(written)
    lines = [gap.lines[number - 1] if number else None for gap, number in zip(GAPS, numbers, strict=True)]
    panels = [_panel(at, numbers[at], own, steps, layer.tokens) for at in range(len(GAPS))]
    picked = [line for line in lines if line is not None]
    said = (
        f"Layer {layer.layer} keeps its four Linears. Choose what each function between them returns: the line is run "
        f"now on the layer’s own numbers for these {len(layer.tokens)} tokens, without mask, encoding and temperature, "
        "and held against what the layer makes of them."
    )
    return StepLesson(
        [
            sheet.title("Write attention yourself", "one line for each of four functions"),
            sheet.text(said),
            sheet.row(panels[:2], even=True),
            sheet.row(panels[2:], even=True),
            _whole(picked, own, steps),
        ],
        source_of(together, *picked),
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


def run(line: Line, *given: object) -> Made:
    """What a line gives; of one that torch refuses its reason, in its first line."""
    try:
        with torch.no_grad():
            return Made(line(*given))
    except RuntimeError as error:
        return Made(None, str(error).splitlines()[0])


def _panel(
    at: int, number_of_line: int, own: EfficientAttention, steps: dict[str, Tensor], tokens: Sequence[str]
) -> Block:
    """One function: its lines to choose from, and what the chosen one gives."""
    gap = GAPS[at]
    choices = [(last_line(line), {"gap": at, "line": n}, n == number_of_line) for n, line in enumerate(gap.lines, 1)]
    given = [steps[name] for name in gap.given]
    arguments = [*given, own.n_heads] if gap.made == "q" else given
    found = sheet.verdict("", "", "")
    if number_of_line:
        line = gap.lines[number_of_line - 1]
        found = _judged(run(line, *arguments), steps[gap.made], _consequence(gap, line, steps, tokens))
    return sheet.panel(
        f"{gap.head}:", [sheet.text(gap.does, muted=True), sheet.buttons("return", choices, code=True), found]
    )


def _judged(made: Made, right: Tensor, consequence: str) -> Block:
    """Whether a line gives what the layer makes, and what comes of it."""
    if made.value is None:
        return sheet.verdict("does not hold", "torch refuses it.", f"It says: {made.refused}")
    if made.value.shape != right.shape:
        said = f"Its shape is {shape_of(made.value)}, the layer’s is {shape_of(right)}."
        return sheet.verdict("does not hold", "Another shape than the layer’s.", said)
    apart = measures.relative_difference(made.value, right)
    far = f"relative difference {difference(apart)}"
    if apart <= ROUNDING:
        return sheet.verdict("holds", f"What the layer makes: {far}.", consequence)
    return sheet.verdict("does not hold", f"Not what the layer makes: {far}.", consequence)


def _whole(picked: Sequence[Line], own: EfficientAttention, steps: dict[str, Tensor]) -> Block:
    """The layer that the chosen lines make together."""
    open_ = len(GAPS) - len(picked)
    if open_:
        told = f"{count(open_, 'line')} to choose; then the four are run as one layer."
        return sheet.panel("All four together", [sheet.text(told), sheet.verdict("", "", "")])
    made = run(together, picked, own, steps["x"])
    said = "Projections and the last Linear are the layer’s own, with its biases."
    return sheet.panel("All four together", [sheet.text(said), _judged(made, steps["out"], "")])


def _consequence(gap: Gap, line: Line, steps: dict[str, Tensor], tokens: Sequence[str]) -> str:
    """What one sees of a line, in a sentence that is computed from what it gives."""
    b, h, i, d = steps["q"].shape
    match gap.made:
        case "q":
            return _of_split(run(line, torch.arange(b * i * h * d).view(b, i, h * d), h).value, h, d)
        case "scores":
            return _of_scores(line(steps["q"], steps["k"]), steps["scores"])
        case "weights":
            sums = line(steps["scores"]).sum(dim=-1)
            ends = dict.fromkeys(number(float(end), 2) for end in (sums.min(), sums.max()))
            return f"Its rows sum to {' to '.join(ends)}."
    return _of_joined(run(line, torch.arange(b * h * i * d).view(b, h, i, d)).value, d, tokens)


def _of_split(places: Tensor | None, n_heads: int, d: int) -> str:
    """Where the numbers of each head really come from; `places`: the line on the numbers of the places."""
    if places is None or places.shape[1] != n_heads:
        return ""
    token, head = places // (n_heads * d), places % (n_heads * d) // d
    fits = (token == torch.arange(places.shape[2])[:, None]) & (head == torch.arange(n_heads)[:, None, None])
    right = share(float(fits.float().mean()), 2)
    return f"A share of {right} of its numbers is of the token and head that they stand for."


def _of_scores(made: Tensor, right: Tensor) -> str:
    """How sharp a softmax of these scores is."""
    ours, theirs = (share(float(scores.softmax(-1).amax(-1).mean()), 2) for scores in (made, right))
    return f"After the softmax the largest weight of a row is {ours} on average; of the layer’s own scores {theirs}."


def _of_joined(places: Tensor | None, d: int, tokens: Sequence[str]) -> str:
    """Whose numbers stand in each row; `places` as in `_of_split`."""
    if places is None:
        return ""
    owners, n = places // d % len(tokens), len(tokens)
    fits = share(float((owners == torch.arange(n)[:, None]).float().mean()), 2)
    of = count(len(set(owners[0, -1].tolist())), "token")
    row = f"the last row, “{tokens[-1]}”, holds those of {of}"
    return f"A share of {fits} of its numbers stands in their token’s row; {row}."
