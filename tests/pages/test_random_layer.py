"""A random layer in the place of the model's: biases, dropout, the same numbers for one link; the lessons on it."""

from __future__ import annotations

import pytest
import torch

from headlight.picture import pictures, traces
from headlight.picture.settings import Settings
from headlight.picture.traces import RandomLayer
from headlight.queue import single_flight
from mha_core import IMPLEMENTATIONS, masks
from mha_core.measure import rounding
from mha_core.measure.agreement import BIASES, random_weights
from mha_core.positions import Shaw
from pages.shapes import random_layer, reshape_lessons
from pages.shapes.lesson import whole_source
from pages.shapes.reshape_lessons import LESSONS
from pages.shapes.step_names import WORDS as WORDS_OF_TEXTS
from pages.shapes.step_names import names_in_texts
from tests.closeness import within_rounding

from .conftest import answers, unpacked
from .numbers_shown import assert_shows
from .test_reshape_lessons import blocks, said, value
from .test_steps import read_back

WORDS = Settings("how are you", "causal", temperature=2.0)


@pytest.mark.numeric
def test_random_layer_computes_on_the_input_of_the_models_layer() -> None:
    for biases, name in zip(BIASES, ("fused", "sequence_first") * 2, strict=True):
        found = random_layer.traced(WORDS, 2, name, RandomLayer(biases, 0.0, 7))
        x = value(traces.trace_layer(WORDS, 2, "efficient"), "x")
        assert torch.equal(value(found, "x"), x)
        weights = random_weights(384, seed=7, biases=biases)
        layer = IMPLEMENTATIONS["sdpa"](384, 12, **weights.biases).load(weights)
        allow = masks.allow(masks.causal, x.shape[1], x.shape[1])
        with torch.no_grad():
            out, maps = layer(x, allow=allow, temperature=2.0)
            exact = IMPLEMENTATIONS["efficient"](384, 12, **weights.biases).double().load(weights)
            of = rounding.spread(exact, x.double(), allow=allow, temperature=2.0)
        within_rounding(value(found, "out"), out, rounding.bound(of.out, torch.float32, torch.float32))
        shown = value(found, "weights")
        shown = shown.permute(2, 3, 0, 1) if name == "sequence_first" else shown
        within_rounding(shown, maps, rounding.bound(of.maps, torch.float32, torch.float32))


def test_dropout_is_drawn_by_the_seed_and_leaves_torchs_generator_alone() -> None:
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    found = []
    for seed in (1, 1, 2):
        single_flight.clear_caches()  # so that each is drawn anew
        found.append(random_layer.traced(WORDS, 1, "efficient", RandomLayer("all", 0.5, seed)))
    assert torch.equal(torch.rand(3), wanted)
    first, again, other = (value(one, "weights.dropout") for one in found)
    assert torch.equal(first, again)
    assert not torch.equal(first.eq(0), other.eq(0))
    n = first.shape[-1]
    within_rounding(value(found[0], "mixed"), first @ value(found[0], "v"), rounding.sum_bound(n, n))
    sums = value(found[0], "weights").sum(-1)
    within_rounding(sums, torch.ones_like(sums), rounding.sum_bound(n, n))


def test_link_gives_the_random_layer() -> None:
    link = "s=how+are+you&lw=random&biases=none&drop=0.2&dice=3&impl=efficient&vs=sdpa&at=4.1&step=weights.dropout"
    state, first, second = answers("steps", link)
    header, numbers = read_back(first)
    names = [step["name"] for step in header["steps"]]
    own = random_layer.traced(Settings("how are you"), 4, "efficient", RandomLayer("none", 0.2, 3))
    assert torch.equal(torch.from_numpy(numbers[names.index("weights.dropout")]), value(own, "weights.dropout"))
    assert unpacked(state)[0]["label"] == "layer 4, random weights (seed 3), no biases, dropout 0.2"
    assert "weights.dropout" not in [step["name"] for step in unpacked(second)[0]["steps"]]
    assert [notice for notice in unpacked(state)[0]["notices"] if notice.startswith("sdpa drops weights inside")]
    assert unpacked(state)[0]["weights"] == "589,824 parameters; with all biases 591,360, with none 589,824."


