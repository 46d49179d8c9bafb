"""What each claim is judged by: passes of MiniLM, of single layers and of small trained models, made when asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import torch
from cachetools import LRUCache
from torch import Tensor, nn

from mha_core import IMPLEMENTATIONS, Run, Weights, attention, join_heads, masks
from mha_core.measure import compare, rounding
from mha_core.models.encoder import EncoderLayer
from mha_core.positions import Rotary
from mha_core.training import inference, recorded, tasks
from mha_core.training.tasks import Labelled
from pages.kit.picture import models, pictures, traces
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.picture.sharing import shared, turn

from .rules import layer as of_layers
from .rules import maps, order, softmax
from .rules.verdict import Verdict

ORANGE, TWICE = "orange is my favorite fruit", "can you can that"
SENTENCE, SHORT = "the animal was too tired to cross the street", "how are you"
LONGER = PRESETS[0]
LAYER = 3  # of MiniLM, where one layer is enough
REPORTED = 1.98e-7  # of the einsum notebook
DRAWS, KEYS, ROWS = 20, 16, 512
WIDTHS = (16, 64, 512)  # numbers in a query and a key
ORDERS = {"who did what": "who", "food review": "food", "brackets": "brackets"}
WAYS = {  # of training on the news -> lines of the experiment without positions and with
    "as the post does it": ("post/efficient", "post/efficient-sinusoidal"),
    "made fair": ("fair/fused", "fair/fused-sinusoidal"),
    "made fair, × 0.1": ("fair/fused", "fair/fused-sinusoidal-0.1"),
}
MOST_ROWS = 100  # of a task, that a model is asked

Judge = Callable[[], Verdict]


@shared(LRUCache(64), lambda judge, asked: (judge.__name__, asked))
def verdict(judge: Judge, asked: int) -> Verdict:
    """The verdict of a claim, computed now or kept from an earlier visitor; another `asked` has it computed anew.

    Raises what `Model.run` raises.
    """
    return judge()


def orange() -> Verdict:
    """`maps.looks_most_at`, on MiniLM."""
    run = _run(ORANGE)
    return maps.looks_most_at(run.weights.cpu(), run.tokens, "orange", ("favorite", "fruit"))


def heads() -> Verdict:
    """`maps.heads_differ`, on MiniLM."""
    return maps.heads_differ(_run(LONGER).weights.cpu())


def mean() -> Verdict:
    """`maps.mean_loses_nothing`, on the first layer of MiniLM."""
    steps, tokens = _steps(SENTENCE, 0)
    return maps.mean_loses_nothing(steps["weights"], steps["v"], tokens)


def same_word() -> Verdict:
    """`maps.same_word_same_row`, on MiniLM."""
    run, without = _run(TWICE), _run(TWICE, position="none")
    return maps.same_word_same_row(run.weights.cpu(), without.weights.cpu(), run.ids, run.tokens)


def waves() -> Verdict:
    """`maps.waves_move_the_look`, on MiniLM."""
    none, sinusoids = (_run(TWICE, position=name).weights.cpu() for name in ("none", "sinusoidal"))
    return maps.waves_move_the_look(none, sinusoids)


def symmetric() -> Verdict:
    """`maps.attention_is_symmetric`, on the first layer of MiniLM."""
    steps, tokens = _steps(SENTENCE, 0)
    return maps.attention_is_symmetric(steps["x"], steps["scores"], steps["weights"], tokens)


def order_of_words() -> Verdict:
    """`order.order_does_not_matter`, on MiniLM and the words from behind."""
    behind = " ".join(reversed(SENTENCE.split()))

    def both(position: str) -> tuple[Tensor, Tensor]:
        here, there = _run(SENTENCE, position=position), _run(behind, position=position)
        return here.hidden[-1].cpu(), there.hidden[-1].cpu()[compare.new_places(here.ids, there.ids)]

    return order.order_does_not_matter(both("none"), both("trained"))


def positions() -> Verdict:
    """`order.better_without_positions`, on tasks that order decides and models that were trained on them."""
    return order.better_without_positions(
        {name: (_right(task, "none"), _right(task, "sinusoidal")) for name, task in ORDERS.items()}
    )


def news() -> Verdict:
    """`order.positions_cost_accuracy`, on the recorded answers to the long post's news, which cannot be asked again."""
    right: dict[str, list[Tensor]] = {}
    for name in recorded.names():
        run = recorded.read(name)
        right.setdefault(run.line.key, []).append(run.probabilities.argmax(dim=-1) == run.labels)
    rows = {line: torch.stack(seeds) for line, seeds in right.items()}
    return order.positions_cost_accuracy({way: (rows[one], rows[other]) for way, (one, other) in WAYS.items()})


