"""The language model against the same thing written out; it never sees what is still to come."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS, Model, masks
from mha_core.errors import Unsupported
from mha_core.models.block import BlockSizes
from mha_core.models.language_model import LanguageModel
from mha_core.positions import NAMES
from mha_core.training import tasks, tokens
from mha_core.training.initial_weights import draw

from .dense_models import dense_block, layer_norm
from .runs import randomised

SIZES = BlockSizes(vocabulary=33, d_model=16, n_heads=4, n_layers=2, max_len=12, residual=True, norm=True)
IDS = torch.tensor([[2, 7, 7, 4, 3, 1], [2, 5, 9, 4, 3, 32]])


def language_model(**changes: Any) -> LanguageModel:
    made = LanguageModel(replace(SIZES, **changes))
    draw(made, 1)
    return made


def model(**changes: Any) -> Model:
    stack = language_model(**changes).double().eval().requires_grad_(False)
    return Model("words", tokens.of(tasks.build("words")), stack, origin="random")


TEXT = "apple ball bird apple ball"


def dense_logits(made: LanguageModel, ids: Tensor) -> Tensor:
    length = ids.shape[1]
    x = made.position.add(made.words.weight[ids])
    for block in made.layers:
        x = dense_block(block, x, torch.ones(1, 1, length, length).tril().bool(), made.position)
    return layer_norm(x, made.norm) @ made.out.weight.T + made.out.bias


@pytest.mark.parametrize(
    ("n_layers", "d_feed_forward", "position"), [(1, 0, "none"), (4, 20, "learned"), (1, 20, "rotary"), (4, 0, "alibi")]
)
def test_against_the_same_written_out(n_layers: int, d_feed_forward: int, position: str) -> None:
    made = language_model(n_layers=n_layers, d_feed_forward=d_feed_forward, position=position).double()
    randomised(made)
    torch.testing.assert_close(made.logits(IDS), dense_logits(made, IDS), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "position"),
    [*((name, "none") for name in IMPLEMENTATIONS if name != "fused"), *(("fused", position) for position in NAMES)],
)
def test_the_past_does_not_know_the_future(name: str, position: str) -> None:
    made = language_model(implementation=name, position=position)
    expected = made.logits(IDS)
    for place in range(1, IDS.shape[1]):
        changed = IDS.clone()
        changed[:, place] = 11
        logits = made.logits(changed)
        assert (logits[:, :place] - expected[:, :place]).abs().max() <= 1e-6
        assert (logits[:, place:] - expected[:, place:]).abs().amax(dim=(0, 2)).min() > 1e-3
        shorter = made.logits(IDS[:, :place])
        assert (shorter - expected[:, :place]).abs().max() <= 1e-5


@pytest.mark.parametrize(
    "mask",
    ["none", "window:2", masks.full, "causal", torch.ones(5, 5, dtype=torch.bool), torch.ones(4, 5, 5).bool()],
    ids=["none", "window", "a rule", "causal", "a tensor", "a tensor for each head"],
)
def test_a_run_looks_back_alone(mask: Any) -> None:
    """Whatever else a visitor masks: the model's own mask stays."""
    made = model(position="rotary")
    run = made.run(TEXT, mask=mask)
    future = torch.ones(5, 5).triu(1).bool()
    assert run.weights.shape == (2, 4, 5, 5)
    assert not run.weights[..., future].any()
    assert torch.allclose(run.weights.sum(dim=-1), torch.ones((), dtype=torch.float64))
    if mask == "window:2":
        assert not run.weights[..., torch.ones(5, 5).tril(-2).bool()].any()
    else:
        assert torch.equal(run.weights, made.run(TEXT).weights)
    logits = language_model(position="rotary").double().logits(torch.tensor([run.ids]))
    if mask != "window:2":
        stack = made.encoder
        assert isinstance(stack, LanguageModel)
        torch.testing.assert_close(stack.next_token(run.hidden[-1:]), logits)


def test_a_users_mask_takes_more_away() -> None:
    diagonal = torch.eye(5, dtype=torch.bool)
    weights = model().run(TEXT, mask=diagonal).weights
    assert torch.equal(weights, diagonal.double().expand_as(weights))
    nothing_left = model().run(TEXT, mask=torch.ones(5, 5).triu(1).bool()).weights
    assert not nothing_left.any()


def test_padding_beside_the_models_own_mask() -> None:
    made = model(position="rotary")
    for run in made.run_batch([TEXT, "apple ball"]):
        alone = made.run(" ".join(run.tokens))
        assert (run.weights - alone.weights).abs().max() <= 1e-12


def test_ablate_each_head() -> None:
    made = model(position="rotary")
    found = made.ablate_each_head(TEXT)
    for layer in range(2):
        for head in range(4):
            expected = made.run(TEXT, heads_off=[(layer, head)]).sentence
            torch.testing.assert_close(found[layer, head], expected, rtol=1e-10, atol=1e-10)


def test_what_a_language_model_cannot_do() -> None:
    with pytest.raises(Unsupported, match="torch cannot do rotary positions"):
        language_model(implementation="torch", position="rotary")
    assert model().pad_id == 0  # there is none: any number will do, since nobody looks at it
