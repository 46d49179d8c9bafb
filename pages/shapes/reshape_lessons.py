"""Lessons on a layer: common mistakes at its reshapes, and the time-first implementation, run on its tensors."""

from collections.abc import Callable

import torch
from torch import Tensor

from headlight.picture.traces import LayerTrace, fixed_seed
from headlight.ui import numbers, sheet
from headlight.ui.numbers import count, number
from headlight.ui.phrases import WORDS, Phrases
from headlight.ui.sheet import Mark
from mha_core import masks
from mha_core.attention.functional import mixing_weights
from mha_core.attention.sequence_first import SequenceFirstAttention
from mha_core.measure import measures
from mha_core.positions import Shaw
from mha_core.token_text import isolate

from . import convention_lessons, exercise, random_layer
from .lesson import MAX_SHOWN, StepLesson, compose, matrix, shape_str

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
    size = n * (c // n_heads)
    sizes = {"head": head, "numbers": count(size, "number"), "place": head * size, "c": c, "n": n, "right": sum(fits)}
    origins = {"heads": count(len({h for _, h in real}), "head"), "mixed": count(len({t for t, _ in real}), "token")}
    apart = number(measures.largest_difference(right, wrong))
    say = Phrases("no transpose", shape=shape_str(value["q"]), apart=apart, **sizes, **origins)
    marks: dict[tuple[int, int], Mark] = {(i, 3): "good" if fits[i] else "bad" for i in visible}
    maps = (("Right", right), ("Wrong", wrong))
    matrices = [matrix(f"{title} map of head {head}", values, tokens) for title, values in maps]
    content = [sheet.row([*matrices, say.table("origins", rows, marks), sheet.text(say("reason"))])]
    return compose(say, content, split.source(1), split.source(2))


def wrong_axis(layer: LayerTrace, head: int) -> StepLesson:
    """Return the lesson on a softmax over axis 1 of scores (b, h, i, j), which are the heads."""
    value = {step.name: step.value for step in layer.steps}
    scores = value.get("masked", value["scores"])
    right, wrong = softmax_over_keys(scores), softmax_over_heads(scores)
    sums = wrong.sum(dim=-1)
    low, high = (number(float(end), 2) for end in (sums.min(), sums.max()))
    say = Phrases("wrong axis", shape=shape_str(scores), low=low, high=high, head=head)
    maps = {say("right"): right, say("wrong"): wrong}
    matrices = [matrix(name, values[0, head], layer.tokens, sums=True) for name, values in maps.items()]
    return compose(say, [sheet.row(matrices)], softmax_over_keys, softmax_over_heads)


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
    say = Phrases("products are loops")
    return compose(say, [say.table("products", rows)], matmul_loop)


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
    say = Phrases("contiguous", shape=shape_str(transposed), strides=str(transposed.stride()), h=h, c=h * d)
    return compose(say, [say.table("ways", rows), *complaints], contiguous)


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
    say = Phrases("relative", reach=REACH, apart=numbers.difference(difference), head=head)
    maps = {say("plain"): plain_maps, say("override"): relative_maps}
    content = [
        sheet.row([matrix(f"{title}, head {head}", values[0, head], layer.tokens) for title, values in maps.items()]),
        say.table("distances", rows),
        sheet.text(say("check")),
    ]
    return compose(say, content, RelativeAttention)


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
    say = Phrases("mask shapes", n=n, last=min(2, n - 1))
    return compose(say, [say.table("masks", rows)], outputs, SequenceFirstAttention.prepare_mask)


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
    low, high = (number(float(end), 2) for end in (sums.min(), sums.max()))
    share, apart = float(dropped[weights > 0].eq(0).float().mean()), measures.largest_difference(mean, visible)
    rates = {"rate": f"{rate:g}", "kept": f"{1 - rate:g}", "share": f"{share:.0%}", "seed": seed, "draws": DRAWS}
    say = Phrases("dropout", **rates, low=low, high=high, head=head, apart=apart)
    maps = {say("before"): weights, say("after"): dropped}
    pictures = [
        matrix(f"{title}: head {head}", values[0, head], layer.tokens, sums=True) for title, values in maps.items()
    ]
    return compose(say, [sheet.row(pictures)], apply_dropout, mixing_weights)


LESSONS: dict[str, Callable[..., StepLesson]] = {
    "no transpose": no_transpose,
    "wrong axis": wrong_axis,
    "products are loops": loops,
    "contiguous": contiguous,
    "relative": relative,
    "mask shapes": mask_shapes,
    "dropout": dropout,
    **convention_lessons.LESSONS,
    exercise.NAME: exercise.write_it,
}
QUESTIONS = {name: WORDS[name]["question"] for name in LESSONS}


def _map(q: Tensor, k: Tensor) -> Tensor:
    """Return the unmasked weights (i, j) of q (i, d) and k (j, d)."""
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
