"""The tables of the equality: within their bounds for many inputs, and true to what was computed."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from headlight.link.presets import PRESETS
from headlight.picture.settings import Settings
from mha_core import IMPLEMENTATIONS
from mha_core.errors import SizeError
from mha_core.measure import agreement
from pages.implementations import parity
from pages.implementations.parity import Equality, InputSizes
from tests.closeness import same_function

from .numbers_shown import in_float64

pytestmark = pytest.mark.numeric


def check(equality: Equality) -> None:
    for name in parity.DTYPES:
        block = parity.differences(equality, name)
        assert [line[0] for line in block["rows"]] == list(IMPLEMENTATIONS)
        assert [line[-1] for line in block["rows"]] == ["OK"] * len(IMPLEMENTATIONS)
        assert {how for *_, how in block["marks"]} == {"good"}


def test_every_row_is_within_its_bound_on_a_sentence_and_on_random_input() -> None:
    check(parity.compare_sentence(Settings(PRESETS[0], "window:1"), 3))
    for sizes, mask in ((InputSizes(1, 1, 1, 1), "none"), (InputSizes(3, 7, 30, 5), "causal")):
        equality = parity.compare_random(sizes, mask, "auto")
        assert equality.shape == (sizes.b, sizes.n, sizes.d_model)
        check(equality)


def test_input_is_the_hidden_state_before_the_layer() -> None:
    with in_float64() as model:
        equality = parity.compare_sentence(Settings(PRESETS[2], "causal"), 4)
        run = model.run(PRESETS[2], mask="causal")
        assert equality.shape == (1, *run.hidden[4].shape)
        causal = torch.ones(len(run.tokens), len(run.tokens), dtype=torch.bool).tril()
        _, maps = model.stack.block(4).attention(run.hidden[4].unsqueeze(0), allow=causal)
        assert maps is not None
        same_function(maps[0], run.weights[4])


def test_row_above_its_bound_says_so() -> None:
    equality = parity.compare_random(InputSizes(1, 3, 4, 2), "none", "auto")
    agreements = equality.agreements["float32"]
    worse = agreement.Agreement(*[agreement.Difference(0.25, 0.1)] * 4)
    wrong = replace(equality, agreements={**equality.agreements, "float32": {**agreements, "einsum": worse}})
    row = list(IMPLEMENTATIONS).index("einsum")
    block = parity.differences(wrong, "float32")
    assert block["rows"][row] == ["einsum", *["2.5e−1"] * 4, "above"]
    assert [row, 5, "bad"] in block["marks"]


def test_sizes_that_cannot_be_are_refused() -> None:
    with pytest.raises(SizeError, match="d_model=50 cannot be split into 6"):
        parity.compare_random(InputSizes(1, 3, 50, 6), "none", "auto")
    with pytest.raises(SizeError, match="at most"):
        parity.compare_random(InputSizes(2, 512, 384, 12), "none", "auto")


def test_lessons_class_has_so_many_parameters() -> None:
    three = [nn.Linear(384, 384, bias=False) for _ in range(3)]  # query, key, value; the output has a bias
    counted = f"{sum(one.numel() for part in (*three, nn.Linear(384, 384)) for one in part.parameters()):,}"
    assert {row[2] for row in parity.kinds(384, 12, "output alone")["rows"]} == {counted} == {"590,208"}
