"""Texts that grow token by token: each new row is that of one pass over the whole text, whatever the switches."""

import sys
from typing import Any

import pytest
import torch

from mha_core import masks
from mha_core.errors import HeadlightError, MaskError, TooLong, Unsupported
from mha_core.models.block import BlockSizes
from mha_core.models.generation import Generation, NewToken, choose
from mha_core.models.language_model import LanguageModel
from mha_core.models.model import Model
from mha_core.models.own_model import OwnModel
from tests.closeness import same_function

from . import llama
from .runs import case

START = llama.random_ids(5).tolist()
SWITCHES: dict[str, dict[str, Any]] = {
    "as trained": {}, "added positions": {"position": "sinusoidal"}, "a table": {"position": "shaw"},
    "a value off": {"values_off": (1,)}, "mask": {"mask": "window:3 | sinks:1"},
    "a rule, and all": {"mask": masks.prefix(2), "position": "t5", "heads_off": [(1, 1)], "temperature": 2.0},
}  # fmt: skip


def start(**switches: Any) -> Generation:
    return Generation(llama.model(torch.float64), llama.text_of(START), **switches)


def test_each_row_is_that_of_the_whole_pass() -> None:
    for name, switches in SWITCHES.items():
        growing = start(**switches)
        new = [growing.step(sampling_temperature=1.0, seed=3) for _ in range(4)]
        whole = llama.model(torch.float64).run(llama.text_of(growing.ids), all_logits=True, **switches)
        with case(name):
            assert growing.ids == START + [one.id for one in new] == whole.ids
            assert growing.tokens == whole.tokens
            assert whole.logits is not None
            for place, one in enumerate(new, len(START)):
                assert one.weights.shape == (2, 8, place + 1)
                same_function(one.weights, whole.weights[:, :, place, : place + 1])
                same_function(one.hidden, whole.hidden[:, place])
                same_function(one.logits, whole.logits[place])


def test_greedy_is_transformers_greedy() -> None:
    growing = start()
    expected = llama.reference(torch.float64).generate(
        torch.tensor([START]), max_new_tokens=20, do_sample=False, pad_token_id=0, eos_token_id=None
    )
    for _ in range(20):
        growing.step()
    assert growing.ids == expected[0].tolist()


def test_a_step_back_and_forth_gives_the_same_text() -> None:
    growing = start()
    for _ in range(6):
        growing.step(1.5, seed=8)
    ids, tokens, logits = list(growing.ids), list(growing.tokens), growing.logits
    growing.cut(7)
    assert (growing.ids, growing.tokens) == (ids[:7], tokens[:7])
    fresh = Generation(llama.model(torch.float64), llama.text_of(ids[:7]))
    same_function(growing.logits, fresh.logits)
    for _ in range(4):
        growing.step(1.5, seed=8)
    assert growing.ids == ids
    same_function(growing.logits, logits)


def test_chosen_token_is_appended() -> None:
    growing = start()
    found = growing.append(7)
    assert isinstance(found, NewToken)
    assert (found.id, found.token) == (7, "w7")
    for wrong in (-1, 320):
        with pytest.raises(HeadlightError, match=f"token {wrong} is not in the vocabulary; choose 0 to 319"):
            growing.append(wrong)
    assert growing.ids == [*START, 7]


def test_the_choice() -> None:
    logits = torch.tensor([0.0, 2.0, 1.0, -torch.inf])
    assert {choose(logits, sys.float_info.min, seed) for seed in range(20)} == {1}
    drawn = torch.tensor([choose(logits, 2.0, seed, place) for seed in range(40) for place in range(50)])
    shares = torch.bincount(drawn, minlength=4) / len(drawn)
    assert float((shares - torch.softmax(logits / 2, dim=0)).abs().max()) < 0.04, (
        "five standard deviations of 2,000 draws"
    )
    quoted = [1, 1, 1, 2, 1, 1, 2, 2, 2, 1, 2, 1]  # as links and notebooks do
    assert [choose(logits, 2.0, seed, 9) for seed in range(12)] == quoted
    for temperature in (-1, float("nan"), "hot"):
        with pytest.raises(HeadlightError, match="sampling temperature="):
            choose(logits, temperature)  # type: ignore[arg-type]
    for seed in (-1, 2**32, 0.5):
        with pytest.raises(HeadlightError, match="seed="):
            choose(logits, 1.0, seed)  # type: ignore[arg-type]


def test_generation_refuses_unsupported_inputs(minilm: Model) -> None:
    with pytest.raises(Unsupported, match="'minilm' predicts no next token"):
        Generation(minilm, "how are you")
    with pytest.raises(MaskError, match="the text grows"):
        start(mask=torch.ones(5, 5, dtype=torch.bool))
    growing = Generation(llama.model(), llama.text_of(llama.random_ids(511)))
    growing.step()
    with pytest.raises(TooLong, match="513"):
        growing.step()
    with pytest.raises(Unsupported, match="cannot cache keys and values"):
        Generation(plain_torch(), "w1 w2")


def plain_torch() -> OwnModel:
    """A small language model in torch's own module, which cannot take up where it stopped."""
    sizes = BlockSizes(vocabulary=320, d_model=16, n_heads=2, n_layers=1, max_len=32, implementation="torch")
    drawn = LanguageModel(sizes).double().eval()
    generator = torch.Generator().manual_seed(0)
    for weight in drawn.parameters():  # a new one's are whatever lay in memory
        torch.nn.init.normal_(weight.data, std=0.1, generator=generator)
    return OwnModel("own", llama.model().tokenizer, drawn, origin="random")


def test_a_language_model_grows_as_well() -> None:
    own = plain_torch().as_implementation("fused")
    growing = Generation(own, "w1 w2")
    rows = [growing.step().weights for _ in range(3)]
    run = own.run(llama.text_of(growing.ids))
    same_function(rows[-1], run.weights[:, :, -1])
