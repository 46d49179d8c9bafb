"""Lessons on a layer: common mistakes at its reshapes, and the time-first implementation, run on its tensors."""

from collections.abc import Callable

import torch
from torch import Tensor

from headlight.picture.traces import LayerTrace, fixed_seed
from headlight.ui import numbers, sheet
from headlight.ui.numbers import count, number
from headlight.ui.sheet import Mark
from mha_core import masks
from mha_core.attention.functional import mixing_weights
from mha_core.attention.sequence_first import SequenceFirstAttention
from mha_core.measure import measures
from mha_core.positions import Shaw
from mha_core.token_text import isolate

from . import convention_lessons, exercise, random_layer
from .lesson import MAX_SHOWN, StepLesson, matrix, shape_str, source_code

REACH = 4  # tokens; distances beyond it share one vector
SPREAD = 2.0  # of the vectors: large enough for a visible effect beside a trained model's keys
RATE = 0.2  # of dropout, if the page's layer has none
DRAWS = 400


def matmul_loop(a: Tensor, b: Tensor) -> Tensor:
    """Multiply batched matrices (…, i, d) and (…, d, j) with one product for each leading index."""
    if a.dim() == 2:
        return a @ b
    return torch.stack([matmul_loop(a[n], b[n]) for n in range(a.shape[0])])


def softmax_over_keys(scores: Tensor) -> Tensor:
    """Apply the softmax over the keys to scores (b, h, i, j); rows without an allowed key become 0."""
    return torch.softmax(scores, dim=-1).nan_to_num()


def softmax_over_heads(scores: Tensor) -> Tensor:
    """Apply the softmax over the wrong axis."""
    return torch.softmax(scores, dim=1).nan_to_num()


