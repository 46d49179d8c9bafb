"""What lessons ask of one layer and of a model that writes, against plain tensors; and what has no number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from urllib.parse import parse_qs

import pytest
import torch
from torch import Tensor

from mha_core import Model
from mha_core.measure import rounding
from pages.kit.lessons.course import course
from pages.kit.lessons.evaluate import evaluate, number, truth
from pages.kit.lessons.grammar import RuleError, parse
from pages.kit.lessons.quantities.scene import PageScene, scene_of
from pages.kit.lessons.verdict import Verdict, verdict
from pages.kit.picture import models, pictures
from pages.kit.picture.models import SMOLLM2
from pages.kit.picture.settings import Settings
from pages.shapes.time_first_lessons import after_dropout
from tests.closeness import quoted, same_function, within_rounding

from .numbers_shown import in_float64, model64

pytestmark = pytest.mark.numeric

TIRED = "The animal didn't cross the street because it was too tired"
LONG = "Prices rose again last month while wages stayed the same, so many families had to put off their plans"
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
    return scene_of("shapes", {"at": "3.1", **keys})


def writer(text: str = TWICE, model: str = TWO_LAYERS, **keys: object) -> PageScene:
    return scene_of("explore", {"model": model, "s": text, **keys})


def value(rule: str, scene: PageScene) -> Tensor:
    return evaluate(parse(rule), scene).tensor


def worth(rule: str, scene: PageScene) -> float:
    return number(parse(rule), scene)


def projections(model: Model, layer: int, text: str = TIRED) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v, each (h, i, d), from the layer's own matrices."""
    run, attention = model.run(text), model.encoder.block(layer).attention
    saved, x, h = attention.save(), run.hidden[layer], attention.n_heads
    matrices = ((saved.q, saved.q_bias), (saved.k, saved.k_bias), (saved.v, saved.v_bias))
    q, k, v = (
        (x @ matrix.T + (0 if bias is None else bias)).reshape(len(x), h, -1).permute(1, 0, 2)
        for matrix, bias in matrices
    )
    return q, k, v


def test_heads_cost_no_parameters_and_a_view_copies_nothing(model: Model) -> None:
    scene = scene_of("implementations", {"d": 96})
    for heads in (1, 12, 48):
        assert set(value(f"parameters({heads})", scene).tolist()) == {4 * 96 * 96 + 4 * 96}
    plain = torch.empty(1, len(model.tokenize(TIRED)[1]), 384).view(1, -1, 12, 32)
    for name, tensor in (("q.view", plain), ("q.transpose", plain.transpose(1, 2))):
        assert worth(f'copied("{name}")', at()) == 0
        assert [worth(f'stride("{name}", {axis})', at()) for axis in range(4)] == list(tensor.stride())
    assert worth('copied("mixed.contiguous")', at()) == plain.numel()


def test_what_torch_refuses_and_what_it_does_not(precise: Model) -> None:
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


def test_padding_that_nobody_masks(precise: Model) -> None:
    scene = scene_of("masks", {"s": "how are you", "pad": LONG})
    ids, length = precise.tokenize("how are you")[1], len(precise.tokenize(LONG)[1])
    padded = precise.run([*ids, *[precise.pad_id] * (length - len(ids))])
    alone, beside = precise.run("how are you").hidden[-1].mean(dim=0), padded.hidden[-1][: len(ids)].mean(dim=0)
    for name, cosine, on_padding in (
        ("not masked", alone @ beside / alone.norm() / beside.norm(), padded.weights[0, :, : len(ids), len(ids) :]),
        ("masked", torch.ones((), dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64)),
    ):
        same_function(worth(f'cosine_in_batch("{name}")', scene), float(cosine))
        same_function(1 + worth(f'weight_on_padding("{name}")', scene), 1 + float(on_padding.sum(dim=-1).mean()))


def test_a_row_that_may_look_at_nobody() -> None:
    scene = scene_of("masks", {"s": "how are you", "mask": "combination", "rule": "causal & !sinks:1"})
    assert bool(value('empty_row("softmax")', scene).isnan().all())
    within_rounding(value('empty_row("-1e9")', scene), torch.full((5,), 0.2), rounding.of_sums(5))
    for name in ("torch", "ours"):
        assert value(f'empty_row("{name}")', scene).tolist() == [0] * 5


def test_rows_after_dropout_are_those_of_the_seed_and_torchs_generator_goes_on(precise: Model) -> None:
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    sums = value("sums_after_dropout(.5)", at())
    assert torch.equal(torch.rand(1), expected)
    same_function(sums, after_dropout(precise.run(TIRED).weights[3:4], 0.5, 0).sum(dim=-1)[0])
    assert float(sums.min()) < 0.5 < 1.5 < float(sums.max())
    same_function(value("sums_after_dropout(0)", at()), torch.ones_like(sums))


