"""What lessons ask of one layer, against plain tensors: reshapes, silent mistakes, and what is handed over."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from mha_core import Model
from pages.kit.lessons.evaluate import evaluate, number, truth
from pages.kit.lessons.grammar import RuleError, parse
from pages.kit.lessons.quantities.scene import PageScene, scene_of
from pages.shapes.time_first_lessons import after_dropout

TIRED = "The animal didn't cross the street because it was too tired"
LONG = "Prices rose again last month while wages stayed the same, so many families had to put off their plans"
SILENT = "q.view(b, h, i, d)"
REFUSED = "mixed.transpose(1, 2).view(b, i, c)"


def at(**keys: object) -> PageScene:
    return scene_of("shapes", {"at": "3.1", **keys})


def value(rule: str, scene: PageScene) -> Tensor:
    return evaluate(parse(rule), scene).tensor


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


def test_heads_cost_no_parameters() -> None:
    scene = scene_of("implementations", {"d": 96})
    for heads in (1, 12, 48):
        assert set(value(f"parameters({heads})", scene).tolist()) == {4 * 96 * 96 + 4 * 96}
    with pytest.raises(RuleError, match="7 equal heads"):
        value("parameters(7)", scene)


def test_a_view_copies_nothing(model: Model) -> None:
    plain = torch.empty(1, len(model.run(TIRED).tokens), 384).view(1, -1, 12, 32)
    for name, tensor in (("q.view", plain), ("q.transpose", plain.transpose(1, 2))):
        assert number(parse(f'copied("{name}")'), at()) == 0
        assert [number(parse(f'stride("{name}", {axis})'), at()) for axis in range(4)] == list(tensor.stride())
    assert number(parse('copied("mixed.contiguous")'), at()) == plain.numel()
    with pytest.raises(RuleError, match="axes 0 to 3"):
        number(parse('stride("q.view", 4)'), at())
    with pytest.raises(RuleError, match=r"efficient has no step q\.head0; there are x, q\.project"):
        number(parse('copied("q.head0")'), at())


def test_what_torch_refuses_and_what_it_does_not(model: Model) -> None:
    assert truth(parse(f'raises("{REFUSED}")'), at())
    assert not truth(parse(f'raises("{SILENT}")'), at())
    q, _, _ = projections(model, 3)
    wrong = q.permute(1, 0, 2).reshape(q.shape)  # the same numbers in the order of the tokens
    apart = float(((wrong - q).abs() > 1e-4).double().mean())
    assert number(parse(f'misplaced("{SILENT}")'), at()) == pytest.approx(apart, abs=0.005)
    assert number(parse('misplaced("mixed.transpose(1, 2).contiguous().view(b, i, c)")'), at()) == 0
    with pytest.raises(RuleError, match="torch refuses this: view size is not compatible"):
        number(parse(f'misplaced("{REFUSED}")'), at())
    with pytest.raises(RuleError, match="is not tried"):
        truth(parse('raises("q.reshape(9)")'), at())


def test_softmax_over_another_axis(model: Model) -> None:
    q, k, _ = projections(model, 3)
    scores = q @ k.mT / math.sqrt(32)
    for axis, name in enumerate(("heads", "queries", "keys")):
        expected = (scores.exp() / scores.exp().sum(dim=axis, keepdim=True)).sum(dim=-1)
        torch.testing.assert_close(value(f'row_sums("{name}")', at()), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(RuleError, match="heads, queries, keys"):
        value('row_sums("words")', at())


def test_padding_that_nobody_masks(model: Model) -> None:
    scene = scene_of("masks", {"s": "how are you", "pad": LONG})
    ids, length = model.tokenize("how are you")[1], len(model.tokenize(LONG)[1])
    padded = model.run([*ids, *[model.pad_id] * (length - len(ids))])
    alone, beside = model.run("how are you").hidden[-1].mean(dim=0), padded.hidden[-1][: len(ids)].mean(dim=0)
    cosine = float(alone @ beside / alone.norm() / beside.norm())
    assert number(parse('cosine_in_batch("not masked")'), scene) == pytest.approx(cosine, abs=1e-5)
    assert number(parse('cosine_in_batch("masked")'), scene) == pytest.approx(1, abs=1e-5)
    on_padding = float(padded.weights[0, :, : len(ids), len(ids) :].sum(dim=-1).mean())
    assert number(parse('weight_on_padding("not masked")'), scene) == pytest.approx(on_padding, abs=1e-5)
    assert number(parse('weight_on_padding("masked")'), scene) == pytest.approx(0, abs=1e-6)
    with pytest.raises(RuleError, match="nothing is padded"):
        number(parse('cosine_in_batch("masked")'), scene_of("masks", {"s": "how are you", "pad": "who was she"}))


def test_one_mask_means_two_things(model: Model) -> None:
    q, k, _ = projections(model, 3, "how are you")
    scores, lower = (q @ k.mT)[1] / math.sqrt(32), torch.ones(5, 5, dtype=torch.bool).tril()
    scene = at(s="how are you")
    for name, blocked in (("nn.MultiheadAttention", lower), ("scaled_dot_product_attention", ~lower)):
        expected = scores.masked_fill(blocked, -math.inf).softmax(dim=-1)
        found = value(f'under_same_mask("{name}")', scene)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
    with pytest.raises(RuleError, match="function"):
        value('under_same_mask("softmax")', scene)


def test_a_row_that_may_look_at_nobody() -> None:
    scene = scene_of("masks", {"s": "how are you", "mask": "combination", "rule": "causal & !sinks:1"})
    assert bool(value('empty_row("softmax")', scene).isnan().all())
    assert value('empty_row("-1e9")', scene).tolist() == pytest.approx([0.2] * 5)
    for name in ("torch", "ours"):
        assert value(f'empty_row("{name}")', scene).tolist() == [0] * 5
    with pytest.raises(RuleError, match="every row may look"):
        value('empty_row("ours")', scene_of("masks", {"s": "how are you"}))


def test_rows_after_dropout(model: Model) -> None:
    """torch's own module drops what Shapes drops, with the same seed."""
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    sums = value("sums_after_dropout(.5)", at())
    assert torch.equal(torch.rand(1), expected)  # the process's own generator goes on as if nothing had been
    dropped = after_dropout(model.run(TIRED).weights[3:4], 0.5, 0).sum(dim=-1)[0]
    torch.testing.assert_close(sums, dropped, rtol=1e-4, atol=1e-5)
    assert float(sums.min()) < 0.5 < 1.5 < float(sums.max())
    torch.testing.assert_close(value("sums_after_dropout(0)", at()), torch.ones_like(sums))
    with pytest.raises(RuleError, match="rate"):
        value("sums_after_dropout(1)", at())


