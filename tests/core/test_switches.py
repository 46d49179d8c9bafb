"""The switches of `Model.run`: masks, positions, heads and temperature, and the errors for wrong ones."""

from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import Model, Run, masks
from mha_core.errors import HeadlightError, MaskError, PositionError, SizeError, Unsupported
from mha_core.measure.measures import largest_difference, worst_row_sum
from mha_core.models.inputs import Mask
from mha_core.positions import ALiBi, Learned, Nothing, Sinusoidal

from .conftest import TIRED
from .dense import Counting
from .runs import same_run as equal


@pytest.fixture(scope="module")
def tired(minilm: Model) -> Run:
    return minilm.run(TIRED)


def n_by_n(rule: masks.Rule) -> Tensor:
    return masks.allow(rule, 15, 15)[0, 0]


def test_a_mask_as_text_rule_or_tensor_is_the_same(minilm: Model) -> None:
    rule = masks.either(masks.both(masks.causal, masks.window(3)), masks.sinks(1))
    written = minilm.run(TIRED, mask="causal & window:3 | sinks:1")
    assert torch.equal(written.weights > 0, n_by_n(rule).expand(6, 12, 15, 15))
    forms: list[Mask] = [rule, n_by_n(rule), n_by_n(rule).expand(12, 15, 15), n_by_n(rule)[None, None]]
    for mask in forms:
        assert equal(minilm.run(TIRED, mask=mask), written)


def test_no_mask_written_in_any_way(minilm: Model, tired: Run) -> None:
    for mask in ("none", "window:99", masks.full):
        assert equal(minilm.run(TIRED, mask=mask), tired)
    full = minilm.run(TIRED, mask=n_by_n(masks.full))
    assert largest_difference(full.weights, tired.weights) <= 1e-6


def test_a_mask_of_its_own_for_each_head(minilm: Model) -> None:
    mask = torch.stack([n_by_n(masks.window(head + 1)) for head in range(12)])
    run = minilm.run(TIRED, mask=mask)
    assert torch.equal(run.weights > 0, mask.expand(6, 12, 15, 15))
    torch.testing.assert_close(run.weights[:, 0], torch.eye(15).expand(6, 15, 15))


def test_an_empty_row_stays_finite_through_all_layers(minilm: Model) -> None:
    run = minilm.run(TIRED, mask=masks.invert(masks.causal))  # the last token may look at nothing
    assert not run.weights[:, :, -1].any()
    assert run.hidden.isfinite().all()
    assert worst_row_sum(run.weights) == 0
    assert worst_row_sum(run.weights[:, :, :-1]) == pytest.approx(1, abs=1e-5)


PAIRS: list[Any] = [(6, 0), (0, 12), (-1, 0), (0, -1), (0.5, 1), (1,), (1, 2, 3), "ab", 3, [6, 2]]
WRONG: list[tuple[type[HeadlightError], str, dict[str, Any]]] = [
    (MaskError, r"'banded:3' is not known; write none, causal", {"mask": "banded:3"}),
    (MaskError, "at least 1", {"mask": "window:0"}),
    (MaskError, r"shape \(15, 14\); allowed are \(15, 15\), \(12, 15, 15\)", {"mask": torch.ones(15, 14).bool()}),
    (MaskError, r"shape \(2, 1, 15, 15\)", {"mask": torch.ones(2, 1, 15, 15, dtype=torch.bool)}),
    (MaskError, "bool tensor", {"mask": torch.ones(15, 15)}),
    (MaskError, "NoneType", {"mask": None}),
    (MaskError, "int", {"mask": 3}),
    (MaskError, "int64", {"mask": lambda i, j: i + j}),
    (MaskError, r"\(0, 15\) lies outside 15 queries × 15 keys", {"mask": masks.cells([(0, 15)])}),
    (MaskError, r"\(2,\) for 15 queries", {"mask": masks.documents([0, 1])}),
    *(
        (PositionError, "is not known; choose one of", {"position": position})
        for position in ("rotory", "", "Trained", None, 3)
    ),
    (PositionError, r"d_model=64.*384", {"position": Sinusoidal(64)}),
    (PositionError, r"15 positions.*has 10", {"position": Learned(384, 10)}),
    *((SizeError, r"layers 0 to 5, heads 0 to 11", {"heads_off": [(0, 0), pair]}) for pair in PAIRS),
    *(
        (HeadlightError, "above 0", {"temperature": temperature})
        for temperature in (0, -1, float("nan"), float("inf"), "1", None)
    ),
    (SizeError, "values_off has -1; give places of tokens, counted from 0", {"values_off": (3, -1)}),
    *((SizeError, "the layers are 0 to 5", {"trace_layer": layer}) for layer in (-1, 6, 1.5, "3")),
    (HeadlightError, "say which layer it takes the place of", {"implementation": "einsum"}),
    (
        Unsupported,
        r"implementation='flash' is not known; choose one of naive, efficient",
        {"trace_layer": 0, "implementation": "flash"},
    ),
]


