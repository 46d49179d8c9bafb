"""Lessons on the reshapes: the usual mistakes, run for real on the tensors of the page."""

from collections.abc import Callable

import torch
from torch import Tensor

from headlight.picture.traces import Traced
from headlight.ui import numbers, sheet
from headlight.ui.numbers import count, number
from headlight.ui.sheet import Mark
from mha_core.measure import measures

from . import exercise, time_first_lessons
from .lesson import MOST_SHOWN, StepLesson, matrix, shape_of, source_of
from .own_lines import with_transpose, without_transpose

SHAPES = {"3-D": ((3, 10, 256), (3, 256, 10)), "4-D": ((3, 2, 10, 256), (3, 2, 256, 10))}


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


def no_transpose(layer: Traced, head: int) -> StepLesson:
    """view straight to (b, h, i, d)."""
    value = {step.name: step.value for step in layer.steps}
    n_heads, tokens = value["q"].shape[1], layer.tokens
    q, k = value["q.project"], value["k.project"]
    shared = k.shape[2] * n_heads // q.shape[2]  # key heads, of which several query heads may share one
    right, wrong = (
        _map(split(q, n_heads)[0, head], split(k, shared)[0, head * shared // n_heads])
        for split in (with_transpose, without_transpose)
    )
    # where each row really comes from: the same two views of the place numbers
    _, n, c = value["q.project"].shape
    places = torch.arange(n * c).view(1, n, c)
    first = without_transpose(places, n_heads)[0, head, :, 0].tolist()
    real = [(place // c, place % c // (c // n_heads)) for place in first]
    fits = [pair == (i, head) for i, pair in enumerate(real)]
    shown = range(min(n, MOST_SHOWN))
    rows = [
        [f"{i} {tokens[i]}", f"{real[i][0]} {tokens[real[i][0]]}", str(real[i][1]), "right" if fits[i] else "wrong"]
        for i in shown
    ]
    d_head = c // n_heads
    said = (
        f"Both have the shape {shape_of(value['q'])}, so nothing complains. Largest difference between the two maps: "
        f"{number(measures.largest_difference(right, wrong))}. Both are computed from this layer's projections, "
        "without mask and rotation, at temperature 1."
    )
    heads, mixed = len({h for _, h in real}), len({t for t, _ in real})
    why = (
        f"The wrong “head {head}” is {count(n * d_head, 'number')} as they lie, from place {head * n * d_head:,} on. "
        f"But {c} places in a row are one token with all its heads. So it mixes {count(heads, 'head')} and "
        f"{count(mixed, 'token')}: {sum(fits)} of its {n} rows are what they are taken for."
    )
    marks: dict[tuple[int, int], Mark] = {(i, 3): "good" if fits[i] else "bad" for i in shown}
    maps = (("Right", right), ("Wrong", wrong))
    where_from = f"Where the rows of head {head} come from in the wrong view"
    return StepLesson(
        [
            sheet.title("The classic mistake: view without transpose", "q.view(b, n_heads, i, d_head)"),
            sheet.text(said),
            sheet.row([matrix(f"{title} map of head {head}", of, tokens) for title, of in maps]),
            sheet.row(
                [
                    sheet.table(["row of the head", "really the token", "and its head", ""], rows, where_from, marks),
                    sheet.text(why),
                ]
            ),
        ],
        source_of(without_transpose, with_transpose),
    )


def wrong_axis(layer: Traced, head: int) -> StepLesson:
    """softmax over axis 1 of scores (b, h, i, j) is over the heads."""
    value = {step.name: step.value for step in layer.steps}
    scores = value.get("masked", value["scores"])
    right, wrong = over_keys(scores), over_heads(scores)
    sums = wrong.sum(dim=-1)
    said = (
        "The annotated time-first code takes softmax over axis 1, rightly: its scores are [query, key, batch, head]. "
        f"On scores {shape_of(scores)} = [batch, head, query, key] axis 1 is the heads. No error comes; the rows now "
        f"sum to anything between {number(float(sums.min()), 2)} and {number(float(sums.max()), 2)}, all heads taken."
    )
    matrices = [
        matrix(name, of[0, head], layer.tokens, sums=True)
        for name, of in (("Right: softmax(scores, dim=-1)", right), ("Wrong: softmax(scores, dim=1)", wrong))
    ]
    return StepLesson(
        [
            sheet.title("Softmax over the wrong axis", f"head {head}, with the row sums"),
            sheet.text(said),
            sheet.row(matrices),
        ],
        source_of(over_keys, over_heads),
    )


def loops(layer: Traced, head: int) -> StepLesson:
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
        difference = measures.largest_difference(product, looped(a, b))
        rows.append(
            [name, shape_of(a), shape_of(b), shape_of(product), " × ".join(sizes), numbers.difference(difference)]
        )
    head_of = ["product", "left", "right", "result", "matrix products", "largest difference to the loop"]
    text = (
        "@ multiplies the last two axes as matrices and repeats that for every index of the axes before them, in three "
        "dimensions as in four. Written as a loop it gives the same numbers, up to the rounding shown. Random numbers "
        "are standard normal, seed 0."
    )
    return StepLesson(
        [sheet.title("Batched products are loops"), sheet.text(text), sheet.table(head_of, rows)], source_of(looped)
    )


def contiguous(layer: Traced, head: int) -> StepLesson:
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
            rows.append([name, shape_of(joined), "new memory" if moved else "the same memory"])
        except RuntimeError as error:
            rows.append([name, "RuntimeError", "—"])
            complaints.append(sheet.text(f"torch says: {str(error).splitlines()[0]}"))
    text = (
        f"After transpose(1, 2) the tensor {shape_of(turned)} has strides {turned.stride()}: a token's {h} heads do "
        f"not lie side by side in memory, so no view reads them as one row of {h * d}. They must be copied into order "
        "first: contiguous() does so in the open, reshape and flatten silently, where they must."
    )
    return StepLesson(
        [
            sheet.title("Why contiguous() before view"),
            sheet.text(text),
            sheet.table(["after mixed.transpose(1, 2)", "result", "memory"], rows),
            *complaints,
        ],
        source_of(contiguous),
    )


# the name of a lesson in a link -> the question that it answers
QUESTIONS = {
    "no transpose": "What if one leaves out the transpose?",
    "wrong axis": "What if softmax takes another axis?",
    "products are loops": "What does @ do with four axes?",
    "contiguous": "Why contiguous() before view?",
    "relative": "What if a layer overrides its scores?",
    "mask shapes": "What does a mask of size 1 do?",
    "dropout": "What does dropout do to the weights?",
    exercise.NAME: exercise.QUESTION,
}
LESSONS: dict[str, Callable[[Traced, int], StepLesson]] = {
    "no transpose": no_transpose,
    "wrong axis": wrong_axis,
    "products are loops": loops,
    "contiguous": contiguous,
    "relative": time_first_lessons.relative,
    "mask shapes": time_first_lessons.mask_shapes,
    "dropout": time_first_lessons.dropout,
    exercise.NAME: exercise.write_it,
}


def _map(q: Tensor, k: Tensor) -> Tensor:
    """q (i, d), k (j, d) -> the weights (i, j), without mask."""
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
