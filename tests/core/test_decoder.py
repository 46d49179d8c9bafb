"""Our decoder against transformers' LlamaForCausalLM with the same weights, and what it makes of bad weights."""

from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import Run, masks
from mha_core.errors import SizeError, TooLong
from mha_core.measure import rounding
from mha_core.models.decoder import linear
from tests.closeness import same_function, within_rounding

from . import llama
from .runs import case, differ
from .tiny_models import Float64Throughout


def whole(ids: Tensor, **switches: Any) -> Run:
    return llama.model(torch.float64).run(llama.text_of(ids), all_logits=True, **switches)


def same_as_theirs(run: Run, theirs: Any) -> None:
    """Compare every weight, hidden state and logit; transformers norms its last hidden state."""
    last: Tensor = llama.decoder(torch.float64).norm(run.hidden[-1])
    assert run.logits is not None
    same_function(run.weights, torch.cat(theirs.attentions))
    same_function(run.hidden[:-1], torch.cat(theirs.hidden_states[:-1]))
    same_function(last, theirs.hidden_states[-1][0])
    same_function(run.logits, theirs.logits[0])


@pytest.mark.parametrize("length", [1, 17])
def test_maps_hidden_states_and_logits_are_transformers(length: int) -> None:
    ids = llama.random_ids(length)
    with Float64Throughout():
        theirs = llama.asked(ids, torch.float64)
    run = whole(ids)
    same_as_theirs(run, theirs)
    assert (run.extras.kv_heads, run.ids) == (2, ids.tolist())
    assert length < 17 or run.weights[:, :, -1].amax(dim=-1).mean() > 3 / length, "the maps are not flat"


SWITCHES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # ours, and those of `llama.hooked`
    "heads off": ({"heads_off": [(0, 3), (1, 0), (1, 7)]}, {"heads_off": [(0, 3), (1, 0), (1, 7)]}),
    "RoPE off": ({"position": "none"}, {"rope": False}),
    "temperature": ({"temperature": 0.6}, {"temperature": 0.6}),
    "mask": ({"mask": "window:3 | sinks:1"}, {}),
    "all of them": (
        {"heads_off": [(1, 2)], "position": "none", "temperature": 2.0, "mask": "window:5"},
        {"heads_off": [(1, 2)], "rope": False, "temperature": 2.0},
    ),
}


@pytest.mark.parametrize("switch", SWITCHES)
def test_every_switch_is_a_hook_on_transformers(switch: str) -> None:
    ids, (ours, theirs) = llama.random_ids(17), SWITCHES[switch]
    arguments = {}
    if "mask" in ours:  # added to the model's own
        allow = masks.allow(masks.both(masks.causal, masks.parse(ours["mask"])), 17, 17)
        arguments["attention_mask"] = torch.zeros(1, 1, 17, 17).double().masked_fill(~allow, -torch.inf)
    with Float64Throughout():
        plain = llama.asked(ids, torch.float64)
        with llama.hooked(torch.float64, **theirs):
            expected = llama.asked(ids, torch.float64, **arguments)
    same_as_theirs(whole(ids, **ours), expected)
    differ(expected.logits, plain.logits)


def test_logits_of_the_last_position_or_of_all_and_in_a_batch() -> None:
    model, texts = llama.model(torch.float64), [llama.text_of(llama.random_ids(length)) for length in (4, 9)]
    short, long = (model.run(text).logits for text in texts)
    every = model.run(texts[1], all_logits=True).logits
    assert short is not None
    assert long is not None
    assert every is not None
    assert (long.shape, every.shape) == ((1, 320), (9, 320))
    same_function(long, every[-1:])
    for run, alone in zip(model.run_batch(texts), (short, long), strict=True):
        same_function(run.logits, alone)


def test_no_token_and_too_many() -> None:
    with pytest.raises(SizeError, match="no token, and this model adds none"):
        llama.model().run("")
    with pytest.raises(TooLong, match="513"):
        llama.model().run(llama.text_of(llama.random_ids(513)))


def test_linear_is_the_product_of_torch() -> None:
    """Whatever the shape, the format and the layout in memory."""
    weight = torch.randn(19, 48, dtype=torch.float64)
    for shape in ((3, 48), (2, 4, 7, 48), (0, 48)):
        x = torch.randn(shape, dtype=torch.float64)
        with case(shape):
            same_function(linear(x, weight), x @ weight.T)
            for dtype in (torch.float32, torch.bfloat16):
                low, low_weight = x.to(dtype), weight.to(dtype)
                expected = low.double() @ low_weight.double().T
                within_rounding(linear(low, low_weight), expected, rounding.sum_bound(48, 1, dtype=dtype))
    x, turned = torch.randn(48, 5).double().t(), torch.randn(48, 19).double().t()
    same_function(linear(x, turned), x.contiguous() @ turned.contiguous().t())
