"""Lessons on the reshapes: the usual mistakes, run for real on the tensors of the page."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from mha_core.measure import compare
from pages.kit.draw import numbers, sheet
from pages.kit.draw.numbers import count, number
from pages.kit.draw.sheet import Block, Mark
from pages.kit.picture.traces import Traced

MOST_SHOWN = 8  # tokens of a matrix that is to be read
SHAPES = {"3-D": ((3, 10, 256), (3, 256, 10)), "4-D": ((3, 2, 10, 256), (3, 2, 256, 10))}


@dataclass(frozen=True)
class Lesson:
    """A lesson as blocks, and the source of the function that it ran."""

    blocks: list[Block]
    source: str


def without_transpose(x: Tensor, n_heads: int) -> Tensor:
    """(b, i, c) -> (b, h, i, d), the right shape and the wrong numbers."""
    b, i, c = x.shape
    return x.view(b, n_heads, i, c // n_heads)


def with_transpose(x: Tensor, n_heads: int) -> Tensor:
    """(b, i, c) -> (b, h, i, d)."""
    b, i, c = x.shape
    return x.view(b, i, n_heads, c // n_heads).transpose(1, 2)


def looped(a: Tensor, b: Tensor) -> Tensor:
    """(…, i, d), (…, d, j) -> (…, i, j): one matrix product for each leading index."""
    if a.dim() == 2:
        return a @ b
    return torch.stack([looped(a[n], b[n]) for n in range(a.shape[0])])


def over_keys(scores: Tensor) -> Tensor:
    """scores (b, h, i, j) -> weights; a row without any allowed key is NaN, and 0 here."""
    return torch.softmax(scores, dim=-1).nan_to_num()


def over_heads(scores: Tensor) -> Tensor:
    """The same over the wrong axis."""
    return torch.softmax(scores, dim=1).nan_to_num()


def no_transpose(layer: Traced, head: int) -> Lesson:
    """view straight to (b, h, i, d)."""
    value = {step.name: step.value for step in layer.steps}
    n_heads, tokens = value["q"].shape[1], layer.tokens
    projected = value["q.project"], value["k.project"]
    right, wrong = (
        _map(*(split(x, n_heads)[0, head] for x in projected)) for split in (with_transpose, without_transpose)
    )
    # where each row really comes from: the same two views of the place numbers
    _, n, c = value["q.project"].shape
    places = torch.arange(n * c).view(1, n, c)
    first = without_transpose(places, n_heads)[0, head, :, 0].tolist()
    real = [(place // c, place % c // (c // n_heads)) for place in first]
    fits = [pair == (i, head) for i, pair in enumerate(real)]
    shown = range(min(n, 2 * MOST_SHOWN))
    rows = [
        [f"{i} {tokens[i]}", f"{real[i][0]} {tokens[real[i][0]]}", str(real[i][1]), "right" if fits[i] else "wrong"]
        for i in shown
    ]
    said = (
        f"Both have the shape {_shape(value['q'])}, so nothing complains. But “head {head}” of the wrong one mixes "
        f"{count(len({h for _, h in real}), 'head')} and {count(len({t for t, _ in real}), 'token')}: "
        f"{sum(fits)} of its {n} rows are what they are taken for. Largest difference between the two maps: "
        f"{number(compare.largest_difference(right, wrong))}. Both are computed from this layer's projections, without "
        "mask and rotation, at temperature 1."
    )
    marks: dict[tuple[int, int], Mark] = {(i, -1): "bad" for i in shown if not fits[i]}
    return Lesson(
        [
            sheet.title("The classic mistake: view without transpose", "q.view(b, n_heads, i, d_head)"),
            sheet.text(said),
            sheet.row([_matrix(name, of, tokens) for name, of in (("right map", right), ("wrong map", wrong))]),
            sheet.table(["row of the head", "really the token", "and its head", ""], rows, "the wrong view", marks),
        ],
        _source(without_transpose, with_transpose),
    )


def wrong_axis(layer: Traced, head: int) -> Lesson:
    """softmax over axis 1 of scores (b, h, i, j) is over the heads."""
    value = {step.name: step.value for step in layer.steps}
    scores = value.get("masked", value["scores"])
    right, wrong = over_keys(scores), over_heads(scores)
    sums = wrong.sum(dim=-1)
    said = (
        "The annotated time-first code takes softmax over axis 1, rightly: its scores are [query, key, batch, head]. "
        f"On scores {_shape(scores)} = [batch, head, query, key] axis 1 is the heads. No error comes; the rows now sum "
        f"to anything between {number(float(sums.min()), 2)} and {number(float(sums.max()), 2)}, all heads taken."
    )
    matrices = [
        _matrix(name, of[0, head], layer.tokens, sums=True)
        for name, of in (("softmax(scores, dim=-1)", right), ("softmax(scores, dim=1)", wrong))
    ]
    return Lesson(
        [
            sheet.title("Softmax over the wrong axis", f"head {head}, with the row sums"),
            sheet.text(said),
            sheet.row(matrices),
        ],
        _source(over_keys, over_heads),
    )


def loops(layer: Traced, head: int) -> Lesson:
    """Batched matrix products are loops."""
    value = {step.name: step.value for step in layer.steps}
    q, k = value["q"], value["k"].transpose(2, 3)
    random = torch.Generator().manual_seed(0)
    pairs: list[tuple[str, Tensor, Tensor]] = []
    for name, (left, right) in SHAPES.items():
        pairs.append((name, torch.randn(left, generator=random), torch.randn(right, generator=random)))
    pairs += [("q kᵀ of this layer", q, k), ("the same without its batch", q[0], k[0])]
    rows = []
    for name, a, b in pairs:
        product = a @ b
        sizes = [str(size) for size in a.shape[:-2]]
        difference = compare.largest_difference(product, looped(a, b))
        rows.append([name, _shape(a), _shape(b), _shape(product), " × ".join(sizes), numbers.difference(difference)])
    head_of = ["product", "left", "right", "result", "matrix products", "largest difference to the loop"]
    text = (
        "@ multiplies the last two axes as matrices and repeats that for every index of the axes before them, in three "
        "dimensions as in four. Written as a loop it gives the same numbers, up to the rounding shown. Random numbers "
        "are standard normal, seed 0."
    )
    return Lesson(
        [sheet.title("Batched products are loops"), sheet.text(text), sheet.table(head_of, rows)], _source(looped)
    )


def contiguous(layer: Traced, head: int) -> Lesson:
    """The reason for `.contiguous()` before the last view."""
    ways: dict[str, Callable[[Tensor, int, int, int], Tensor]] = {
        ".view(b, i, c)": lambda x, b, i, c: x.view(b, i, c),
        ".contiguous().view(b, i, c)": lambda x, b, i, c: x.contiguous().view(b, i, c),
        ".reshape(b, i, c)": lambda x, b, i, c: x.reshape(b, i, c),
        ".flatten(2)": lambda x, b, i, c: x.flatten(2),
    }
    mixed = next(step.value for step in layer.steps if step.name == "mixed")
    b, h, i, d = mixed.shape
    turned = mixed.transpose(1, 2)
    rows, complaints = [], []
    for name, join in ways.items():
        try:
            joined = join(turned, b, i, h * d)
            moved = joined.untyped_storage().data_ptr() != mixed.untyped_storage().data_ptr()
            rows.append([name, _shape(joined), "new memory" if moved else "the same memory"])
        except RuntimeError as error:
            rows.append([name, "RuntimeError", "—"])
            complaints.append(sheet.text(f"torch says: {str(error).splitlines()[0]}"))
    text = (
        f"After transpose(1, 2) the tensor {_shape(turned)} has strides {turned.stride()}: a token's {h} heads do not "
        f"lie side by side in memory, so no view reads them as one row of {h * d}. They must be copied into order "
        "first: contiguous() does so in the open, reshape and flatten silently, where they must."
    )
    return Lesson(
        [
            sheet.title("Why contiguous() before view"),
            sheet.text(text),
            sheet.table(["after mixed.transpose(1, 2)", "result", "memory"], rows),
            *complaints,
        ],
        _source(contiguous),
    )


LESSONS: dict[str, Callable[[Traced, int], Lesson]] = {
    "no transpose": no_transpose,
    "wrong axis": wrong_axis,
    "products are loops": loops,
    "contiguous": contiguous,
}


def _map(q: Tensor, k: Tensor) -> Tensor:
    """q (i, d), k (j, d) -> the weights (i, j), without mask."""
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)


def _matrix(name: str, values: Tensor, tokens: list[str], *, sums: bool = False) -> Block:
    """The first tokens of a map as a matrix to read."""
    n = min(len(tokens), MOST_SHOWN)
    cut = f"the first {n} of {len(tokens)} tokens" if n < len(tokens) else ""
    return sheet.matrix(
        name,
        values[:n, :n].tolist(),
        rows=tokens[:n],
        cols=tokens[:n],
        decimals=2,
        colour="weights",
        sums=values.sum(dim=-1)[:n].tolist() if sums else None,
        note=cut,
    )


def _shape(value: Tensor) -> str:
    return str(tuple(value.shape))


def _source(*functions: Callable[..., object]) -> str:
    return "\n\n".join(inspect.getsource(function).rstrip() for function in functions)
