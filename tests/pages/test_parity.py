"""The tables of the equality: within their bounds for many inputs, and true to what was computed."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from mha_core import IMPLEMENTATIONS, Model
from mha_core.attention.switches import EVERYTHING
from mha_core.errors import SizeError, TooLong
from mha_core.measure import agreement
from mha_core.measure.agreement import BIASES
from pages.implementations import parity
from pages.implementations.parity import FEATURES, Equality, InputSizes
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings

pytestmark = pytest.mark.numeric


def check(equality: Equality) -> None:
    for dtype in parity.DTYPES:
        block = parity.differences(equality, dtype, largest=False)
        assert [line[0] for line in block["rows"]] == list(IMPLEMENTATIONS)
        assert [line[-1] for line in block["rows"]] == ["OK"] * len(IMPLEMENTATIONS)
        assert {how for *_, how in block["marks"]} == {"good"}
    assert equality.key_bias["float32"] < 1e-6
    assert equality.key_bias["float64"] < 1e-14


def test_every_row_is_within_its_bound_on_sentences() -> None:
    for text, mask, layer in (
        ("", "none", 0),
        ("x", "causal", 5),
        (PRESETS[0], "window:1", 3),
        (PRESETS[1], "none", 5),
        ("the cat sat on the mat and " * 20, "window:3", 0),
    ):
        check(parity.of_sentence(Settings(text, mask), layer))


def test_every_row_is_within_its_bound_on_random_input() -> None:
    for sizes, mask in (
        (InputSizes(1, 1, 1, 1), "none"),
        (InputSizes(1, 128, 384, 12), "causal"),
        (InputSizes(3, 7, 30, 5), "none"),
        (InputSizes(1, 64, 1024, 64), "causal"),
        (InputSizes(32, 64, 64, 8), "none"),
    ):
        equality = parity.of_random(sizes, mask, "auto")
        assert equality.shape == (sizes.b, sizes.n, sizes.d_model), sizes
        check(equality)


def test_it_is_the_hidden_state_that_enters_the_layer(model: Model) -> None:
    equality = parity.of_sentence(Settings(PRESETS[2], "causal"), 4)
    run = model.run(PRESETS[2], mask="causal")
    assert equality.shape == (1, *run.hidden[4].shape)
    layer = model.encoder.layers[4].attention
    causal = torch.ones(len(run.tokens), len(run.tokens), dtype=torch.bool).tril()
    _, maps = layer(run.hidden[4].unsqueeze(0), allow=causal)  # type: ignore[operator]
    torch.testing.assert_close(maps[0], run.weights[4])


def test_it_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = parity.of_sentence(Settings(PRESETS[3]), 1)
    random = parity.of_random(InputSizes(1, 3, 4, 2), "none", "auto")
    monkeypatch.setattr(agreement, "agreements", None)
    assert parity.of_sentence(Settings(PRESETS[3]), 1) is first
    assert parity.of_random(InputSizes(1, 3, 4, 2), "none", "auto") is random


def test_a_row_above_its_bound_says_so() -> None:
    equality = parity.of_random(InputSizes(1, 3, 4, 2), "none", "auto")
    agreements = equality.agreements["float32"]
    worse = agreement.Agreement(*[agreement.Difference(0.5, 0.25, 1e-6)] * 4)
    wrong = replace(equality, agreements={**equality.agreements, "float32": {**agreements, "einsum": worse}})
    block = parity.differences(wrong, "float32", largest=False)
    row = list(IMPLEMENTATIONS).index("einsum")
    assert block["rows"][row] == ["einsum", *["2.5e−1"] * 4, "above"]
    assert [row, 5, "bad"] in block["marks"]
    largest = parity.differences(wrong, "float32", largest=True)
    assert largest["rows"][row] == ["einsum", *["5.0e−1"] * 4, "above"]  # the mark is by the relative difference


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(SizeError, match="d_model=50 cannot be split into 6"):
        parity.of_random(InputSizes(1, 3, 50, 6), "none", "auto")
    with pytest.raises(SizeError, match="at most"):
        parity.of_random(InputSizes(2, 512, 384, 12), "none", "auto")
    with pytest.raises(TooLong):
        parity.of_sentence(Settings("a b " * 300), 0)


def test_what_each_one_is() -> None:
    rows = {row[0]: row[1:] for row in parity.kinds(24, 3)["rows"]}
    assert rows.keys() == IMPLEMENTATIONS.keys()
    for name, (words, count, bare, tensors, can, cannot) in rows.items():
        layer = IMPLEMENTATIONS[name](24, 3)
        parameters = list(layer.parameters())
        assert words
        assert count == f"{sum(parameter.numel() for parameter in parameters):,}"
        assert tensors == str(len(parameters))
        assert bare == f"{sum(one.numel() for one in IMPLEMENTATIONS[name](24, 3, bias=False).parameters()):,}"
        lacking = [word for feature, word in FEATURES.items() if feature not in layer.can]
        assert cannot == (", ".join(lacking) or "–")
        assert can == "everything" or not set(can.split(", ")) & set(lacking)
    assert FEATURES.keys() == EVERYTHING


def test_the_parameters_are_those_of_the_biases_that_are_chosen() -> None:
    for biases in BIASES:
        block = parity.kinds(24, 3, biases)
        for name, _, written, bare, *_ in block["rows"]:
            letters = "qkvo" if biases == "value and output" and IMPLEMENTATIONS[name].one_matrix else BIASES[biases]
            assert (int(written.replace(",", "")), bare) == (4 * 24**2 + 24 * len(letters), "2,304"), name
        assert ("are 0, and are counted" in block["caption"]) == (biases == "value and output"), biases


def test_the_lessons_class_has_so_many_parameters() -> None:
    class Lesson(nn.Module):
        def __init__(self, d_model: int) -> None:
            super().__init__()
            self.query, self.key, self.value = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))
            self.output = nn.Linear(d_model, d_model)

    counted = f"{sum(one.numel() for one in Lesson(384).parameters()):,}"
    assert {row[2] for row in parity.kinds(384, 12, "output alone")["rows"]} == {counted} == {"590,208"}