def test_weight_is_not_what_is_handed_over(precise: Model) -> None:
    scene, (_, _, v) = scene_of("explore", {"at": "1.10"}), projections(precise, 1)
    lengths, weights = v.square().sum(dim=-1).sqrt(), precise.run(TIRED).weights[1]
    quoted(float(lengths[10, 0] / lengths[10, 1:-1].mean()), "0.013")
    within_rounding(value("value_lengths(1)", scene), lengths, rounding.of_sums(32))  # which are told in float32
    parts = weights * lengths[:, None]
    parts = parts / parts.sum(dim=-1, keepdim=True)
    within_rounding(value("handed_over(1)", scene), parts, rounding.of_sums(32, len(lengths[0])))


def test_each_column_closed(precise: Model) -> None:
    text = "how are you"
    whole = precise.run(text)
    n = len(whole.tokens)
    found = value("cosine_without", scene_of("masks", {"s": text}))
    cosines = []
    for place in range(n):
        allow = torch.ones(n, n, dtype=torch.bool)
        allow[:, place] = torch.arange(n) == place
        closed = precise.run(text, mask=allow).sentence
        cosines.append(closed @ whole.sentence)
    within_rounding(found, torch.stack(cosines), rounding.of_sums(1))  # which are kept in float32


def test_the_first_choice_and_the_temperature_of_the_answer() -> None:
    cold = pictures.model_on("auto", SMOLLM2).tokenizer.token_to_id("Ġcold")
    plain, hot = (pictures.picture(Settings(HOT, temperature=t, model=SMOLLM2)).run.logits for t in (1.0, 2.0))
    assert plain is not None
    assert hot is not None
    logits, heated = plain[-1].double(), hot[-1].double()
    here, there = (writer(HOT, SMOLLM2, **keys) for keys in ({}, {"t": 2}))
    assert worth('choice("cold")', here) == 1 == 1 + int((logits > logits[cold]).sum())
    for temperature in (0.5, 2.0):
        same_function(worth(f'softened("cold", {temperature})', here), float((logits / temperature).softmax(-1)[cold]))
        assert worth(f'choice("cold", {temperature})', here) == 1
    assert worth('choice("cold")', there) == 1 + int((heated > heated[cold]).sum()) > 1
    same_function(worth("first_choice", there), float(heated.softmax(-1)[cold]))
    same_function(worth("first_choice'", there), float(logits.softmax(-1)[cold]))


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


def step_now(lesson: str, step: int, **changes: str | list[str]) -> Verdict:
    """The verdict on a step while its page shows these values instead of the link's own."""
    own = course().lessons[lesson].steps[step - 1]
    return verdict(own, {**parse_qs(own.query), **changes})


def test_a_verdict_follows_what_the_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """With other heads off, layer 1 keeps the place; a server without the model that writes has no verdict on it."""
    assert step_now("copying", 3).picked == "B"
    others = step_now("copying", 3, off=["L0 H1", "L0 H3"])
    assert others.picked is None
    assert "the numbers say A" in others.sentence
    assert {label: value for label, value, _ in others.numbers}["first choice right now"] == 1
    monkeypatch.setenv(models.SWITCH, "off")
    missing = step_now("copying", 4)
    assert (missing.picked, missing.numbers) == (None, ())
    assert "SmolLM2, the model that writes, is switched off on this server; choose another model" in missing.sentence
    assert step_now("copying", 2).picked == "B"


def test_what_has_no_number_says_why() -> None:
    hot, words = scene_of("explore", {"s": HOT}), writer()
    masks = {text: scene_of("masks", {"s": text, "pad": "who was she"}) for text in ("how are you", "word " * 41)}
    for rule, scene, why in (
        ("parameters(7)", scene_of("implementations", {"d": 96}), "7 equal heads"),
        ('stride("q.view", 4)', at(), "axes 0 to 3"),
        ('copied("q.head0")', at(), "efficient has no step q.head0; there are x, q.project"),
        (f'misplaced("{REFUSED}")', at(), "torch refuses this: view size is not compatible"),
        ('raises("q.reshape(9)")', at(), "is not tried"), ('row_sums("words")', at(), "heads, queries, keys"),
        ('under_same_mask("softmax")', at(), "function"), ("sums_after_dropout(1)", at(), "rate"),
        ('cosine_in_batch("masked")', masks["how are you"], "nothing is padded"),
        ('empty_row("ours")', masks["how are you"], "every row may look"),
        ("cosine_without", masks["word " * 41], "at most 40"), ("value_lengths(6)", hot, "layers 0 to 5"),
        ('choice("cold")', hot, "no next word"), ("first_choice", hot, "no next word"),
        ("hits", scene_of("explore", {"s": "can you see can you hear"}), "no next word"),
        ('softened("star", 0)', words, "above 0"), ('choice("")', words, "does not stand alone"),
        ("looks_behind(2)", words, "layers 0 to 1"), ("foreseen", writer(ROUND), "a second time"),
        ("foreseen", writer("boat drum boat"), "a second time"),
    ):  # fmt: skip
        with pytest.raises(RuleError) as error:
            evaluate(parse(rule), scene)
        assert why in str(error.value), rule
