"""The stages of sampling equal transformers' logits processors, alone and one after another, with ties and extremes."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers.generation.logits_process import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from mha_core.errors import HeadlightError
from mha_core.models.sampling import choose, divide, keep_top_k, keep_top_p, stages
from tests.closeness import identical, same_function

from .runs import case

V = 500
TEMPERATURES, KS, PS = (0.1, 0.7, 1.0, 5.0), (0, 1, 2, 40, V, 10 * V), (0.0, 1e-9, 0.1, 0.9, 0.999, 1.0)
RANDOM = (torch.randn(V, generator=torch.Generator().manual_seed(51)) * 3).double()
EQUAL = torch.zeros(V, dtype=torch.float64)
LOGITS = {
    "random": RANDOM,
    "with ties": RANDOM.round(),
    "all equal": EQUAL,
    "one far ahead": EQUAL.index_fill(0, torch.tensor(7), 800.0),
}


def warped(logits: Tensor, warper: Any) -> Any:
    return warper(torch.zeros(1, 0, dtype=torch.long), logits[None])[0]


def same_nucleus(found: Tensor, expected: Tensor, logits: Tensor) -> None:
    """The same probabilities; of equal ones at the threshold the first as many: transformers' sort is not stable."""
    found, expected = found.softmax(0), expected.softmax(0)
    same_function(found.sort().values, expected.sort().values)
    ties = logits == logits[expected > 0].min()
    same_function(found[~ties], expected[~ties])
    identical(found[ties], found[ties].sort(descending=True).values)


@pytest.mark.parametrize("name", LOGITS)
def test_each_stage_alone_and_after_the_others_is_transformers_processor(name: str) -> None:
    for temperature, k, p in product(TEMPERATURES, KS, PS):
        found = stages(LOGITS[name], temperature, k, p)
        divided = warped(found["model"], TemperatureLogitsWarper(temperature))
        top = warped(divided, TopKLogitsWarper(k)) if k else divided
        with case(f"temperature {temperature}, top-k {k}, top-p {p}"):
            identical(found["model"], (LOGITS[name].float() - LOGITS[name].float().max()).double())
            identical(found["temperature"], divided)
            identical(found["top-k"], top)
            same_nucleus(found["top-p"], warped(top, TopPLogitsWarper(p)), top)


def test_what_is_off_keeps_every_token_and_what_is_cut_is_never_drawn() -> None:
    identical(keep_top_p(keep_top_k(RANDOM, 0), 1), RANDOM)
    best = int(RANDOM.argmax())
    for alone in (keep_top_p(RANDOM, 0), keep_top_k(RANDOM, 1), divide(RANDOM, 0)):
        assert alone.isfinite().nonzero().tolist() == [[best]]
    assert {choose(RANDOM, 5.0, seed, top_k=3) for seed in range(60)} == set(RANDOM.topk(3).indices.tolist())
    assert choose(RANDOM, 0, 5, top_k=3, top_p=0.5) == choose(RANDOM, 5.0, 9, top_p=0) == best
    assert choose(RANDOM, 5.0, top_p=0, suppressed_ids=[best]) == int(RANDOM.topk(2).indices[1])
    for name, wrong in (("top_k", -1), ("top_k", 0.5), ("top_p", -0.1), ("top_p", 1.1), ("top_p", math.nan)):
        with pytest.raises(HeadlightError, match=f"{name}=.*; choose "):
            choose(RANDOM, 1.0, **{name: wrong})  # type: ignore[arg-type]
