"""The encoder: its embeddings, and switches that reach the layers they name."""

from __future__ import annotations

import torch

from mha_core import Trace, masks
from mha_core.attention.switches import Ablation
from mha_core.models.encoder import Encoder, EncoderSizes
from mha_core.positions import Learned, Nothing, Sinusoidal, Together

from .dense import Counting, Rotated, Slanted
from .dense_models import dense_block

SIZES = EncoderSizes(vocabulary=20, d_model=12, n_heads=3, n_layers=4, d_feed_forward=20, max_len=9)
IDS = torch.tensor([[2, 7, 7, 4, 3], [2, 5, 9, 4, 3]])


def encoder() -> Encoder:
    torch.manual_seed(1)
    made = Encoder(SIZES).double().eval()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return made


def test_shapes() -> None:
    hidden, weights = encoder()(IDS)
    assert [tuple(state.shape) for state in hidden] == [(2, 5, 12)] * 5
    assert [tuple(maps.shape) for maps in weights] == [(2, 3, 5, 5)] * 4


def test_without_maps_the_last_hidden_state_is_the_same() -> None:
    made = encoder()
    allow = masks.allow(masks.causal, 5, 5)
    torch.testing.assert_close(made.without_maps(IDS, allow), made(IDS, allow=allow)[0][-1])


def test_the_first_hidden_state_is_the_normalised_embeddings() -> None:
    made = encoder()
    words = made.words.weight[IDS] + made.segment
    assert isinstance(made.position, Learned)
    torch.testing.assert_close(made(IDS)[0][0], made.norm(words + made.position.table[:5]))
    torch.testing.assert_close(made(IDS, position=Nothing())[0][0], made.norm(words))


def test_its_layers_normalise_after_each_sum() -> None:
    made = encoder()
    hidden, _ = made(IDS)
    for layer, before, after in zip(made.layers, hidden, hidden[1:], strict=False):
        torch.testing.assert_close(after, dense_block(layer, before, None, Nothing()), rtol=1e-10, atol=1e-10)


def test_add_is_called_exactly_once() -> None:
    position = Counting()
    encoder()(IDS, position=position)
    assert position.added == 1
    position = Counting()
    encoder()(IDS, position=Together(position, Slanted()))
    assert position.added == 1


def test_rotate_and_bias_act_in_every_layer() -> None:
    made = encoder()
    for position in (Rotated(), Slanted()):
        trace, plain = Trace(), Trace()
        hidden, _ = made(IDS, position=position)
        for number in range(SIZES.n_layers):
            trace, plain = Trace(), Trace()
            made.layers[number](hidden[number], position=position, trace=trace)
            made.layers[number](hidden[number], trace=plain)
            assert not torch.allclose(trace["scores"].value, plain["scores"].value)
            torch.testing.assert_close(made.layers[number](hidden[number], position=position)[0], hidden[number + 1])


def test_only_the_traced_layer_is_recorded() -> None:
    made, trace = encoder(), Trace()
    hidden, weights = made(IDS, trace_layer=2, trace=trace)
    assert torch.equal(trace["x"].value, hidden[2])
    torch.testing.assert_close(trace["weights"].value, weights[2])
    assert len({step.name for step in trace.steps}) == len(trace.steps)
    nothing = Trace()
    made(IDS, trace=nothing)
    assert nothing.steps == []


def test_one_mask_for_every_layer() -> None:
    _, weights = encoder()(IDS, allow=masks.allow(masks.causal, 5, 5))
    for maps in weights:
        assert torch.equal(maps > 0, torch.ones(2, 3, 5, 5).tril().bool())


def test_heads_are_switched_off_in_their_own_layer() -> None:
    made = encoder()
    heads = torch.ones(4, 3, dtype=torch.bool)
    heads[2, 1] = False
    hidden, weights = made(IDS)
    changed, changed_weights = made(IDS, ablate=Ablation(heads))
    assert all(torch.equal(a, b) for a, b in zip(hidden[:3], changed[:3], strict=True))
    assert all(torch.equal(a, b) for a, b in zip(weights[:3], changed_weights[:3], strict=True))
    assert all(not torch.allclose(a, b) for a, b in zip(hidden[3:], changed[3:], strict=True))
    expected = made.layers[2](hidden[2], heads=heads[2])[0]
    assert torch.equal(changed[3], expected)


def test_the_temperature_reaches_every_layer() -> None:
    made = encoder()
    _, weights = made(IDS, temperature=1e9)
    for maps in weights:
        torch.testing.assert_close(maps, torch.full_like(maps, 1 / 5))


def test_permuting_words_permutes_outputs_only_without_positions() -> None:
    made, order = encoder().float(), torch.tensor([3, 0, 4, 1, 2])
    bag, moved = made(IDS, position=Nothing())[0][-1], made(IDS[:, order], position=Nothing())[0][-1]
    assert (moved - bag[:, order]).abs().max() <= 1e-5
    for position in (None, Sinusoidal(12), Rotated(), Slanted()):
        told, other = made(IDS, position=position)[1][0], made(IDS[:, order], position=position)[1][0]
        assert (other - told[:, :, order][..., order]).abs().max() > 0.1


def test_the_segment_vector_starts_small() -> None:
    made = Encoder(EncoderSizes(vocabulary=4, d_model=384, n_heads=12, n_layers=0, d_feed_forward=4, max_len=4))
    assert 0.015 < float(made.segment.detach().std()) < 0.025
