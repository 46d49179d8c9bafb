"""What lessons ask of one layer and of a model that writes, against plain tensors; and what has no number."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from headlight.lessons.evaluate import evaluate, number, truth
from headlight.lessons.grammar import RuleError, parse
from headlight.lessons.quantities import lens
from headlight.lessons.quantities.scene import PageScene, page_scene
from headlight.picture import pictures
from mha_core import Model
from mha_core.measure import logit_lens, residual
from tests.closeness import same_function

from .numbers_shown import in_float64, model64

pytestmark = pytest.mark.numeric

TIRED = "The animal didn't cross the street because it was too tired"
SILENT = "q.view(b, h, i, d)"
REFUSED = "mixed.transpose(1, 2).view(b, i, c)"
HOT = "The opposite of hot is"
ROUND = "boat drum key wolf apple rain lamp moon star"
TWICE = f"{ROUND} {ROUND}"
TWO_LAYERS = "words-2layers-1"


@pytest.fixture
def precise() -> Iterator[Model]:
    with in_float64() as model:
        yield model


def at(**keys: object) -> PageScene:
    return page_scene("shapes", {"at": "3.1", **keys})


def writer(text: str = TWICE, model: str = TWO_LAYERS, **keys: object) -> PageScene:
    return page_scene("explore", {"model": model, "s": text, **keys})


def value(rule: str, scene: PageScene) -> Tensor:
    return evaluate(parse(rule), scene).tensor


def worth(rule: str, scene: PageScene) -> float:
    return number(parse(rule), scene)


def projections(model: Model, layer: int, text: str = TIRED) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v, each (h, i, d), from the layer's own matrices."""
    run, attention = model.run(text), model.stack.block(layer).attention
    saved, x, h = attention.save(), run.hidden[layer], attention.n_heads
    matrices = ((saved.q, saved.q_bias), (saved.k, saved.k_bias), (saved.v, saved.v_bias))
    q, k, v = (
        (x @ matrix.T + (0 if bias is None else bias)).reshape(len(x), h, -1).permute(1, 0, 2)
        for matrix, bias in matrices
    )
    return q, k, v


def test_errors_that_torch_raises_and_does_not(precise: Model) -> None:
    assert truth(parse(f'raises("{REFUSED}")'), at())
    assert not truth(parse(f'raises("{SILENT}")'), at())
    q, _, _ = projections(precise, 3)
    wrong = q.permute(1, 0, 2).reshape(q.shape)  # the same numbers in the order of the tokens
    own = torch.arange(q.numel()).reshape(q.shape)
    moved = own.permute(1, 0, 2).reshape(q.shape) != own
    assert bool((wrong != q)[moved].all())
    same_function(worth(f'misplaced("{SILENT}")', at()), float(moved.double().mean()))
    assert worth('misplaced("mixed.transpose(1, 2).contiguous().view(b, i, c)")', at()) == 0


def test_softmax_over_another_axis_and_under_two_masks(precise: Model) -> None:
    q, k, _ = projections(precise, 3)
    scores = q @ k.mT / math.sqrt(32)
    for axis, name in enumerate(("heads", "queries", "keys")):
        expected = (scores.exp() / scores.exp().sum(dim=axis, keepdim=True)).sum(dim=-1)
        same_function(value(f'row_sums("{name}")', at()), expected)
    q, k, _ = projections(precise, 3, "how are you")
    scores, lower = (q @ k.mT)[1] / math.sqrt(32), torch.ones(5, 5, dtype=torch.bool).tril()
    for name, blocked in (("nn.MultiheadAttention", lower), ("scaled_dot_product_attention", ~lower)):
        expected = scores.masked_fill(blocked, -math.inf).softmax(dim=-1)
        found = value(f'under_same_mask("{name}")', at(s="how are you"))
        assert torch.equal(found.isnan(), expected.isnan())
        same_function(found.nan_to_num(), expected.nan_to_num())


def test_words_that_are_said_twice() -> None:
    with in_float64():
        for name in ("words-1layer-1", TWO_LAYERS):
            run = model64(name).run(TWICE, all_logits=True)
            assert run.logits is not None
            places = range(9, 17)  # in front of the second to the ninth word of the second round
            chances = [float(run.logits[row].softmax(dim=-1)[run.ids[row + 1]]) for row in places]
            first = [int(run.logits[row].argmax()) == run.ids[row + 1] for row in places]
            same_function(worth("foreseen", writer(model=name)), sum(chances) / 8)
            assert worth("hits", writer(model=name)) == sum(first) / 8
            behind = torch.stack([run.weights[-1, :, row, row - 8] for row in places]).mean(dim=0)
            same_function(value(f"looks_behind({len(run.weights) - 1})", writer(model=name)), behind)


def test_missing_number_is_explained() -> None:
    hot = page_scene("explore", {"s": HOT})
    for rule, scene, why in (
        ("parameters(7)", page_scene("implementations", {"d": 96}), "7 equal heads"),
        ('copied("q.head0")', at(), "efficient has no step q.head0; there are x, q.project"),
        (f'misplaced("{REFUSED}")', at(), "torch raises an error: view size is not compatible"),
        ('raises("q.reshape(9)")', at(), "raises takes q.view(b, h, i, d), mixed"),
        ("value_lengths(6)", hot, "layers 0 to 5"),
        ("first_choice", hot, "does not predict a next word"),
        ('bits("many")', hot, "does not take these arguments"),
        ("bits()", hot, "does not take these arguments"),
        ("foreseen", writer(ROUND), "repeats no words"),
    ):
        with pytest.raises(RuleError) as error:
            evaluate(parse(rule), scene)
        assert why in str(error.value), rule


def test_what_layers_add_and_the_lens(precise: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = page_scene("explore", {"s": TIRED, "off": "L3 MLP"})
    run = precise.run(TIRED, mlps_off=(3,))
    layers: list[dict[str, residual.Addition]] = residual.additions(
        precise, run, lambda: precise.run(TIRED, mlps_off=(3,))
    )
    for part, letter in (("attention", "attention"), ("mlp", "mlp")):
        for name in ("norm", "cosine"):
            wanted = torch.stack([getattr(layer[part], f"{name}s") for layer in layers])
            same_function(value(f"{letter}_{name}", scene), wanted)
    assert worth("mlp_norm[3,it]", scene) == 0 < worth("mlp_norm'[3,it]", scene)
    same_function(value("stream_norm", scene), run.hidden.norm(dim=-1))
    scene = writer()
    picture = pictures.picture(scene.query.settings())
    own = logit_lens.lens(picture.model, picture.run)
    rank, chance = worth('lens_rank("boat")[2,star#2]', scene), worth('lens("boat")[2,star#2]', scene)
    assert rank == worth('choice("boat")', scene)
    assert chance == pytest.approx(worth('p("boat")', scene), rel=1e-5), "of all rows, and of the last one alone"
    assert value('lens("boat")', scene).shape == own.followed_rank.shape
    monkeypatch.setattr(lens, "MAX_TOKENS", 4)
    with pytest.raises(RuleError, match="at most 4, not of 18"):
        value('lens("boat")', scene)
