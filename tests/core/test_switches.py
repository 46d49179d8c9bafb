"""The switches of `Model.run`: masks, positions, heads and temperature, and the errors for wrong ones."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import Model, Run, masks
from mha_core.errors import HeadlightError, MaskError, PositionError, SizeError, Unsupported
from mha_core.measure.measures import largest_difference, worst_row_sum
from mha_core.models.inputs import Mask
from mha_core.positions import Learned, Sinusoidal
from tests.closeness import identical, same_function

from .conftest import TIRED
from .runs import case
from .runs import same_run as equal


def n_by_n(rule: masks.Rule) -> Tensor:
    return masks.allow(rule, 15, 15)[0, 0]


@pytest.fixture(scope="module")
def tired64(minilm64: Model) -> Run:
    return minilm64.run(TIRED)


def test_a_mask_as_text_rule_or_tensor_is_the_same(minilm: Model, tired: Run) -> None:
    rule = masks.either(masks.both(masks.causal, masks.window(3)), masks.sinks(1))
    written = minilm.run(TIRED, mask="causal & window:3 | sinks:1")
    assert torch.equal(written.weights > 0, n_by_n(rule).expand(6, 12, 15, 15))
    forms: list[Mask] = [rule, n_by_n(rule), n_by_n(rule).expand(12, 15, 15), n_by_n(rule)[None, None]]
    for mask in forms:
        assert equal(minilm.run(TIRED, mask=mask), written)

    for mask in ("none", "window:99", masks.full):
        assert equal(minilm.run(TIRED, mask=mask), tired), mask


def test_a_mask_for_each_head_and_one_with_an_empty_row(minilm64: Model) -> None:
    mask = torch.stack([n_by_n(masks.window(head + 1)) for head in range(12)])
    run = minilm64.run(TIRED, mask=mask)
    assert torch.equal(run.weights > 0, mask.expand(6, 12, 15, 15))
    run = minilm64.run(TIRED, mask=masks.invert(masks.causal))  # the last token may look at nothing
    assert not run.weights[:, :, -1].any()
    assert run.hidden.isfinite().all()
    assert worst_row_sum(run.weights) == 0


PAIRS: list[Any] = [(6, 0), (0, -1), (0.5, 1), (1, 2, 3), "ab", 3]
WRONG: list[tuple[type[HeadlightError], str, dict[str, Any]]] = [
    (MaskError, r"'banded:3' is not known; write none, causal", {"mask": "banded:3"}),
    (MaskError, "at least 1", {"mask": "window:0"}),
    (MaskError, r"shape \(15, 14\); allowed are \(15, 15\), \(12, 15, 15\)", {"mask": torch.ones(15, 14).bool()}),
    (MaskError, r"shape \(2, 1, 15, 15\)", {"mask": torch.ones(2, 1, 15, 15, dtype=torch.bool)}),
    (MaskError, "bool tensor", {"mask": torch.ones(15, 15)}), (MaskError, "NoneType", {"mask": None}),
    (MaskError, "int64", {"mask": lambda i, j: i + j}),
    (MaskError, r"\(0, 15\) lies outside 15 queries × 15 keys", {"mask": masks.cells([(0, 15)])}),
    *((PositionError, "is not known; choose", {"position": wrong}) for wrong in ("rotory", "", "Trained", None, 3)),
    (PositionError, r"d_model=64.*384", {"position": Sinusoidal(64)}),
    (PositionError, r"15 positions.*has 10", {"position": Learned(384, 10)}),
    *((SizeError, r"layers 0 to 5, heads 0 to 11", {"heads_off": [(0, 0), pair]}) for pair in PAIRS),
    *((HeadlightError, "above 0", {"temperature": wrong}) for wrong in (0, -1, math.nan, math.inf, "1", None)),
    (SizeError, "values_off has -1; give token positions, counted from 0", {"values_off": (3, -1)}),
    *((SizeError, "the layers are 0 to 5", {"trace_layer": layer}) for layer in (-1, 6, 1.5, "3")),
    (HeadlightError, "say which layer it takes the place of", {"implementation": "einsum"}),
    (Unsupported, "'flash' is not known; choose one of naive", {"trace_layer": 0, "implementation": "flash"}),
]  # fmt: skip


def test_wrong_switches_raise(minilm: Model) -> None:
    for error, sentence, switches in WRONG:
        with case(switches), pytest.raises(error, match=sentence):
            minilm.run(TIRED, **switches)


def test_sinusoids_by_name_have_the_size_of_the_trained_table(minilm64: Model, tired64: Run) -> None:
    assert isinstance(minilm64.stack.position, Learned)
    by_name = minilm64.run(TIRED, position="sinusoidal").weights
    size = float(minilm64.stack.position.table.square().mean().sqrt())
    waves = Sinusoidal(384, amplitude=size * 2**0.5).double()
    same_function(by_name, minilm64.run(TIRED, position=waves).weights)
    assert largest_difference(by_name, tired64.weights) > 0.1


CLS = 0


def test_zeroed_value_keeps_the_weights_of_its_layer(minilm64: Model, tired64: Run) -> None:
    run = minilm64.run(TIRED, values_off=(CLS,))
    identical(run.weights[0], tired64.weights[0])
    assert largest_difference(run.weights[1:], tired64.weights[1:]) > 0.01
    assert largest_difference(run.hidden[1][1:], tired64.hidden[1][1:]) > 0.001
    # its own row mixes everything, so that after the first layer nothing of it has changed
    same_function(run.hidden[1][CLS], tired64.hidden[1][CLS])
    assert equal(minilm64.run(TIRED, values_off=(15, 400)), tired64)  # the sentence has 15 tokens