@pytest.mark.parametrize(("error", "told", "switches"), WRONG)
def test_wrong_switches_raise(minilm: Model, error: type[HeadlightError], told: str, switches: dict[str, Any]) -> None:
    with pytest.raises(error, match=told):
        minilm.run(TIRED, **switches)


def test_no_positions(minilm: Model) -> None:
    assert equal(minilm.run(TIRED, position="none"), minilm.run(TIRED, position=Nothing()))


def test_the_trained_positions_given_as_an_encoding(minilm: Model, tired: Run) -> None:
    assert isinstance(minilm.encoder.position, Learned)
    table = Learned(384, 512)
    table.table.data.copy_(minilm.encoder.position.table)
    given = minilm.run(TIRED, position=table)
    assert equal(given, tired)
    assert not given.weights.requires_grad


def test_sinusoids_by_name_have_the_size_of_the_trained_table(minilm: Model, tired: Run) -> None:
    assert isinstance(minilm.encoder.position, Learned)
    by_name = minilm.run(TIRED, position="sinusoidal")
    size = float(minilm.encoder.position.table.square().mean().sqrt())
    waves = Sinusoidal(384, amplitude=size * 2**0.5)
    assert float(waves.add(torch.zeros(512, 384)).square().mean().sqrt()) == pytest.approx(size, rel=0.01)
    assert largest_difference(by_name.weights, minilm.run(TIRED, position=waves).weights) <= 1e-5
    assert largest_difference(by_name.weights, minilm.run(TIRED, position=Sinusoidal(384)).weights) > 0.1
    assert largest_difference(by_name.weights, tired.weights) > 0.1


def test_add_is_called_once_and_bias_in_every_layer(minilm: Model, tired: Run) -> None:
    position = Counting()
    minilm.run(TIRED, position=position)
    assert position.added == 1
    slanted = minilm.run(TIRED, position=ALiBi(12))
    untold = minilm.run(TIRED, position="none")
    assert torch.equal(slanted.hidden[0], untold.hidden[0])
    assert not torch.allclose(slanted.weights[0], untold.weights[0], atol=0.01)


def test_permuting_words(minilm: Model) -> None:
    words = TIRED.split()
    order = [4, 2, 10, 0, 7, 5, 1, 8, 3, 6, 9]
    assert sorted(order) == list(range(len(words)))
    for position, holds in (("none", True), ("trained", False)):
        straight = minilm.run(" ".join(words), position=position)
        mixed = minilm.run(" ".join(words[place] for place in order), position=position)
        starts = [0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14]  # "didn't" has three tokens
        pieces = [list(range(starts[word + 1], starts[word + 2])) for word in range(11)]
        moved = [0, *(piece for place in order for piece in pieces[place]), 14]
        assert [straight.tokens[place] for place in moved] == mixed.tokens
        far = largest_difference(mixed.hidden[-1], straight.hidden[-1][moved])
        assert far <= 1e-5 if holds else far > 0.1


