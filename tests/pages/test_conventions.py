"""Conventions that raise no error when mixed: quantities and lessons of Shapes against other libraries and loops."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from headlight.lessons.evaluate import evaluate, number
from headlight.lessons.grammar import RuleError, parse
from headlight.lessons.quantities.scene import PageScene, page_scene
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.picture.traces import LayerTrace, trace_layer
from mha_core import watch
from mha_core.measure import conventions
from mha_core.positions.added import sinusoids
from pages.implementations import missing_maps
from pages.shapes import convention_lessons
from tests.closeness import same_function

from .numbers_shown import in_float64, model64, read_number
from .test_reshape_lessons import blocks, said
from .test_shapes import lesson, shapes

pytestmark = pytest.mark.numeric
BITES, ROTARY, CROSS = "the dog bit the man", "who-rotary-1", "dates-sinusoidal-1~cross"
BITTEN = "man the bit dog the"


@pytest.fixture
def precise() -> Iterator[None]:
    with in_float64():
        yield


def scene(model: str = "minilm", at: str = "0.1", text: str = BITES) -> PageScene:
    return page_scene("shapes", {"at": at, "s": text, "model": model})


def value(rule: str, where: PageScene) -> Tensor:
    return evaluate(parse(rule), where).tensor


def steps(layer: LayerTrace) -> dict[str, Tensor]:
    return {step.name: step.value[0] for step in layer.steps}


def rotated_by_complex_numbers(x: Tensor, base: float) -> Tensor:
    """x (h, n, d), each pair (2 m, 2 m + 1) as a complex number times e^(i p θ), as in Meta's own code."""
    h, n, d = x.shape
    angles = torch.outer(torch.arange(n).double(), base ** (-torch.arange(0, d, 2).double() / d))
    pairs = torch.view_as_complex(x.reshape(h, n, d // 2, 2).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(2)


@pytest.mark.parametrize("model", ["minilm", ROTARY])
def test_both_pairings_are_those_of_the_libraries(precise: None, model: str) -> None:
    trace = steps(trace_layer(Settings(BITES, model=model), 0, "efficient"))
    q, k = trace["q.transpose"], trace["k.transpose"]
    n, d = q.shape[1:]
    angles = torch.outer(torch.arange(n).double(), 10_000 ** (-torch.arange(0, d, 2).double() / d)).repeat(1, 2)
    halves = [x[0] for x in apply_rotary_pos_emb(q[None], k[None], angles.cos()[None], angles.sin()[None])]
    order = torch.arange(d).view(2, d // 2).T.flatten()  # 0, d/2, 1, d/2 + 1, …
    pairs = {
        "halves": halves,
        "neighbours": [rotated_by_complex_numbers(x, 10_000) for x in (q, k)],
        "permuted": [rotated_by_complex_numbers(x[..., order], 10_000) for x in (q, k)],
    }
    here = scene(model)
    for name, (turned_q, turned_k) in pairs.items():
        scores = turned_q @ turned_k.mT / math.sqrt(d)
        same_function(value(f'rope_queries("{name}")', here), turned_q)
        same_function(value(f'rope_scores("{name}")', here), scores)
        same_function(value(f'rope_maps("{name}")', here), scores.exp() / scores.exp().sum(dim=-1, keepdim=True))
    same_function(value('rope_scores("permuted")', here), value('rope_scores("halves")', here))
    assert number(parse('max(|rope_maps("neighbours") - rope_maps("halves")|)'), here) > 0.1
    if model == ROTARY:
        same_function(value('rope_maps("halves")', here), trace["weights"])


def test_key_heads_as_torch_repeats_and_tiles_them() -> None:
    for h, g in ((12, 3), (9, 3), (4, 1), (4, 2)):
        heads = torch.arange(g)
        assert conventions.key_heads(h, g, "repeated").equal(heads.repeat_interleave(h // g))
        assert conventions.key_heads(h, g, "tiled").equal(heads.tile(h // g))
    assert conventions.group_counts(12) == [1, 2, 3, 4, 6]


def test_grouped_maps_of_means_and_of_a_model_with_groups(precise: None) -> None:
    trace = steps(trace_layer(Settings(BITES), 0, "efficient"))
    means = torch.stack([trace["k"][3 * g : 3 * g + 3].mean(dim=0) for g in range(4)])
    for name, heads in (("repeated", [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3), ("tiled", [0, 1, 2, 3] * 3)):
        expected = (trace["q"] @ means[heads].mT / math.sqrt(32)).softmax(dim=-1)
        same_function(value(f'grouped_maps("{name}", 4)', scene()), expected)
        assert value(f'key_heads("{name}", 4)', scene()).tolist() == heads
    same_function(value('grouped_maps("repeated", 3)', scene()), value('grouped_maps("repeated")', scene()))


@pytest.mark.thorough("It reads the large language model.")
def test_tiling_the_heads_of_a_model_with_groups_breaks_its_maps() -> None:
    here = scene("smollm2", "3.1")
    assert number(parse('max(|grouped_maps("repeated") - W[3]|)'), here) == 0
    q, k = (steps(trace_layer(Settings(BITES, model="smollm2"), 3, "efficient"))[name] for name in ("q", "k.shared"))
    scores = (q @ k.tile(3, 1, 1).mT / math.sqrt(64)).masked_fill(
        torch.ones(len(q[0]), len(q[0])).triu(1).bool(), -math.inf
    )
    assert torch.allclose(value('grouped_maps("tiled")', here), scores.softmax(dim=-1), atol=1e-6)
    assert value('key_heads("tiled")', here).tolist() == [0, 1, 2] * 3
    shown = convention_lessons.grouped_heads(trace_layer(Settings(BITES, model="smollm2"), 3, "efficient"), 1)
    assert "9 query heads and 3 key heads" in said(shown)
    assert not blocks(shown, "buttons")


def test_a_batch_for_the_length_as_in_torchs_own_module(precise: None) -> None:
    attention = model64().stack.block(0).attention
    saved = attention.save()
    module = nn.MultiheadAttention(384, 12).double().eval()
    module.in_proj_weight.data = torch.cat((saved.q, saved.k, saved.v))
    biases = [bias for bias in (saved.q_bias, saved.k_bias, saved.v_bias) if bias is not None]
    module.in_proj_bias.data = torch.cat(biases)
    pair = torch.stack([steps(trace_layer(Settings(text), 0, "efficient"))["x"] for text in (BITES, BITTEN)])
    with torch.no_grad():
        weights = module(pair, pair, pair)[1]  # (place, sentence, sentence): the sentences are taken for tokens
    same_function(number(parse('across_batch("batch first", "weight")'), scene()), float(weights[:, 0, 1].mean()))
    assert number(parse('across_batch("batch first", "change")'), scene()) > 0.1
    for measure in ("weight", "change"):
        assert number(parse(f'across_batch("length first", "{measure}")'), scene()) == 0
    table, places = blocks(convention_lessons.batch_first(trace_layer(Settings(BITES), 0, "efficient"), 1), "table")
    assert [row[1] for row in table["rows"]] == ["(2, 7, 384)"] * 2
    assert [row[1:3] for row in places["rows"][1:4]] == [["the", "man"], ["dog", "the"], ["bit", "bit"]]
    for row in places["rows"]:
        assert abs(sum(map(read_number, row[3:5])) - 1) < 2e-4


def test_scores_of_added_positions_in_four_parts(precise: None) -> None:
    names = [f'score_parts("{a}", "{b}")' for a in ("content", "position") for b in ("content", "position")]
    trained = steps(trace_layer(Settings(BITES), 0, "efficient"))
    same_function(value(" + ".join(names), scene()), trained["scores"])
    bare = steps(trace_layer(Settings(BITES, position="none"), 0, "efficient"))
    same_function(value(names[0], scene()), bare["scores"])
    assert number(parse("concatenated"), scene()) < 1e-14
    # a model that rotates gets the table of sinusoids, as large as its input
    x = steps(trace_layer(Settings(BITES, model=ROTARY), 0, "efficient"))["x"]
    saved = model64(ROTARY).stack.block(0).attention.save()
    waves = sinusoids(*x.shape)
    waves = waves * (x.norm() / waves.norm())
    q, k = ((waves @ matrix.T).view(len(x), 4, 16).transpose(0, 1) for matrix in (saved.q, saved.k))
    same_function(value(names[3], scene(ROTARY)), q @ k.mT / 4)


def test_padding_whose_keys_are_masked_reaches_no_real_row(precise: None) -> None:
    def measure(rule: str, model: str = "minilm") -> float:
        return number(parse(rule), scene(model))

    assert measure('padding_change("keys")') == measure('padding_change("rows and keys")') == 0
    assert measure('padding_change("nothing")') > 0.1
    same_function(value('padding_sums("keys")', scene()), torch.ones(12, 3).double())
    assert not value('padding_sums("rows and keys")', scene()).any()
    # the weights of the real rows are those of the sentence alone, and a causal model needs no mask for it
    trace = trace_layer(Settings(BITES), 0, "efficient")
    picture = next(block for block in blocks(convention_lessons.padding_rows(trace, 1), "matrix"))
    for cells, weights in zip(picture["cells"], steps(trace)["weights"][1, :4, :4].tolist(), strict=False):
        assert cells[:4] == [f"{w:.2f}".removeprefix("0") if w >= 0.005 else "" for w in weights]
    assert measure('padding_change("nothing")', "words-2layers-1") == 0
    causal = trace_layer(Settings(BITES, model="words-2layers-1"), 0, "efficient")
    assert said(convention_lessons.padding_rows(causal, 1)).endswith("from all keys behind them.")


def test_what_a_layer_cannot_show_is_said_in_a_sentence() -> None:
    for name in convention_lessons.LESSONS:
        text = said_by(lesson(model=CROSS, s="3 may 1999", at="0.0", lesson=name))
        assert text == "Here the queries are of one text and the keys of another; choose a layer of self-attention."
    one = lesson(model="dates-sinusoidal-1", s="3 may 1999", at="0.0", lesson="grouped heads")
    assert "This layer has one head, so there is nothing to share." in said_by(one)
    assert "not trained with a rotation" in said_by(lesson(s=BITES, lesson="rope pairs"))
    assert "trained with halves, base 10,000" in said_by(lesson(s=BITES, model=ROTARY, at="0.0", lesson="rope pairs"))
    for rule in ('rope_maps("thirds")', 'key_heads("tiled", 5)', 'padding_sums("rows")', 'score_parts("content", "x")'):
        with pytest.raises(RuleError):
            evaluate(parse(rule), scene())


def said_by(shown: dict[str, Any]) -> str:
    flat = [inner for block in shown["blocks"] for inner in (block, *block.get("blocks", []))]
    return " ".join(block["text"] for block in flat if block["kind"] == "text")


def test_the_number_of_key_heads_is_part_of_the_link() -> None:
    for key_heads in ("1", "4"):
        shown = lesson(s=BITES, lesson=f"grouped heads {key_heads}")
        (choices,) = [block for block in shown["blocks"] if block["kind"] == "buttons"]
        assert [button["text"] for button in choices["buttons"] if button["pressed"]] == [key_heads]
        assert shapes(s=BITES, lesson=f"grouped heads {key_heads}")[0]["unusable"] == {}
    assert "lesson" in shapes(s=BITES, lesson="grouped heads 5")[0]["unusable"]


def test_sizes_of_maps_that_no_fused_kernel_writes() -> None:
    picture = pictures.picture(Settings(BITES))
    why, row, code = missing_maps.blocks(picture, 0)
    table, result = row["blocks"]
    assert table["rows"][1] == ["8,192 tokens", "805,306,368", "3221.2255", "19327.3528", "98,304"]
    assert "maps (1, 12, 7, 7), with need_weights=False None in their place" in result["text"]
    assert "never there as a whole" in why["text"]
    assert "need_weights=True" in "".join(code["lines"])
    # `watch` keeps the kernel, and its maps are those of need_weights=True
    layer, x = nn.MultiheadAttention(16, 2, batch_first=True).eval(), torch.randn(1, 4, 16)
    with torch.no_grad():
        maps = layer(x, x, x, average_attn_weights=False)[1]
    with watch() as recorder:
        layer(x, x, x, need_weights=False)
    assert torch.allclose(recorder.recording().run().weights[0], maps[0], atol=1e-6)