def no_transpose(layer: LayerTrace, head: int) -> StepLesson:
    """Return the lesson on a view straight to (b, h, i, d)."""
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
    # the origin of each row, from the same views of the indices
    _, n, c = value["q.project"].shape
    places = torch.arange(n * c).view(1, n, c)
    first = without_transpose(places, n_heads)[0, head, :, 0].tolist()
    real = [(place // c, place % c // (c // n_heads)) for place in first]
    fits = [pair == (i, head) for i, pair in enumerate(real)]
    visible = range(min(n, MAX_SHOWN))
    rows = [
        [
            f"{i} {isolate(tokens[i])}",
            f"{real[i][0]} {isolate(tokens[real[i][0]])}",
            str(real[i][1]),
            "right" if fits[i] else "wrong",
        ]
        for i in visible
    ]
    d_head = c // n_heads
    text = (
        f"Both have the shape {shape_str(value['q'])}, so no error is raised. Largest difference between the two maps: "
        f"{number(measures.largest_difference(right, wrong))}. Both are computed from this layer's projections, "
        "without mask and rotation, at temperature 1."
    )
    heads, mixed = len({h for _, h in real}), len({t for t, _ in real})
    reason = (
        f"The wrong “head {head}” is {count(n * d_head, 'number')} as they lie, from place {head * n * d_head:,} on. "
        f"But {c} places in a row are one token with all its heads. So it mixes {count(heads, 'head')} and "
        f"{count(mixed, 'token')}: {sum(fits)} of its {n} rows are what they are taken for."
    )
    marks: dict[tuple[int, int], Mark] = {(i, 3): "good" if fits[i] else "bad" for i in visible}
    maps = (("Right", right), ("Wrong", wrong))
    caption = f"Where the rows of head {head} come from in the wrong view"
    matrices = [matrix(f"{title} map of head {head}", values, tokens) for title, values in maps]
    table = sheet.table(["row of the head", "really the token", "and its head", ""], rows, caption, marks)
    title, note = "The classic mistake: view without transpose", "q.view(b, n_heads, i, d_head)"
    source = f"{split.source(1)}\n\n{split.source(2)}"
    return StepLesson(title, note, text, [sheet.row([*matrices, table, sheet.text(reason)])], source)


def wrong_axis(layer: LayerTrace, head: int) -> StepLesson:
    """Return the lesson on a softmax over axis 1 of scores (b, h, i, j), which are the heads."""
    value = {step.name: step.value for step in layer.steps}
    scores = value.get("masked", value["scores"])
    right, wrong = softmax_over_keys(scores), softmax_over_heads(scores)
    sums = wrong.sum(dim=-1)
    text = (
        "The annotated time-first code takes the softmax over axis 1, which is right there, as its scores are [query, "
        "key, batch, head]. "
        f"On scores {shape_str(scores)} = [batch, head, query, key] axis 1 is the heads. No error is raised; the rows "
        f"now sum to values between {number(float(sums.min()), 2)} and {number(float(sums.max()), 2)}, all heads taken."
    )
    matrices = [
        matrix(name, values[0, head], layer.tokens, sums=True)
        for name, values in (("Right: softmax(scores, dim=-1)", right), ("Wrong: softmax(scores, dim=1)", wrong))
    ]
    title, note = "Softmax over the wrong axis", f"head {head}, with the row sums"
    source = source_code(softmax_over_keys, softmax_over_heads)
    return StepLesson(title, note, text, [sheet.row(matrices)], source)


def loops(layer: LayerTrace, head: int) -> StepLesson:
    """Return the lesson on batched matrix products as loops."""
    value = {step.name: step.value for step in layer.steps}
    q, k = value["q"], value["k"].transpose(2, 3)
    rows = []
    for name, a, b in (("q kᵀ of this layer", q, k), ("the same without its batch", q[0], k[0])):
        product = a @ b
        sizes = [str(size) for size in a.shape[:-2]]
        difference = measures.largest_difference(product, matmul_loop(a, b))
        rows.append(
            [name, shape_str(a), shape_str(b), shape_str(product), " × ".join(sizes), numbers.difference(difference)]
        )
    header = ["product", "left", "right", "result", "matrix products", "largest difference to the loop"]
    text = (
        "@ multiplies the last two axes as matrices and repeats that for every index of the axes before them, in three "
        "dimensions as in four. Written as a loop it gives the same numbers, up to the rounding shown."
    )
    return StepLesson("Batched products are loops", "", text, [sheet.table(header, rows)], source_code(matmul_loop))


def contiguous(layer: LayerTrace, head: int) -> StepLesson:
    """Return the lesson on `.contiguous()` before the last view."""
    ways: dict[str, Callable[[Tensor, int, int, int], Tensor]] = {
        ".view(b, i, c)": lambda x, b, i, c: x.view(b, i, c),
        ".contiguous().view(b, i, c)": lambda x, b, i, c: x.contiguous().view(b, i, c),
        ".reshape(b, i, c)": lambda x, b, i, c: x.reshape(b, i, c),
        ".flatten(2)": lambda x, b, i, c: x.flatten(2),
    }
    mixed = next(step.value for step in layer.steps if step.name == "mixed")
    b, h, i, d = mixed.shape
    transposed = mixed.transpose(1, 2)
    rows, complaints = [], []
    for name, join in ways.items():
        try:
            joined = join(transposed, b, i, h * d)
            is_copy = joined.untyped_storage().data_ptr() != mixed.untyped_storage().data_ptr()
            rows.append([name, shape_str(joined), "new memory" if is_copy else "the same memory"])
        except RuntimeError as error:
            rows.append([name, "RuntimeError", "—"])
            complaints.append(sheet.text(f"torch raises: {str(error).splitlines()[0]}"))
    text = (
        f"After transpose(1, 2) the tensor {shape_str(transposed)} has strides {transposed.stride()}: a token's {h} "
        f"heads do not lie side by side in memory, so no view reads them as one row of {h * d}. They must be copied "
        "into order first: contiguous() does so in the open, reshape and flatten silently, where they must."
    )
    table = sheet.table(["after mixed.transpose(1, 2)", "result", "memory"], rows)
    return StepLesson("Why contiguous() before view", "", text, [table, *complaints], source_code(contiguous))


class RelativeAttention(SequenceFirstAttention):
    """Attention with relative positions: a score is q · (k + r[j − i]) (Shaw et al. 2018)."""

    distance_vectors: Tensor  # (2 REACH + 1, d)

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """Return the scores with the vector of each distance added to the key."""
        distance = torch.arange(len(k), device=k.device) - torch.arange(len(q), device=q.device)[:, None]
        vectors = self.distance_vectors[distance.clamp(-REACH, REACH) + REACH]
        return super().scores(q, k) + torch.einsum("ibhd,ijd->ijbh", q, vectors)


def relative(layer: LayerTrace, head: int) -> StepLesson:
    """Return the lesson on relative attention by overriding the method that computes the scores."""
    plain = random_layer.attention(layer, "sequence_first")
    x = layer.steps[0].value
    shaw = Shaw(plain.d_head, REACH, SPREAD, torch.Generator().manual_seed(0)).to(x)
    module = RelativeAttention(plain.d_model, plain.n_heads, n_kv_heads=plain.n_kv_heads, **plain.save().biases).to(x)
    module.load(plain.save()).eval()
    module.distance_vectors = shaw.table.detach()
    with torch.no_grad():
        (_, plain_maps), (out, relative_maps) = plain(x), module(x)
        expected, _ = random_layer.attention(layer, "efficient")(x, position=shaw)
    difference = measures.relative_difference(out, expected)
    distance = (torch.arange(x.shape[1])[:, None] - torch.arange(x.shape[1])).abs().to(x)
    rows = [
        [name, *(number(float((maps[0, index] * distance).sum(-1).mean()), 2) for index in (head, slice(None)))]
        for name, maps in (("as it is", plain_maps), ("scores overridden", relative_maps))
    ]
    text = (
        "The time-first class makes its scores in a method of its own, before they are divided by √d_head, and a class "
        "that overrides this method is another attention: projections, mask, softmax and output stay. Here each "
        f"distance j − i up to {REACH} has a vector r, and a score is q · (k + r). The vectors are random (seed 0): "
        "they are untrained."
    )
    check = (
        "Computed once more another way, as an encoding of “efficient” that adds a bias to the scores: relative "
        f"difference of the outputs {numbers.difference(difference)}."
    )
    maps = (("As it is", plain_maps), ("With scores overridden", relative_maps))
    content = [
        sheet.row([matrix(f"{title}, head {head}", values[0, head], layer.tokens) for title, values in maps]),
        sheet.table(["distance that a query attends over, in tokens", f"head {head}", "mean of all heads"], rows),
        sheet.text(check),
    ]
    title, note = "Relative attention in four lines", "def scores(self, q, k)"
    return StepLesson(title, note, text, content, source_code(RelativeAttention))


def outputs(attention: SequenceFirstAttention, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return the outputs (i, b, c) under a mask (i|1, j, b|1), and under the same mask expanded."""
    expanded = mask.expand(len(x), len(x), x.shape[1])
    return attention.time_first(x, x, x, mask)[0], attention.time_first(x, x, x, expanded)[0]


def mask_shapes(layer: LayerTrace, head: int) -> StepLesson:
    """Return the lesson on masks (i|1, j, b|1), each of minimal size and expanded."""
    attention = random_layer.attention(layer, "sequence_first")
    first = layer.steps[0].value[:, :MAX_SHOWN]
    n = first.shape[1]
    # two equal texts; the last tokens of the second one count as padding
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
            small, expanded = outputs(attention, x, mask)  # type: ignore[arg-type]
        shape, prepared = shape_str(mask), shape_str(mask.unsqueeze(-1))
        difference = numbers.difference(measures.largest_difference(small, expanded))
        rows.append([name, shape, prepared, f"({n}, {n}, 2, {attention.n_heads})", str(mask.numel()), difference])
    text = (
        "A time-first mask is (queries, keys, texts), True = may attend. Where an axis has size 1, its value is "
        "meant for every index of it, and nothing is copied: unsqueeze(-1) adds such an axis for the heads. The axis "
        f"of keys is never 1. Here two texts of {n} tokens, the second with its last {min(2, n - 1)} as padding."
    )
    header = ["mask", "given (i, j, b)", "unsqueeze(-1)", "the scores", "numbers kept", "difference to written out"]
    table = sheet.table(header, rows, "Largest difference between the layer’s outputs under both masks.")
    title, note = "A mask of size 1 stretches", "mask (i or 1, j, b or 1)"
    return StepLesson(title, note, text, [table], source_code(outputs, SequenceFirstAttention.prepare_mask))


def apply_dropout(weights: Tensor, rate: float, seed: int) -> Tensor:
    """Apply dropout once to weights (b, h, i, j)."""
    with fixed_seed(seed, weights):
        return mixing_weights(weights, rate, None)


def dropout(layer: LayerTrace, head: int) -> StepLesson:
    """Return the lesson on weights before and after dropout, with the row sums of a single draw and of many."""
    value = {step.name: step.value for step in layer.steps}
    random = layer.random_layer
    rate, seed = (random.dropout, random.seed) if random and random.dropout else (RATE, random.seed if random else 0)
    weights = value["weights"]
    dropped = apply_dropout(weights, rate, seed)
    sums = dropped.sum(dim=-1)[weights.sum(dim=-1) > 0]
    visible = weights[:, head : head + 1, :MAX_SHOWN]
    mean = torch.stack([apply_dropout(visible, rate, seed + n) for n in range(DRAWS)]).mean(dim=0)
    ends = f"{number(float(sums.min()), 2)} to {number(float(sums.max()), 2)}"
    share = float(dropped[weights > 0].eq(0).float().mean())
    text = (
        f"At rate {rate:g} each weight is 0 with probability {rate:g}, and the others are divided by {1 - rate:g}. In "
        f"this draw (seed {seed}) {share:.0%} of the weights above 0 are gone; the rows of all heads sum to {ends} "
        f"instead of 1. The mean of {DRAWS} draws comes back to head {head}’s first rows: largest difference "
        f"{numbers.difference(measures.largest_difference(mean, visible))}."
    )
    maps = (("Before", weights), (f"After, rate {rate:g}", dropped))
    pictures = [matrix(f"{title}: head {head}", values[0, head], layer.tokens, sums=True) for title, values in maps]
    title, note = "Dropout of the weights", "only while a layer is trained"
    return StepLesson(title, note, text, [sheet.row(pictures)], source_code(apply_dropout, mixing_weights))


# name of a lesson in a link -> its question
QUESTIONS = {
    "no transpose": "What if you leave out the transpose?",
    "wrong axis": "What if the softmax uses another axis?",
    "products are loops": "What does @ do with four axes?",
    "contiguous": "Why contiguous() before view?",
    "relative": "What if a layer overrides its scores?",
    "mask shapes": "What does a mask of size 1 do?",
    "dropout": "What does dropout do to the weights?",
    **convention_lessons.QUESTIONS,
    exercise.NAME: exercise.QUESTION,
}
_FIRST = (no_transpose, wrong_axis, loops, contiguous, relative, mask_shapes, dropout)
LESSONS: dict[str, Callable[..., StepLesson]] = dict(
    zip(QUESTIONS, [*_FIRST, *convention_lessons.LESSONS.values(), exercise.write_it], strict=True)
)


def _map(q: Tensor, k: Tensor) -> Tensor:
    """Return the unmasked weights (i, j) of q (i, d) and k (j, d)."""
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
