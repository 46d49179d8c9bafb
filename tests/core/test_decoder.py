"""Our decoder against transformers' LlamaForCausalLM with the same weights, and what it makes of bad weights."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from mha_core import IMPLEMENTATIONS, Model, Run, masks
from mha_core.errors import SizeError, TooLong, WeightsFileError
from mha_core.measure.measures import largest_difference, relative_difference
from mha_core.models.decoder import DecoderConfig, from_llama, linear

from . import llama
from .llama import CONFIG

LIMITS = {torch.float32: 2e-5, torch.float64: 1e-10}
dtypes = pytest.mark.parametrize("dtype", LIMITS, ids=str)


def whole(dtype: torch.dtype, ids: Tensor, **switches: Any) -> Run:
    return llama.model(dtype).run(llama.text_of(ids), all_logits=True, **switches)


def differs(run: Run, theirs: Any, model: Model) -> float:
    """The largest difference of any weight, hidden state or logit; transformers norms its last hidden state."""
    last: Tensor = model.encoder.norm(run.hidden[-1])  # type: ignore[operator]
    assert run.logits is not None
    return max(
        largest_difference(run.weights, torch.cat(theirs.attentions)),
        largest_difference(run.hidden[:-1], torch.cat(theirs.hidden_states[:-1])),
        largest_difference(last, theirs.hidden_states[-1][0]),
        largest_difference(run.logits, theirs.logits[0]),
    )


@dtypes
@pytest.mark.parametrize("length", [1, 2, 17, 64, 512])
def test_maps_hidden_states_and_logits_are_transformers(length: int, dtype: torch.dtype) -> None:
    ids = llama.random_ids(length)
    with llama.float64_throughout() if dtype == torch.float64 else nullcontext():
        theirs = llama.asked(ids, dtype)
    run = whole(dtype, ids)
    assert differs(run, theirs, llama.model(dtype)) <= LIMITS[dtype]
    assert run.weights.shape == (2, 8, length, length)
    assert run.hidden.shape == (3, length, 64)
    assert run.kv_heads == 2
    assert run.ids == ids.tolist()
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


@dtypes
@pytest.mark.parametrize("switch", SWITCHES)
def test_every_switch_is_a_hook_on_transformers(switch: str, dtype: torch.dtype) -> None:
    ids, (ours, theirs) = llama.random_ids(17), SWITCHES[switch]
    arguments = {}
    if "mask" in ours:  # added to the model's own
        allow = masks.allow(masks.both(masks.causal, masks.parse(ours["mask"])), 17, 17)
        arguments["attention_mask"] = torch.zeros(1, 1, 17, 17, dtype=dtype).masked_fill(~allow, -torch.inf)
    with llama.float64_throughout() if dtype == torch.float64 else nullcontext(), llama.hooked(dtype, **theirs):
        expected = llama.asked(ids, dtype, **arguments)
    assert differs(whole(dtype, ids, **ours), expected, llama.model(dtype)) <= LIMITS[dtype]
    assert relative_difference(expected.logits, llama.asked(ids, dtype).logits) > 1e-2, "the hook does something"


def test_the_rotation_by_name_is_the_models_own() -> None:
    ids = llama.random_ids(17)
    assert torch.equal(whole(torch.float32, ids, position="rotary").weights, whole(torch.float32, ids).weights)
    other = from_llama(replace(CONFIG, rope_base=1e4), llama.reference(torch.float32).state_dict())
    assert largest_difference(torch.stack(other(ids[None])[1]), torch.stack(llama.decoder()(ids[None])[1])) > 1e-3


def test_logits_of_the_last_position_or_of_all() -> None:
    model, text = llama.model(), llama.text_of(llama.random_ids(9))
    last, every = model.run(text).logits, model.run(text, all_logits=True).logits
    assert last is not None
    assert every is not None
    assert (last.shape, every.shape) == ((1, 320), (9, 320))
    torch.testing.assert_close(last, every[-1:], rtol=0, atol=1e-5)
    short, long = model.run_batch([llama.text_of(llama.random_ids(4)), text])
    assert short.logits is not None
    assert long.logits is not None
    torch.testing.assert_close(long.logits, last, rtol=0, atol=1e-5)
    alone = model.run(llama.text_of(llama.random_ids(4))).logits
    assert alone is not None
    torch.testing.assert_close(short.logits, alone, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", [name for name, kind in IMPLEMENTATIONS.items() if "kv_heads" in kind.can])
def test_every_implementation_makes_the_same_decoder(name: str) -> None:
    ids = llama.random_ids(17)
    twin = llama.model(torch.float64).as_implementation(name).run(llama.text_of(ids), all_logits=True)
    run = whole(torch.float64, ids)
    assert relative_difference(twin.weights, run.weights) <= 1e-13
    assert twin.logits is not None
    assert relative_difference(twin.logits, run.logits) <= 1e-13  # type: ignore[arg-type]
    state = llama.reference(torch.float64).state_dict()
    direct = from_llama(replace(CONFIG, implementation=name), state, torch.float64)
    assert type(direct.block(1).attention) is IMPLEMENTATIONS[name]


def test_a_respelled_decoder_shares_what_stays_the_same() -> None:
    own, twin = llama.model().encoder, llama.model().as_implementation("einsum").encoder
    assert twin.words.weight is own.words.weight
    before = own.block(0).attention.save().q.clone()
    with torch.no_grad():
        next(twin.block(0).attention.parameters()).zero_()
    assert torch.equal(own.block(0).attention.save().q, before)


def test_no_token_and_too_many() -> None:
    with pytest.raises(SizeError, match="no token, and this model adds none"):
        llama.model().run("")
    with pytest.raises(TooLong, match="513"):
        llama.model().run(llama.text_of(llama.random_ids(513)))


def test_the_tensors_are_taken_as_they_are() -> None:
    """No copy but of q, k and v, and none at all where they come joined."""
    state = llama.reference(torch.float32).state_dict()
    ours = llama.decoder()
    assert ours.words.weight.data_ptr() == state["model.embed_tokens.weight"].data_ptr()
    own = dict(ours.named_parameters())
    down = own["layers.1.feed_forward.1.down.weight"]
    assert down.data_ptr() == state["model.layers.1.mlp.down_proj.weight"].data_ptr()
    joined = dict(state)
    for layer in range(2):
        name = f"model.layers.{layer}.self_attn."
        rows = [joined.pop(f"{name}{part}_proj.weight") for part in "qkv"]
        joined[f"{name}qkv_proj.weight"] = torch.cat(rows)
    again, ids = from_llama(CONFIG, joined), llama.random_ids(9)[None]
    qkv = dict(again.named_parameters())["layers.0.attention.qkv.weight"]
    assert qkv.data_ptr() == joined["model.layers.0.self_attn.qkv_proj.weight"].data_ptr()
    assert torch.equal(again(ids)[0][-1], ours(ids)[0][-1])
    assert not any(parameter.requires_grad for parameter in again.parameters())
    assert not again.training
    assert from_llama(CONFIG, state, torch.bfloat16).words.weight.dtype == torch.bfloat16


def test_tensors_that_do_not_fit_are_refused() -> None:
    state = dict(llama.reference(torch.float32).state_dict())
    q = "model.layers.1.self_attn.q_proj.weight"
    cases: list[tuple[DecoderConfig, dict[str, Tensor], str]] = [
        (CONFIG, {name: one for name, one in state.items() if name != q}, rf"{q} is missing"),
        (CONFIG, state | {q: state[q][:8]}, "do not fit"),
        (CONFIG, state | {"model.norm.bias": state["model.norm.weight"]}, r"no place for model\.norm\.bias \(1 in"),
        (replace(CONFIG, n_layers=1), state, r"\(9 in all\)"),
        (replace(CONFIG, n_layers=3), state, r"layers\.2\..* is missing"),
        (replace(CONFIG, n_kv_heads=4), state, "do not fit"),
        (replace(CONFIG, vocabulary=10), state, "do not fit"),
    ]
    for config, tensors, told in cases:
        with pytest.raises(WeightsFileError, match=told):
            from_llama(config, tensors)
    with pytest.raises(SizeError, match="n_kv_heads=3"):
        from_llama(replace(CONFIG, n_kv_heads=3), state)


# ---- the product of its network and head: the sums of torch's own linear, in another order


@pytest.mark.parametrize("shape", [(1, 5, 48), (3, 48), (2, 4, 7, 48), (1, 1, 48), (0, 48), (48,)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_it_is_the_product(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, weight = torch.randn(shape, dtype=dtype), torch.randn(19, 48, dtype=dtype)
    found = linear(x, weight)
    assert found.shape == (*shape[:-1], 19)
    assert found.dtype == dtype
    exact = (x.double() @ weight.double().T).to(dtype)
    torch.testing.assert_close(found, exact, rtol=1e-5 if dtype != torch.bfloat16 else 0.02, atol=1e-5)


def test_what_lies_otherwise_in_memory_gives_the_same() -> None:
    x, weight = torch.randn(48, 5).t(), torch.randn(48, 19).t()
    torch.testing.assert_close(linear(x, weight), x.contiguous() @ weight.contiguous().t())
    part = torch.randn(9, 2, 48)[3:5, 1:]
    torch.testing.assert_close(linear(part, weight), part.contiguous() @ weight.contiguous().t())


def test_gradients_flow() -> None:
    x, weight = torch.randn(2, 5, 48, requires_grad=True), torch.randn(19, 48, requires_grad=True)
    linear(x, weight).square().sum().backward()  # type: ignore[no-untyped-call]
    of_x, of_weight = x.grad, weight.grad
    x.grad = weight.grad = None
    F.linear(x, weight).square().sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(of_x, x.grad)
    torch.testing.assert_close(of_weight, weight.grad)