def padding() -> Verdict:
    """`order.padding_does_no_harm`, on MiniLM."""
    model = pictures.model_on("auto")
    with turn():
        lone = model.run(SHORT)
        (masked, other), (unmasked, _) = (
            model.run_batch([SHORT, SENTENCE], mask_padding=hidden) for hidden in (True, False)
        )
    alone, kept, lost = (run.sentence.cpu() for run in (lone, masked, unmasked))
    return order.padding_does_no_harm(alone, kept, lost, len(other.ids) - len(lone.ids))


def minus_1e9() -> Verdict:
    """`softmax.large_number_is_infinity`, on scores of MiniLM."""
    scores = _steps(SENTENCE, LAYER)[0]["scores"][0]
    return softmax.large_number_is_infinity(scores, _only_earlier(len(scores)))


def row_sum() -> Verdict:
    """`softmax.rows_sum_to_one`, on scores of MiniLM."""
    scores = _steps(SENTENCE, LAYER)[0]["scores"]
    return softmax.rows_sum_to_one(scores, _only_earlier(scores.shape[-1]))


def root_of_d() -> Verdict:
    """`softmax.division_keeps_gradients`, on random queries and keys."""
    generator = torch.Generator().manual_seed(0)
    scores = {}
    with turn():
        for d in WIDTHS:
            q = torch.randn(ROWS, 1, d, generator=generator)
            k = torch.randn(ROWS, KEYS, d, generator=generator)
            scores[d] = (q @ k.mT).squeeze(1)
        return softmax.division_keeps_gradients(scores)


def values() -> Verdict:
    """`layer.values_are_embeddings`, on the first layer of MiniLM."""
    steps, tokens = _steps(SENTENCE, 0)
    return of_layers.values_are_embeddings(steps["x"], join_heads(steps["v"].transpose(0, 1)), tokens)


def biases() -> Verdict:
    """`layer.biases_cost_nothing`, on every layer of MiniLM with what enters it there."""
    run = _run(SENTENCE)
    entering = list(zip(_attentions(), run.hidden[:-1].cpu(), strict=True))

    def outs(change: Callable[[Weights], Weights]) -> list[Tensor]:
        return [_passed(change(weights), n_heads, x)[0] for (weights, n_heads), x in entering]

    names = {"query": "q_bias", "key": "k_bias", "value": "v_bias"}
    without = {name: outs(partial(_without, field=field)) for name, field in names.items()}
    numbers = sum(
        bias.numel()
        for (weights, _), _ in entering
        for name, bias in weights.items()
        if bias is not None and name in names.values()
    )
    return of_layers.biases_cost_nothing(outs(lambda weights: weights), without, numbers)


