"""The stages of sampling equal transformers' logits processors, alone and one after another, with ties and extremes."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch
from torch import Tensor
from transformers.generation.logits_process import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from mha_core.errors import HeadlightError
from mha_core.models.generation import choose as choose_of_generation
from mha_core.models.sampling import choose, divide, keep_top_k, keep_top_p, sample, stages
from tests.closeness import identical, same_function

from .runs import case

V = 500
TEMPERATURES, KS, PS = (0.1, 0.7, 1.0, 5.0), (1, 2, 40, V - 1, V, 10 * V), (0.0, 1e-9, 0.1, 0.9, 0.999, 1.0)
GENERATOR = torch.Generator().manual_seed(51)
RANDOM = torch.randn(V, generator=GENERATOR).double() * 3
LOGITS = {
    "random": RANDOM,
    "with ties": RANDOM.round(),
    "all equal": torch.zeros(V, dtype=torch.float64),
    "one far ahead": torch.zeros(V, dtype=torch.float64).index_fill_(0, torch.tensor(7), 800.0),
}
NO_IDS = torch.zeros(1, 0, dtype=torch.long)


def warped(logits: Tensor, *warpers: TemperatureLogitsWarper | TopKLogitsWarper | TopPLogitsWarper) -> Tensor:
    for warper in warpers:
        logits = warper(NO_IDS, logits[None])[0]
    return logits


def same_nucleus(found: Tensor, expected: Tensor, logits: Tensor) -> None:
    """The same probabilities; of equal ones at the threshold the first as many: transformers' sort is not stable."""
    found, expected = found.softmax(0), expected.softmax(0)
    same_function(found.sort().values, expected.sort().values)
    ties = logits == logits[expected > 0].min()
    same_function(found[~ties], expected[~ties])
    identical(found[ties], found[ties].sort(descending=True).values)


@pytest.mark.parametrize("name", LOGITS)
def test_each_stage_is_transformers_processor(name: str) -> None:
    logits = LOGITS[name]
    for temperature in TEMPERATURES:
        identical(divide(logits, temperature), warped(logits, TemperatureLogitsWarper(temperature)))
    for k in KS:
        identical(keep_top_k(logits, k), warped(logits, TopKLogitsWarper(k)))
    for p in PS:
        same_nucleus(keep_top_p(logits, p), warped(logits, TopPLogitsWarper(p)), logits)


@pytest.mark.parametrize("name", LOGITS)
def test_all_stages_in_turn_are_transformers_processors(name: str) -> None:
    for temperature, k, p in product(TEMPERATURES, KS, PS):
        found = stages(LOGITS[name], temperature, k, p)
        identical(found["model"], (LOGITS[name].float() - LOGITS[name].float().max()).double())
        divided = warped(found["model"], TemperatureLogitsWarper(temperature))
        top = warped(divided, TopKLogitsWarper(k))
        with case(f"temperature {temperature}, top-k {k}, top-p {p}"):
            assert list(found) == ["model", "temperature", "top-k", "top-p"]
            identical(found["temperature"], divided)
            identical(found["top-k"], top)
            same_nucleus(found["top-p"], warped(top, TopPLogitsWarper(p)), top)


def test_what_is_off_keeps_every_token_and_what_is_cut_is_never_drawn() -> None:
    assert keep_top_k(RANDOM, 0).equal(RANDOM)
    assert keep_top_p(RANDOM, 1).equal(RANDOM)
    best = int(RANDOM.argmax())
    for alone in (keep_top_p(RANDOM, 0), keep_top_k(RANDOM, 1), divide(RANDOM, 0)):
        assert alone.isfinite().nonzero().tolist() == [[best]]
    left = {int(token) for token in RANDOM.topk(3).indices}
    assert {choose(RANDOM, 5.0, seed, top_k=3) for seed in range(60)} == left
    assert {choose(RANDOM, 5.0, seed, top_k=3, top_p=0) for seed in range(60)} == {best}
    assert choose(RANDOM, 0, 5, top_k=3, top_p=0.5) == choose(RANDOM) == best
    assert choose(RANDOM, 5.0, top_p=0, suppressed_ids=[best]) == int(RANDOM.topk(2).indices[1])


def test_a_draw_without_cuts_stays_what_links_and_notebooks_quote() -> None:
    assert choose_of_generation is choose
    logits = torch.tensor([0.0, 2.0, 1.0, -1.0, 0.5])
    assert [choose(logits, 1.5, seed, 4) for seed in range(12)] == [2, 2, 4, 2, 4, 1, 1, 4, 2, 0, 4, 2]
    shares = torch.softmax(logits.double() / 1.5, 0)
    point = torch.rand(5, generator=torch.Generator().manual_seed(3), dtype=torch.float64)[4]
    assert sample(logits.double() / 1.5, 3, 4) == int((shares.cumsum(0) <= point).sum())


def test_arguments_out_of_range_are_refused() -> None:
    for k in (-1, 0.5, math.nan):
        with pytest.raises(HeadlightError, match="top_k="):
            choose(RANDOM, 1.0, top_k=k)  # type: ignore[arg-type]
    for p in (-0.1, 1.1, math.nan, "all"):
        with pytest.raises(HeadlightError, match="top_p="):
            choose(RANDOM, 1.0, top_p=p)  # type: ignore[arg-type]
