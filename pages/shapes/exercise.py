"""The exercise: attention written line by line, each line run on the page's layer and held against what that makes.

Nothing that is typed is run: every line that can be chosen is a function of `own_lines`.
"""

import re
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from headlight.picture.traces import Traced
from headlight.ui import sheet
from headlight.ui.numbers import count, difference, number, share
from headlight.ui.sheet import Block
from mha_core import Trace
from mha_core.attention.efficient import EfficientAttention
from mha_core.measure import measures

from . import random_layer
from .lesson import StepLesson, shape_of, source_of
from .own_lines import GAPS, Gap, Line, last_line

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


def run(line: Line, *given: object) -> Tensor | str:
    """What a line gives; of one that torch refuses the reason, in its first line."""
    try:
        with torch.no_grad():
            return line(*given)
    except RuntimeError as error:
        return str(error).splitlines()[0]


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


def _judged(made: Tensor | str, right: Tensor, consequence: str) -> Block:
    """Whether a line gives what the layer makes, and what comes of it."""
    if isinstance(made, str):
        return sheet.verdict("does not hold", "torch refuses it.", f"It says: {made}")
    if made.shape != right.shape:
        said = f"Its shape is {shape_of(made)}, the layer’s is {shape_of(right)}."
        return sheet.verdict("does not hold", "Another shape than the layer’s.", said)
    apart = measures.relative_difference(made, right)
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
            return _of_split(run(line, torch.arange(b * i * h * d).view(b, i, h * d), h), h, d)
        case "scores":
            return _of_scores(line(steps["q"], steps["k"]), steps["scores"])
        case "weights":
            sums = line(steps["scores"]).sum(dim=-1)
            ends = dict.fromkeys(number(float(end), 2) for end in (sums.min(), sums.max()))
            return f"Its rows sum to {' to '.join(ends)}."
    return _of_joined(run(line, torch.arange(b * h * i * d).view(b, h, i, d)), d, tokens)


def _of_split(places: Tensor | str, n_heads: int, d: int) -> str:
    """Where the numbers of each head really come from; `places`: the line on the numbers of the places."""
    if isinstance(places, str) or places.shape[1] != n_heads:
        return ""
    token, head = places // (n_heads * d), places % (n_heads * d) // d
    fits = (token == torch.arange(places.shape[2])[:, None]) & (head == torch.arange(n_heads)[:, None, None])
    right = share(float(fits.float().mean()), 2)
    return f"A share of {right} of its numbers is of the token and head that they stand for."


def _of_scores(made: Tensor, right: Tensor) -> str:
    """How sharp a softmax of these scores is."""
    ours, theirs = (share(float(scores.softmax(-1).amax(-1).mean()), 2) for scores in (made, right))
    return f"After the softmax the largest weight of a row is {ours} on average; of the layer’s own scores {theirs}."


def _of_joined(places: Tensor | str, d: int, tokens: Sequence[str]) -> str:
    """Whose numbers stand in each row; `places` as in `_of_split`."""
    if isinstance(places, str):
        return ""
    owners, n = places // d % len(tokens), len(tokens)
    fits = share(float((owners == torch.arange(n)[:, None]).float().mean()), 2)
    of = count(len(set(owners[0, -1].tolist())), "token")
    row = f"the last row, “{tokens[-1]}”, holds those of {of}"
    return f"A share of {fits} of its numbers stands in their token’s row; {row}."