def test_weight_is_not_what_is_handed_over(model: Model) -> None:
    scene, (_, _, v) = scene_of("explore", {"at": "1.10"}), projections(model, 1)
    lengths = v.square().sum(dim=-1).sqrt()
    torch.testing.assert_close(value("value_lengths(1)", scene), lengths, rtol=1e-4, atol=1e-5)
    assert float(lengths[10, 0] / lengths[10, 1:-1].mean()) == pytest.approx(0.013, abs=0.002)
    weights = model.run(TIRED).weights[1]
    parts = torch.stack([weights[head] * lengths[head] for head in range(12)])
    parts /= parts.sum(dim=-1, keepdim=True)
    torch.testing.assert_close(value("handed_over(1)", scene), parts, rtol=1e-4, atol=1e-5)
    with pytest.raises(RuleError, match="layers 0 to 5"):
        value("value_lengths(6)", scene)


def test_each_column_closed(model: Model) -> None:
    whole, n = model.run(TIRED), len(model.run(TIRED).tokens)
    found = value("cosine_without", scene_of("masks", {}))
    for place in (0, 2, n - 1):
        allow = torch.ones(n, n, dtype=torch.bool)
        allow[:, place] = torch.arange(n) == place
        closed = model.run(TIRED, mask=allow).sentence
        assert float(found[place]) == pytest.approx(float(closed @ whole.sentence), abs=1e-5)
    with pytest.raises(RuleError, match="at most 40"):
        value("cosine_without", scene_of("masks", {"s": "word " * 41}))
