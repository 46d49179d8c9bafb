"""The steps from tokens to x: each looked up or computed by other means, and together what enters layer 0."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from mha_core import Model, load_model
from mha_core.errors import PositionError, TooLong
from mha_core.measure.embedding import embedding_steps
from mha_core.models.encoder import Encoder

from .conftest import TIRED

TRAINED = Path(__file__).parents[2] / "assets" / "trained"


@pytest.mark.parametrize("position", ["trained", "none", "sinusoidal"])
def test_the_sum_gives_what_enters_layer_0_after_its_norm(minilm: Model, position: str) -> None:
    steps, run = embedding_steps(minilm, TIRED, position=position), minilm.run(TIRED, position=position)
    stack = minilm.encoder
    assert isinstance(stack, Encoder)
    assert steps.norm is not None
    width = steps.summed.shape[-1:]
    normed = F.layer_norm(steps.summed, width, steps.norm.gain, steps.norm.shift, stack.norm.eps)
    assert torch.equal(normed, run.hidden[0])
    assert torch.equal(steps.x, run.hidden[0])
    by_hand = (steps.summed - steps.norm.mean) / steps.norm.deviation * steps.norm.gain + steps.norm.shift
    torch.testing.assert_close(by_hand, run.hidden[0], rtol=0, atol=1e-5)
    assert (steps.tokens, steps.ids) == (run.tokens, run.ids)


def test_every_part_is_a_row_of_a_table(minilm64: Model) -> None:
    steps = embedding_steps(minilm64, "can you can that")
    state = minilm64.encoder.state_dict()
    assert steps.table == tuple(state["words.weight"].shape) == (30522, 384)
    for place, one in enumerate(steps.ids):
        assert torch.equal(steps.words[place], state["words.weight"][one])
        assert torch.equal(steps.position[place], state["position.table"][place])
    assert steps.segment is not None
    assert torch.equal(steps.segment, state["segment"])
    torch.testing.assert_close(steps.words + steps.segment + steps.position, steps.summed)
    first, second = (place for place, token in enumerate(steps.tokens) if token == "can")
    assert torch.equal(steps.words[first], steps.words[second])
    assert not torch.equal(steps.x[first], steps.x[second])


def test_a_model_without_segment_and_norm() -> None:
    small = load_model(str(TRAINED / "who-rotary-1"), device="cpu")
    steps = embedding_steps(small, "the cat saw the dog")
    assert steps.segment is None
    assert steps.norm is None
    assert not steps.position.any()  # rotary acts in the layers
    assert torch.equal(steps.summed, steps.words)
    assert torch.equal(steps.x, small.run("the cat saw the dog").hidden[0])


def test_errors_are_those_of_a_run(minilm: Model) -> None:
    with pytest.raises(TooLong):
        embedding_steps(minilm, "a " * 600)
    with pytest.raises(PositionError):
        embedding_steps(minilm, TIRED, position="nowhere")