def test_relative_attention_is_shaws(monkeypatch: pytest.MonkeyPatch) -> None:
    found = traces.trace_layer(Settings("the cat sat on the mat"), 1, "efficient")
    lesson = LESSONS["relative"](found, 3)
    assert "relative difference of the outputs 0.0000" not in said(lesson)
    table, *_ = blocks(lesson, "table")
    x, layer = value(found, "x"), pictures.model_on("auto").stack.block(1).attention
    shaw = Shaw(32, reshape_lessons.REACH, reshape_lessons.SPREAD, torch.Generator().manual_seed(0))
    away = (torch.arange(x.shape[1])[:, None] - torch.arange(x.shape[1])).abs()
    for row, position in zip(table["rows"], (None, shaw), strict=True):
        with torch.no_grad():
            _, maps = layer(x, position=position)
        assert_shows(row[1], float((maps[0, 3] * away).sum(-1).mean()))
    monkeypatch.setattr(
        reshape_lessons.RelativeAttention, "scores", lambda _, q, k: torch.einsum("ibhd,jbhd->ijbh", q, k)
    )
    assert said(LESSONS["relative"](found, 3)) != said(lesson)


def test_lesson_on_dropout_is_of_the_rate_that_is_chosen() -> None:
    found = random_layer.traced(Settings("how are you"), 1, "efficient", RandomLayer("all", 0.5, 2))
    lesson = LESSONS["dropout"](found, 3)
    assert "At rate 0.5 each weight" in said(lesson)
    before, after = blocks(lesson, "matrix")
    assert set(before["sums"]) == {"1.00"}
    weights = value(found, "weights")
    dropped = reshape_lessons.apply_dropout(weights, 0.5, 2)
    assert after["sums"] == [f"{float(row.sum()):.2f}" for row in dropped[0, 3]]
    assert torch.equal(dropped, torch.where(dropped > 0, 2 * weights, 0.0))


def test_masks_of_size_1_are_those_written_out() -> None:
    lesson = LESSONS["mask shapes"](traces.trace_layer(Settings("the cat sat on the mat"), 1, "efficient"), 0)
    (table,) = blocks(lesson, "table")
    assert [row[1] for row in table["rows"]] == ["(6, 6, 2)", "(1, 6, 2)", "(6, 6, 1)", "(1, 6, 1)"]
    assert ([row[4] for row in table["rows"]], {row[5] for row in table["rows"]}) == (["72", "12", "36", "6"], {"0"})


def test_class_is_shown_with_everything_that_it_calls() -> None:
    source = whole_source(IMPLEMENTATIONS["sequence_first"])
    for part in ("class ProjectAndSplit", "def split_heads", "def join_heads", "def softmax_over_keys"):
        assert part in source
    for name, implementation in IMPLEMENTATIONS.items():
        compile(whole_source(implementation), name, "exec")


def test_every_step_that_a_text_names_is_one_of_the_implementation() -> None:
    for name in IMPLEMENTATIONS:
        dropping = random_layer.traced(Settings("how are you", "causal"), 1, name, RandomLayer("all", 0.3, 0))
        steps = {step.name: names_in_texts(name, step.name) for step in dropping.steps}
        named = {text for words in steps.values() for text, _ in words}
        assert named == set(WORDS_OF_TEXTS.get(name, {})), name
        for text, words in WORDS_OF_TEXTS.get(name, {}).items():
            assert set(words.values()) == {said for found in steps.values() for own, said in found if own == text}


def test_notebooks_strings_and_letters_stand_at_their_steps() -> None:
    words = {step: names_in_texts("einsum", step)[0][1] for step in ("q.project", "scores.product", "mixed", "out")}
    assert "'ij,bsj->bsi'" in words["q.project"]
    assert "'bshi,bthi->bhst'" in words["scores.product"]
    assert "'bhst,bthi->bshi'" in words["mixed"]
    assert words["out"].startswith("Y = ")
