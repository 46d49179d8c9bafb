"""Lessons of the annotated, time-first code, run on the page's layer: scores to override, masks, dropout."""

from collections.abc import Sequence

import torch
from torch import Tensor

from headlight.picture.draws import drawn
from headlight.picture.traces import Traced
from headlight.ui import numbers, sheet
from headlight.ui.numbers import number
from headlight.ui.sheet import Block
from mha_core import IMPLEMENTATIONS, masks
from mha_core.attention.functional import mixing_weights
from mha_core.attention.sequence_first import SequenceFirstAttention
from mha_core.measure import measures
from mha_core.positions import Shaw

from . import random_layer
from .lesson import MOST_SHOWN, StepLesson, matrix, shape_of, source_of

REACH = 4  # tokens; distances beyond it share one vector
SPREAD = 2.0  # of the vectors: large enough to be seen beside a trained model's keys
RATE = 0.2  # of dropout, where the page's own layer has none
DRAWS = 400


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
        "nobody has trained them."
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
            sheet.table(["how far a query looks, in tokens", f"head {head}", "mean of all heads"], rows),
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
    first = layer.steps[0].value[:, :MOST_SHOWN]
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
    rows, pictures = [], list[Block]()
    for name, mask in cases.items():
        with torch.no_grad():
            small, whole = stretched(own, x, mask)  # type: ignore[arg-type]
        given, prepared = shape_of(mask), shape_of(mask.unsqueeze(-1))
        difference = numbers.difference(measures.largest_difference(small, whole))
        rows.append([name, given, prepared, f"({n}, {n}, 2, {own.n_heads})", str(mask.numel()), difference])
        pictures.append(_mask_picture(name.split(":")[0], mask, layer.tokens[:n]))
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
            sheet.row(pictures),
            sheet.table(head_of, rows, "Largest difference between the layer’s outputs under both masks."),
        ],
        source_of(stretched, SequenceFirstAttention.prepare_mask),
    )


def _mask_picture(name: str, mask: Tensor, tokens: Sequence[str]) -> Block:
    """A mask (i|1, j, b|1) as it is given: one matrix a text, one row where that is for all queries."""
    texts = ["all texts"] if mask.shape[2] == 1 else [f"text {n}" for n in range(mask.shape[2])]
    labels = ["all queries"] if mask.shape[0] == 1 and len(tokens) > 1 else list(tokens)
    matrices = [
        sheet.matrix(
            text,
            mask[..., at].int().tolist(),
            rows=labels,
            cols=list(tokens),
            axes="",
            compact=True,
            colour="weights",
        )
        for at, text in enumerate(texts)
    ]
    return sheet.panel(numbers.capital(name), [sheet.row(matrices)], shape_of(mask))


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
    shown = before[:, head : head + 1, :MOST_SHOWN]
    mean = torch.stack([after_dropout(shown, rate, seed + n) for n in range(DRAWS)]).mean(dim=0)
    ends = f"{number(float(sums.min()), 2)} to {number(float(sums.max()), 2)}"
    taken = float(after[before > 0].eq(0).float().mean())
    said = (
        f"At rate {rate:g} each weight is 0 with probability {rate:g}, and the others are divided by {1 - rate:g}. In "
        f"this draw (seed {seed}) {taken:.0%} of the weights above 0 are gone; the rows of all heads sum to {ends} "
        f"instead of 1. The mean of {DRAWS} draws comes back to head {head}’s first rows: largest difference "
        f"{numbers.difference(measures.largest_difference(mean, shown))}."
    )
    where = (
        "Every implementation keeps the maps before dropout; what v is mixed with is the step weights.dropout, where "
        f"one is shown: {', '.join(name for name in IMPLEMENTATIONS if name not in ('sdpa', 'torch'))}. The "
        "annotated code logs its weights before and keeps those after; nn.MultiheadAttention returns those after, "
        "so that in training its rows do not sum to 1."
    )
    maps = (("Before", before), (f"After, rate {rate:g}", after))
    pictures = [matrix(f"{title}: head {head}", of_it[0, head], layer.tokens, sums=True) for title, of_it in maps]
    return StepLesson(
        [
            sheet.title("Dropout of the weights", "only while a layer is trained"),
            sheet.text(said),
            sheet.row(pictures),
            sheet.text(where),
        ],
        source_of(after_dropout, mixing_weights),
    )
