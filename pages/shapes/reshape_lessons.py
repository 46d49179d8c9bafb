"""Lessons on a layer: the usual mistakes at its reshapes, and what the time-first code does, run on its tensors."""

from collections.abc import Callable

import torch
from torch import Tensor

from headlight.picture.traces import Traced, drawn
from headlight.ui import numbers, sheet
from headlight.ui.numbers import count, number
from headlight.ui.sheet import Mark
from mha_core import masks
from mha_core.attention.functional import mixing_weights
from mha_core.attention.sequence_first import SequenceFirstAttention
from mha_core.measure import measures
from mha_core.positions import Shaw

from . import exercise, random_layer
from .lesson import MAX_SHOWN, StepLesson, matrix, shape_of, source_of

REACH = 4  # tokens; distances beyond it share one vector
SPREAD = 2.0  # of the vectors: large enough to be seen beside a trained model's keys
RATE = 0.2  # of dropout, where the page's own layer has none
DRAWS = 400


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
    split = exercise.GAPS[0]
    without_transpose, with_transpose = split.function(1), split.function(2)
    right, wrong = (
        _map(view(q, n_heads)[0, head], view(k, shared)[0, head * shared // n_heads])
        for view in (with_transpose, without_transpose)
    )
    # where each row really comes from: the same two views of the place numbers
    _, n, c = value["q.project"].shape
    places = torch.arange(n * c).view(1, n, c)
    first = without_transpose(places, n_heads)[0, head, :, 0].tolist()
    real = [(place // c, place % c // (c // n_heads)) for place in first]
    fits = [pair == (i, head) for i, pair in enumerate(real)]
    shown = range(min(n, MAX_SHOWN))
    rows = [
        [f"{i} {tokens[i]}", f"{real[i][0]} {tokens[real[i][0]]}", str(real[i][1]), "right" if fits[i] else "wrong"]
        for i in shown
    ]
    d_head = c // n_heads
    said = (
        f"Both have the shape {shape_of(value['q'])}, so no error is raised. Largest difference between the two maps: "
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
        f"{split.source(1)}\n\n{split.source(2)}",
    )


def wrong_axis(layer: Traced, head: int) -> StepLesson:
    """softmax over axis 1 of scores (b, h, i, j) is over the heads."""
    value = {step.name: step.value for step in layer.steps}
    scores = value.get("masked", value["scores"])
    right, wrong = over_keys(scores), over_heads(scores)
    sums = wrong.sum(dim=-1)
    said = (
        "The annotated time-first code takes the softmax over axis 1, which is right there, as its scores are [query, "
        "key, batch, head]. "
        f"On scores {shape_of(scores)} = [batch, head, query, key] axis 1 is the heads. No error is raised; the rows "
        f"now sum to values between {number(float(sums.min()), 2)} and {number(float(sums.max()), 2)}, all heads taken."
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
    rows = []
    for name, a, b in (("q kᵀ of this layer", q, k), ("the same without its batch", q[0], k[0])):
        product = a @ b
        sizes = [str(size) for size in a.shape[:-2]]
        difference = measures.largest_difference(product, looped(a, b))
        rows.append(
            [name, shape_of(a), shape_of(b), shape_of(product), " × ".join(sizes), numbers.difference(difference)]
        )
    head_of = ["product", "left", "right", "result", "matrix products", "largest difference to the loop"]
    text = (
        "@ multiplies the last two axes as matrices and repeats that for every index of the axes before them, in three "
        "dimensions as in four. Written as a loop it gives the same numbers, up to the rounding shown."
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
            complaints.append(sheet.text(f"torch raises: {str(error).splitlines()[0]}"))
    text = (
        f"After transpose(1, 2) the tensor {shape_of(turned)} has strides {turned.stride()}: a token's {h} heads do "
        f"not lie side by side in memory, so no view reads them as one row of {h * d}. They must first be copied into "
        "order. contiguous() does so explicitly, reshape and flatten silently when needed."
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


class RelativeAttention(SequenceFirstAttention):
    """A score asks for the distance too: q · (k + r[j − i]), one vector r for each distance (Shaw et al. 2018)."""

    of_distance: Tensor  # (2 REACH + 1, d)

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        distance = torch.arange(len(k), device=k.device) - torch.arange(len(q), device=q.device)[:, None]
        vectors = self.of_distance[distance.clamp(-REACH, REACH) + REACH]
        return super().scores(q, k) + torch.einsum("ibhd,ijd->ijbh", q, vectors)


def relative(layer: Traced, head: int) -> StepLesson:
    """Relative attention, by overriding the one method that makes the scores."""
    plain = random_layer.attention(layer, "sequence_first")
    x = layer.steps[0].value
    shaw = Shaw(plain.d_head, REACH, SPREAD, torch.Generator().manual_seed(0)).to(x)
    changed = RelativeAttention(plain.d_model, plain.n_heads, n_kv_heads=plain.n_kv_heads, **plain.save().biases).to(x)
    changed.load(plain.save()).eval()
    changed.of_distance = shaw.table.detach()
    with torch.no_grad():
        (_, before), (out, after) = plain(x), changed(x)
        theirs, _ = random_layer.attention(layer, "efficient")(x, position=shaw)
    difference = measures.relative_difference(out, theirs)
    away = (torch.arange(x.shape[1])[:, None] - torch.arange(x.shape[1])).abs().to(x)
    rows = [
        [name, *(number(float((maps[0, own] * away).sum(-1).mean()), 2) for own in (head, slice(None)))]
        for name, maps in (("as it is", before), ("scores overridden", after))
    ]
    said = (
        "The time-first class makes its scores in a method of its own, before they are divided by √d_head, and a class "
        "that overrides this method is another attention: projections, mask, softmax and output stay. Here each "
        f"distance j − i up to {REACH} has a vector r, and a score is q · (k + r). The vectors are random (seed 0): "
        "they are untrained."
    )
    check = (
        "Computed once more another way, as an encoding of “efficient” that adds a bias to the scores: relative "
        f"difference of the outputs {numbers.difference(difference)}."
    )
    maps = (("As it is", before), ("With scores overridden", after))
    return StepLesson(
        [
            sheet.title("Relative attention in four lines", "def scores(self, q, k)"),
            sheet.text(said),
            sheet.row([matrix(f"{title}, head {head}", of[0, head], layer.tokens) for title, of in maps]),
            sheet.table(["distance that a query attends over, in tokens", f"head {head}", "mean of all heads"], rows),
            sheet.text(check),
        ],
        source_of(RelativeAttention),
    )


def stretched(own: SequenceFirstAttention, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """out (i, b, c) under a mask (i|1, j, b|1) as it is, and under the same mask written out to (i, j, b)."""
    whole = mask.expand(len(x), len(x), x.shape[1])
    return own.time_first(x, x, x, mask)[0], own.time_first(x, x, x, whole)[0]


def mask_shapes(layer: Traced, head: int) -> StepLesson:
    """Masks (i|1, j, b|1), each given as small as it can be, and written out."""
    own = random_layer.attention(layer, "sequence_first")
    first = layer.steps[0].value[:, :MAX_SHOWN]
    n = first.shape[1]
    # two texts: the same words, of which the second text's last ones count as padding
    x = torch.cat([first, first]).transpose(0, 1)
    keep = torch.tensor([[True] * n, [True] * max(1, n - 2) + [False] * min(2, n - 1)])
    causal, padding = masks.allow(masks.causal, n, n)[0, 0], keep.T
    cases = {
        "nothing shared: a mask for each query and text": causal[..., None] & padding,
        "one row for all queries: padding": padding[None],
        "one for all texts: causal": causal[..., None],
        "one row for all queries and texts": keep[1][None, :, None],
    }
    rows = []
    for name, mask in cases.items():
        with torch.no_grad():
            small, whole = stretched(own, x, mask)  # type: ignore[arg-type]
        given, prepared = shape_of(mask), shape_of(mask.unsqueeze(-1))
        difference = numbers.difference(measures.largest_difference(small, whole))
        rows.append([name, given, prepared, f"({n}, {n}, 2, {own.n_heads})", str(mask.numel()), difference])
    text = (
        "A time-first mask is (queries, keys, texts), True = may look. Where an axis has size 1, what stands there is "
        "meant for every index of it, and nothing is copied: unsqueeze(-1) adds such an axis for the heads. The axis "
        f"of keys is never 1. Here two texts of {n} tokens, the second with its last {min(2, n - 1)} as padding."
    )
    head_of = ["mask", "given (i, j, b)", "unsqueeze(-1)", "the scores", "numbers kept", "difference to written out"]
    return StepLesson(
        [
            sheet.title("A mask of size 1 stretches", "mask (i or 1, j, b or 1)"),
            sheet.text(text),
            sheet.table(head_of, rows, "Largest difference between the layer’s outputs under both masks."),
        ],
        source_of(stretched, SequenceFirstAttention.prepare_mask),
    )


def after_dropout(weights: Tensor, rate: float, seed: int) -> Tensor:
    """weights (b, h, i, j) -> the same after one draw of dropout."""
    with drawn(seed, weights):
        return mixing_weights(weights, rate, None)


def dropout(layer: Traced, head: int) -> StepLesson:
    """Weights before and after dropout, and what a row sums to: of one draw, and of many."""
    value = {step.name: step.value for step in layer.steps}
    of = layer.instead
    rate, seed = (of.dropout, of.seed) if of and of.dropout else (RATE, of.seed if of else 0)
    before = value["weights"]
    after = after_dropout(before, rate, seed)
    sums = after.sum(dim=-1)[before.sum(dim=-1) > 0]
    shown = before[:, head : head + 1, :MAX_SHOWN]
    mean = torch.stack([after_dropout(shown, rate, seed + n) for n in range(DRAWS)]).mean(dim=0)
    ends = f"{number(float(sums.min()), 2)} to {number(float(sums.max()), 2)}"
    taken = float(after[before > 0].eq(0).float().mean())
    said = (
        f"At rate {rate:g} each weight is 0 with probability {rate:g}, and the others are divided by {1 - rate:g}. In "
        f"this draw (seed {seed}) {taken:.0%} of the weights above 0 are gone; the rows of all heads sum to {ends} "
        f"instead of 1. The mean of {DRAWS} draws comes back to head {head}’s first rows: largest difference "
        f"{numbers.difference(measures.largest_difference(mean, shown))}."
    )
    maps = (("Before", before), (f"After, rate {rate:g}", after))
    pictures = [matrix(f"{title}: head {head}", of_it[0, head], layer.tokens, sums=True) for title, of_it in maps]
    return StepLesson(
        [
            sheet.title("Dropout of the weights", "only while a layer is trained"),
            sheet.text(said),
            sheet.row(pictures),
        ],
        source_of(after_dropout, mixing_weights),
    )


# the name of a lesson in a link -> the question that it answers
QUESTIONS = {
    "no transpose": "What if you leave out the transpose?",
    "wrong axis": "What if the softmax uses another axis?",
    "products are loops": "What does @ do with four axes?",
    "contiguous": "Why contiguous() before view?",
    "relative": "What if a layer overrides its scores?",
    "mask shapes": "What does a mask of size 1 do?",
    "dropout": "What does dropout do to the weights?",
    exercise.NAME: exercise.QUESTION,
}
LESSONS: dict[str, Callable[[Traced, int], StepLesson]] = dict(
    zip(
        QUESTIONS,
        [no_transpose, wrong_axis, loops, contiguous, relative, mask_shapes, dropout, exercise.write_it],
        strict=True,
    )
)


def _map(q: Tensor, k: Tensor) -> Tensor:
    """q (i, d), k (j, d) -> the weights (i, j), without mask."""
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