def key_bias() -> Verdict:
    """`layer.key_bias_changes_nothing`, on one layer of MiniLM."""
    x, (weights, n_heads) = _run(SENTENCE).hidden[LAYER].cpu(), _attentions()[LAYER]
    bare, rotary = _without(weights, field="k_bias"), Rotary(x.shape[-1] // n_heads)

    def both(position: Rotary | None) -> tuple[Tensor, Tensor]:
        return _passed(weights, n_heads, x, position)[1], _passed(bare, n_heads, x, position)[1]

    return of_layers.key_bias_changes_nothing(both(None), both(rotary))


def one_function() -> Verdict:
    """`layer.one_function`, on one layer of MiniLM."""
    x, (weights, n_heads) = _run(SENTENCE).hidden[LAYER].cpu(), _attentions()[LAYER]
    (out, map_), (other_out, other_map) = (_passed(weights, n_heads, x, name=name) for name in ("naive", "efficient"))
    spread = rounding.spread(compare.loaded("efficient", weights, n_heads, torch.float64), x.unsqueeze(0).double())
    bound = rounding.bound(min(spread.out, spread.maps), x.dtype, x.dtype)
    return of_layers.one_function((out, other_out), (map_, other_map), bound)


def torchs_own() -> Verdict:
    """`layer.within_what_was_said`, in the notebook's own case and on a layer of MiniLM."""
    with turn():
        draws = [_from_torch(seed) for seed in range(DRAWS)]
    x, (weights, n_heads) = _run(SENTENCE).hidden[LAYER].cpu(), _attentions()[LAYER]
    ours, theirs = (_passed(weights, n_heads, x, name=name)[0] for name in ("einsum", "torch"))
    return of_layers.within_what_was_said(draws, compare.relative_difference(ours, theirs), REPORTED)


def any_axes() -> Verdict:
    """`layer.any_axes`, on random tensors of two to five axes."""
    generator, pairs = torch.Generator().manual_seed(0), {}
    for shape in ((3, 6), (2, 3, 6), (2, 4, 3, 6), (2, 2, 4, 3, 6)):
        q, k, v = torch.randn(3, *shape, generator=generator)
        pairs[str(shape)] = (attention(q, k, v)[0], nn.functional.scaled_dot_product_attention(q, k, v))
    return of_layers.any_axes(pairs)


def _run(text: str, *, position: str = "trained") -> Run:
    return pictures.picture(Settings(text, position=position)).run


def _steps(text: str, layer: int) -> tuple[dict[str, Tensor], list[str]]:
    """The named tensors of a layer of MiniLM without the axis of the batch, and the tokens."""
    trace = traces.traced(Settings(text), layer, "fused")
    return {step.name: step.value[0].cpu() for step in trace.steps if "." not in step.name}, trace.tokens


def _only_earlier(n: int) -> Tensor:
    """bool (i, j): only what comes before; the first token may look at nobody."""
    return masks.allow(masks.both(masks.causal, masks.invert(masks.window(1))), n, n)[0, 0]


def _attentions() -> list[tuple[Weights, int]]:
    """Weights and heads of each layer of MiniLM, on the CPU."""
    layers = cast(Sequence[EncoderLayer], pictures.model_on("auto").encoder.layers)
    saved = [(layer.attention.save(), layer.attention.n_heads) for layer in layers]
    return [
        (replace(weights, **{name: one.cpu() for name, one in weights.items() if one is not None}), h)
        for weights, h in saved
    ]


def _without(weights: Weights, *, field: str) -> Weights:
    return replace(weights, **{field: torch.zeros_like(getattr(weights, field))})


@torch.no_grad()
def _passed(
    weights: Weights, n_heads: int, x: Tensor, position: Rotary | None = None, *, name: str = "efficient"
) -> tuple[Tensor, Tensor]:
    """Output (i, c) and weights (h, i, j) of one layer on x (i, c), in an implementation."""
    layer = IMPLEMENTATIONS[name](x.shape[-1], n_heads, bias=weights.q_bias is not None).eval().load(weights)
    with turn():
        out, map_ = layer(x, position=position)
    return out, map_


@torch.no_grad()
def _from_torch(seed: int) -> float:
    """The relative difference of einsum to nn.MultiheadAttention: 8 texts, 80 tokens, 12 numbers, 2 heads, no bias."""
    generator = torch.Generator().manual_seed(seed)
    q, k, v, o = torch.randn(4, 12, 12, generator=generator) / math.sqrt(12)
    x = torch.randn(8, 80, 12, generator=generator)
    theirs = nn.MultiheadAttention(12, 2, bias=False, batch_first=True).eval()
    theirs.in_proj_weight.copy_(torch.cat([q, k, v]))
    theirs.out_proj.weight.copy_(o)
    ours = IMPLEMENTATIONS["einsum"](12, 2, bias=False).eval().load(Weights(q, k, v, o))
    return compare.relative_difference(ours(x)[0], theirs(x, x, x)[0])


def _right(task: str, position: str) -> Tensor:
    """bool (rows,): what the shipped model of a task answers rightly, among rows that it has not seen."""
    rows = cast(Labelled, tasks.build(task)).test[:MOST_ROWS]
    model = pictures.model_on("auto", f"{task}-{position}-1")
    with turn(sum(len(row.text.split()) for row in rows[:8]), models.heads(model)):
        answers = inference.logits(model, [row.text for row in rows]).argmax(dim=-1).cpu()
    return answers == torch.tensor([row.label for row in rows])
