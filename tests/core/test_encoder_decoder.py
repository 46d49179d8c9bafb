"""The encoder–decoder against the same thing written out; its groups as models; its training, saved and read again."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from mha_core import Model, load_model
from mha_core.errors import SizeError, TooLong, Unsupported
from mha_core.models.encoder_decoder import EncoderDecoder, EncoderDecoderSizes
from mha_core.models.translator import START, Translator
from mha_core.positions import Nothing
from mha_core.training import saved
from mha_core.training.initial_weights import init_weights
from tests.closeness import same_function

from .dense_models import dense_block, layer_norm
from .runs import TINY_DATES, case, equal, randomised, same_run, state_of, trained

SIZES = EncoderDecoderSizes(
    vocabulary=20, d_model=16, n_heads=2, n_layers=2, max_len=8, target_len=7, residual=True, norm=True
)
IDS = torch.tensor([[5, 7, 9, 4, 3], [6, 8, 2, 0, 0]])
KEEP = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
TARGET = torch.tensor([[1, 12, 13, 14], [1, 11, 11, 19]])
TEXT = "the 3rd of March, 2021"


def stack(**changes: Any) -> EncoderDecoder:
    made = EncoderDecoder(replace(SIZES, **changes))
    init_weights(made, 1)
    randomised(made)
    return made.double().eval()


def dense_logits(made: EncoderDecoder, ids: Tensor, keep: Tensor, target: Tensor) -> Tensor:
    """The paper's figure 1, block by block."""
    x = made.position.add(made.words.weight[ids])
    for block in made.layers:
        x = dense_block(block, x, keep[:, None, None, :], made.position)
    memory = layer_norm(x, made.norm)
    x = made.target_position.add(made.words.weight[target])
    causal = torch.ones(1, 1, target.shape[1], target.shape[1]).tril().bool()
    for back, across in zip(made.back_layers, made.cross_layers, strict=True):
        x = dense_block(back, x, causal, made.target_position)
        x = dense_block(across, x, keep[:, None, None, :], Nothing(), memory)
    return layer_norm(x, made.out_norm) @ made.out.weight.T + made.out.bias


def test_encoder_decoder_equals_the_papers_figure_and_every_part_learns() -> None:
    for n_layers, d_feed_forward, position in ((1, 0, "none"), (2, 20, "learned")):
        made = stack(n_layers=n_layers, d_feed_forward=d_feed_forward, position=position)
        with case((n_layers, d_feed_forward, position)):
            logits = made.logits(IDS, KEEP, TARGET)
            same_function(logits, dense_logits(made, IDS, KEEP, TARGET))
            torch.autograd.backward(logits.square().sum())
            assert [name for name, one in made.named_parameters() if one.grad is None or not one.grad.any()] == []


def test_decoder_writes_the_likeliest_token() -> None:
    made = stack(position="sinusoidal")
    written = made.greedy(IDS, KEEP, 1, 4)
    given = torch.cat([torch.ones(2, 1, dtype=torch.int64), written[:, :-1]], dim=1)
    assert torch.equal(made.logits(IDS, KEEP, given).argmax(dim=-1), written)


@cache
def translator() -> Translator:
    """Of a short training, in float64."""
    with TemporaryDirectory() as folder:
        trained(TINY_DATES).save(Path(folder) / "run")
        return cast(Translator, load_model(str(Path(folder) / "run"), device="cpu", dtype=torch.float64))


def test_a_group_is_a_model() -> None:
    model = translator()
    assert model.groups == ("encoder", "decoder", "cross")
    encoder, decoder, cross = (model.for_group(group).run(TEXT) for group in model.groups)
    assert encoder.tokens == ["the", "3rd", "of", "march", ",", "2021"] == cross.key_tokens
    assert decoder.tokens == cross.tokens == [START, *model.translate(TEXT)]
    rows, columns = len(cross.tokens), len(encoder.tokens)
    assert [tuple(run.weights.shape[2:]) for run in (encoder, decoder, cross)] == [
        (columns, columns), (rows, rows), (rows, columns),
    ]  # fmt: skip
    for run in (encoder, decoder, cross):
        same_function(run.weights.sum(-1), torch.ones_like(run.weights[..., 0]))
    with pytest.raises(Unsupported, match="no 'audio' attention"):
        model.for_group("audio")


@pytest.mark.parametrize("group", ["decoder", "cross"])
def test_every_switch_of_a_group(group: str) -> None:
    model = translator().for_group(group)
    plain = model.run(TEXT)
    first = model.run(TEXT, mask="prefix:1" if group == "decoder" else "sinks:1")
    assert bool((first.weights[..., 1:] == 0).all()) == (group == "cross")
    off = model.run(TEXT, heads_off=((0, 1),))
    assert torch.equal(off.weights[0], plain.weights[0])
    assert not torch.equal(off.hidden[1], plain.hidden[1])
    assert off.tokens == plain.tokens, "the rows stay, whatever is switched"
    assert model.run(TEXT, temperature=10**6).weights[0, 0, -1].std() < plain.weights[0, 0, -1].std()
    steps = model.run(TEXT, trace_layer=1).steps
    (weights,) = [step.value for step in steps if step.name == "weights"]
    assert torch.equal(weights[0], model.run(TEXT, trace_layer=1).weights[1])
    for refused in model.reasons:
        with pytest.raises(Unsupported):
            model.run_batch([TEXT]) if refused == "batch" else model.run(TEXT, position="none")


def test_a_target_is_read_as_given_and_heads_off_in_all_layers_of_cross_leave_nothing_of_the_text() -> None:
    cross = translator().for_group("cross")
    off = [(layer, head) for layer in range(2) for head in range(2)]
    runs = [cross.run(text, target="2021", heads_off=off) for text in (TEXT, "May 4, 1999")]
    assert torch.equal(runs[0].hidden, runs[1].hidden)
    assert cross.run(TEXT, target="20x").tokens == [START, "2", "0", "x"]
    assert cross.run(TEXT, target="20x").ids[-1] == cross.sizes.vocabulary - 1
    with pytest.raises(TooLong):
        cross.run(TEXT, target="2" * 11)
    with pytest.raises(TooLong):
        cross.run("the " * 40)
    with pytest.raises(SizeError):
        cross.run(TEXT, trace_layer=2)
    model = translator()  # and in another implementation
    other = model.as_implementation("einsum")
    same_function(other.for_group("cross").run(TEXT).weights, model.for_group("cross").run(TEXT).weights)


def test_saved_and_read_again(tmp_path: Path) -> None:
    training = trained(TINY_DATES)
    training.save(tmp_path / "run")
    model: Model = load_model(str(tmp_path / "run"), device="cpu")
    assert isinstance(model, Translator)
    assert equal(model.encoder.state_dict(), state_of(training))
    assert same_run(model.for_group("cross").run(TEXT), training.model().for_group("cross").run(TEXT))
    history = saved.read(tmp_path / "run")
    assert all(0 <= cast(float, look.aligned) <= 1 for look in history.evaluations)
    assert saved.unpack(saved.pack(tmp_path / "run"), tmp_path / "again").evaluations == history.evaluations