@pytest.mark.parametrize("layer", [0, 4])
def test_a_head_switched_off_changes_later_layers_and_not_earlier_ones(minilm: Model, tired: Run, layer: int) -> None:
    run = minilm.run(TIRED, heads_off=[(layer, 6)])
    assert torch.equal(run.hidden[: layer + 1], tired.hidden[: layer + 1])
    assert torch.equal(run.weights[: layer + 1], tired.weights[: layer + 1])
    for later in range(layer + 1, 6):
        assert largest_difference(run.hidden[later], tired.hidden[later]) > 0.001
        assert largest_difference(run.weights[later], tired.weights[later]) > 0.001
    assert largest_difference(run.hidden[-1], tired.hidden[-1]) > 0.001


def test_heads_off_takes_any_iterable_and_repeats(minilm: Model, tired: Run) -> None:
    expected = minilm.run(TIRED, heads_off=[(1, 2), (4, 0)])
    assert equal(minilm.run(TIRED, heads_off={(4, 0), (1, 2)}), expected)
    assert equal(minilm.run(TIRED, heads_off=[[1, 2], [4, 0]]), expected)  # type: ignore[list-item]
    assert equal(minilm.run(TIRED, heads_off=iter([(1, 2), (4, 0), (1, 2)])), expected)
    assert equal(minilm.run(TIRED, heads_off=()), tired)
    everything = [(layer, head) for layer in range(6) for head in range(12)]
    assert minilm.run(TIRED, heads_off=everything).hidden.isfinite().all()


def test_temperature(minilm: Model, tired: Run) -> None:
    assert equal(minilm.run(TIRED, temperature=1), tired)
    assert float(minilm.run(TIRED, temperature=1e9).weights.sub(1 / 15).abs().max()) <= 1e-6
    cold = minilm.run(TIRED, temperature=1e-3).weights
    assert float(cold.amax(dim=-1).median()) > 0.999

    def entropy(run: Run) -> float:
        return float(torch.special.entr(run.weights[0]).sum(-1).mean())

    assert entropy(minilm.run(TIRED, temperature=0.5)) < entropy(tired) < entropy(minilm.run(TIRED, temperature=2.0))


CLS = 0


def test_a_value_that_is_not_handed_on_leaves_its_own_layers_weights(minilm: Model, tired: Run) -> None:
    run = minilm.run(TIRED, values_off=(CLS,))
    assert torch.equal(run.weights[0], tired.weights[0])
    assert largest_difference(run.weights[1:], tired.weights[1:]) > 0.01
    assert largest_difference(run.hidden[1][1:], tired.hidden[1][1:]) > 0.001
    # its own row mixes everything, so that after the first layer nothing of it has changed
    torch.testing.assert_close(run.hidden[1][CLS], tired.hidden[1][CLS], atol=1e-6, rtol=0)
    assert equal(minilm.run(TIRED, values_off=(15, 400)), tired)  # the sentence has 15 tokens


def test_the_seat_of_cls_matters_and_its_value_does_not(minilm: Model, tired: Run) -> None:
    """Forbidden, [CLS] is the worst token to lose; its contribution alone is hardly missed."""

    def cosines(**switches: Any) -> float:
        return float(minilm.run(TIRED, **switches).sentence @ tired.sentence)

    seats = [cosines(mask=f"unseen:{place}") for place in range(15)]
    values = [cosines(values_off=(place,)) for place in range(15)]
    assert min(seats) == seats[CLS] < 0.5
    assert values[CLS] > 0.99
    assert min(values) < 0.91
    assert minilm.run(TIRED, mask="unseen:0").weights[:, :, 1:, CLS].max() == 0


def test_values_off_in_a_batch_and_with_each_head_off(minilm: Model) -> None:
    long, short = minilm.run_batch([TIRED, "how are you"], values_off=(2, 7))
    for run in (long, short):
        alone = minilm.run(TIRED if run is long else "how are you", values_off=(2, 7))
        assert largest_difference(run.hidden[-1], alone.hidden[-1]) <= 1e-5
    each = minilm.ablate_each_head("how are you", values_off=(2,))
    one = minilm.run("how are you", values_off=(2,), heads_off=[(3, 1)])
    assert largest_difference(each[3, 1], one.sentence) <= 1e-5
