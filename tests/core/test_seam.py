"""The seam in about thirty families, one of each kind, tiny and random: nothing changes unasked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core.errors import Unsupported
from mha_core.pretrained import seam

from . import tiny_models
from .tiny_models import model_of

WRITERS = [
    "gpt2", "opt", "llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "phi", "gpt_neox", "olmo2", "mixtral",
    "deepseek_v3", "gpt_oss", "cohere", "granite", "stablelm", "starcoder2",
]  # fmt: skip
READERS = ["bert", "roberta", "distilbert", "albert", "electra", "modernbert", "vit", "dinov2"]
ANSWERERS = ["t5", "bart", "marian", "whisper"]
SINKS = {"gpt_oss"}


def run(model: Any, request: seam.Request | None = None, **more: Any) -> Any:
    given = tiny_models.inputs(model, read=24, written=20)
    with torch.no_grad():
        if request is None:
            return model(**given, **more)
        with seam.answering(request):
            return model(**given, **more)


def last(found: Any) -> Tensor:
    result: Tensor = found["logits"] if "logits" in found else found["last_hidden_state"]
    return result


def request_of(model: Any, **asked: Any) -> seam.Request:
    return seam.Request(seam.names_of(model), **asked)


@contextmanager
def without_the_seam() -> Iterator[None]:
    from transformers import AttentionInterface

    found = AttentionInterface._global_mapping.pop("eager")
    assert found is seam.attend
    try:
        yield
    finally:
        seam.register()


def their_maps(found: Any) -> list[Tensor]:
    if "attentions" in found:
        return list(found.attentions)
    cross = [one for pair in zip(found.decoder_attentions, found.cross_attentions, strict=True) for one in pair]
    return [*found.encoder_attentions, *cross]


@pytest.mark.parametrize("model_type", [*WRITERS, *READERS, *ANSWERERS])
def test_nothing_changes_unasked_and_the_maps_are_the_models_own(model_type: str) -> None:
    model = model_of(model_type)
    with without_the_seam():
        plain = run(model, output_attentions=True)
    handed_on = run(model, output_attentions=True)
    request = request_of(model, keep=frozenset(("q", "k", "v", "scores", "mixed")))
    recorded = run(model, request, output_attentions=True)
    assert torch.equal(last(plain), last(handed_on))
    assert torch.equal(last(plain), last(recorded))
    maps = [call.weights for call in request.calls]
    assert len(maps) == len(their_maps(plain))
    assert all(map(torch.equal, maps, their_maps(plain)))
    for call in request.calls:
        sums = call.weights.sum(dim=-1)
        if model_type not in SINKS:
            torch.testing.assert_close(sums, torch.ones_like(sums))
        assert call.path in dict(model.named_modules())
        b, h, i, j = call.weights.shape
        assert call.parts["q"].shape[:3] == (b, h, i)
        assert call.parts["k"].shape[:3] == call.parts["v"].shape[:3] == (b, call.kv_heads, j)
        assert call.parts["mixed"].shape[:3] == (b, i, h)
        assert call.parts["scores"].shape[-1] == j + (model_type in SINKS)
        torch.testing.assert_close(seam.mix(call.weights, call.parts["v"]), call.parts["mixed"])


@pytest.mark.parametrize("model_type", [*WRITERS, *READERS, *ANSWERERS])
def test_heads_off_move_the_output_and_only_those(model_type: str) -> None:
    model = model_of(model_type)
    whole = request_of(model, keep=frozenset(("mixed",)))
    before = last(run(model, whole))
    heads = torch.ones(len(whole.calls), whole.calls[0].weights.shape[1], dtype=torch.bool)
    assert torch.equal(last(run(model, request_of(model, heads=heads))), before)
    heads[0, 1] = False
    off = request_of(model, heads=heads, keep=frozenset(("mixed",)))
    assert not torch.equal(last(run(model, off)), before)
    first, now = whole.calls[0].parts["mixed"], off.calls[0].parts["mixed"]
    assert not now[:, :, 1].any()
    assert torch.equal(now[:, :, 0], first[:, :, 0])
    assert torch.equal(off.calls[0].weights, whole.calls[0].weights)


@pytest.mark.parametrize("model_type", [*WRITERS, *READERS, *ANSWERERS])
def test_a_mask_and_a_temperature_are_those_of_the_softmax(model_type: str) -> None:
    """In the first layer, whose scores stay: weights = softmax(scores / T) over what both masks allow."""
    model = model_of(model_type)
    plain = request_of(model, keep=frozenset(("scores",)))
    run(model, plain)
    call = plain.calls[0]
    i, j = call.weights.shape[-2:]
    allow = torch.arange(j)[None, :] % 3 != 1
    allow = allow.expand(i, j)[None, None]
    changed = request_of(model, allow=allow, temperature=2.0, changed=frozenset((call.path,)))
    run(model, changed)
    scores = call.parts["scores"].double() / 2
    sinks = scores.shape[-1] - j
    allowed = torch.nn.functional.pad(allow, (0, sinks), value=True) & (scores > torch.finfo(torch.float32).min / 4)
    weights = torch.softmax(scores.masked_fill(~allowed, -torch.inf), dim=-1).nan_to_num(0)[..., :j]
    found = next(one for one in changed.calls if one.path == call.path).weights
    torch.testing.assert_close(found, weights.float())
    assert not found.masked_select(~allow.expand_as(found)).any()


def test_a_row_without_any_key_has_weights_of_0() -> None:
    model = model_of("gpt2")
    allow = torch.ones(24, 24, dtype=torch.bool)
    allow[:, :4] = False
    request = request_of(model, allow=allow[None, None])
    found = last(run(model, request))
    assert not request.calls[0].weights[:, :, :4].any()
    sums = request.calls[0].weights[:, :, 4:].sum(dim=-1)
    torch.testing.assert_close(sums, torch.ones_like(sums))
    assert found.isfinite().all()


def test_values_that_are_not_mixed_in() -> None:
    model = model_of("llama")
    values = torch.ones(1, 1, 24, 24, dtype=torch.bool)
    values[..., 3] = False
    plain, off = request_of(model, keep=frozenset(("v",))), request_of(model, values=values, keep=frozenset(("mixed",)))
    run(model, plain)
    run(model, off)
    call = plain.calls[0]
    assert torch.equal(off.calls[0].weights, call.weights)
    assert torch.equal(off.calls[0].parts["mixed"], seam.mix(call.weights * values, call.parts["v"]))


def test_a_module_that_is_called_twice_is_two_layers() -> None:
    request = request_of(model_of("albert"))
    run(model_of("albert"), request)
    assert len(request.calls) == 2
    assert len({call.path for call in request.calls}) == 1
    heads = torch.ones(2, 4, dtype=torch.bool)
    heads[1] = False
    off = request_of(model_of("albert"), heads=heads, keep=frozenset(("mixed",)))
    run(model_of("albert"), off)
    assert off.calls[0].parts["mixed"].any()
    assert not off.calls[1].parts["mixed"].any()


def test_a_request_is_of_its_thread_alone() -> None:
    model = model_of("bert")
    request = request_of(model)
    with seam.answering(request):
        other = threading.Thread(target=lambda: run(model))
        other.start()
        other.join()
    assert not request.calls


@pytest.mark.parametrize("model_type", ["bloom", "gptj", "deberta-v2"])
def test_what_does_not_pass_the_seam_is_not_recorded(model_type: str) -> None:
    request = request_of(model_of(model_type))
    found = run(model_of(model_type), request, output_attentions=True)
    assert not request.calls
    assert len(their_maps(found)) == 2


def test_a_class_that_names_no_function() -> None:
    with pytest.raises(Unsupported, match="Linear names no eager function of its own"):
        seam.own_function(torch.nn.Linear)
