"""The seam in families of every kind, tiny and random: nothing changes unless it is asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core.errors import Unsupported
from mha_core.measure import rounding
from mha_core.pretrained import attention_hook
from tests.closeness import identical, within_rounding

from . import tiny_models
from .tiny_models import model_of

pytestmark = pytest.mark.numeric

EVERY_KIND = ["gpt2", "gemma2", "gpt_oss", "deepseek_v3", "bert", "albert", "vit", "t5", "whisper"]
SINKS = {"gpt_oss"}


def run(model: Any, request: attention_hook.Request | None = None, **more: Any) -> Any:
    given = tiny_models.inputs(model, read=24, written=20)
    with torch.no_grad():
        if request is None:
            return model(**given, **more)
        with attention_hook.apply_request(request):
            return model(**given, **more)


def last(found: Any) -> Tensor:
    result: Tensor = found["logits"] if "logits" in found else found["last_hidden_state"]
    return result


def request_of(model: Any, **changes: Any) -> attention_hook.Request:
    return attention_hook.Request(attention_hook.module_names(model), **changes)


@contextmanager
def without_the_seam() -> Iterator[None]:
    from transformers import AttentionInterface

    found = AttentionInterface._global_mapping.pop("eager")
    assert found is attention_hook.attend
    try:
        yield
    finally:
        attention_hook.register()


def their_maps(found: Any) -> list[Tensor]:
    if "attentions" in found:
        return list(found.attentions)
    cross = [one for pair in zip(found.decoder_attentions, found.cross_attentions, strict=True) for one in pair]
    return [*found.encoder_attentions, *cross]


def check_sums(weights: Tensor) -> None:
    sums = weights.sum(dim=-1)
    within_rounding(sums, torch.ones_like(sums), rounding.sum_bound(weights.shape[-1], weights.shape[-1]))


def check_mixed(call: attention_hook.Call) -> None:
    """The mixed values are the weights times the values."""
    terms = attention_hook.mix(call.weights.double(), call.parts["v"].double())
    sizes = attention_hook.mix(call.weights.double(), call.parts["v"].double().abs())
    bound = rounding.sum_bound(call.weights.shape[-1]) * float(sizes.norm() / terms.norm())
    within_rounding(call.parts["mixed"], terms, bound)


@pytest.mark.parametrize("model_type", EVERY_KIND)
def test_a_family_is_recorded_as_it_is_and_changed_as_requested(model_type: str) -> None:
    model = model_of(model_type)
    with without_the_seam():
        plain = run(model, output_attentions=True)
    identical(last(run(model)), last(plain))

    # recorded: nothing changes, and the maps are the model's own
    whole = request_of(model, record=frozenset(("q", "k", "v", "scores", "mixed")))
    identical(last(run(model, whole, output_attentions=True)), last(plain))
    for call, theirs in zip(whole.calls, their_maps(plain), strict=True):
        identical(call.weights, theirs)
        if model_type not in SINKS:
            check_sums(call.weights)
        assert call.path in dict(model.named_modules())
        b, h, i, j = call.weights.shape
        assert call.parts["q"].shape[:3] == (b, h, i)
        assert call.parts["k"].shape[:3] == call.parts["v"].shape[:3] == (b, call.kv_heads, j)
        assert call.parts["mixed"].shape[:3] == (b, i, h)
        assert call.parts["scores"].shape[-1] == j + (model_type in SINKS)
        check_mixed(call)

    # a head off: its own mixed values are 0, those of the others and all weights stay
    first = whole.calls[0]
    heads = torch.ones(len(whole.calls), first.weights.shape[1], dtype=torch.bool)
    identical(last(run(model, request_of(model, head_mask=heads))), last(plain))
    heads[0, 1] = False
    off = request_of(model, head_mask=heads, record=frozenset(("mixed",)))
    assert not torch.equal(last(run(model, off)), last(plain))
    now = off.calls[0].parts["mixed"]
    assert not now[:, :, 1].any()
    identical(now[:, :, 0], first.parts["mixed"][:, :, 0])
    identical(off.calls[0].weights, first.weights)

    # a mask and a temperature, in the first layer, whose scores stay: softmax(scores / T) over what both masks allow
    i, j = first.weights.shape[-2:]
    allow = (torch.arange(j)[None, :] % 3 != 1).expand(i, j)[None, None]
    changed = request_of(model, allow=allow, temperature=2.0, changed_modules=frozenset((first.path,)))
    run(model, changed)
    scores = first.parts["scores"].double() / 2
    sinks = scores.shape[-1] - j
    allowed = torch.nn.functional.pad(allow, (0, sinks), value=True) & (scores > torch.finfo(torch.float32).min / 4)
    weights = torch.softmax(scores.masked_fill(~allowed, -torch.inf), dim=-1).nan_to_num(0)[..., :j]
    found = next(one for one in changed.calls if one.path == first.path).weights
    within_rounding(found, weights, rounding.sum_bound(j, j))
    assert not found.masked_select(~allow.expand_as(found)).any()


def test_a_row_without_any_key_has_weights_of_0() -> None:
    model = model_of("gpt2")
    allow = torch.ones(24, 24, dtype=torch.bool)
    allow[:, :4] = False
    request = request_of(model, allow=allow[None, None])
    found = last(run(model, request))
    assert not request.calls[0].weights[:, :, :4].any()
    check_sums(request.calls[0].weights[:, :, 4:])
    assert found.isfinite().all()


def test_a_request_is_of_its_thread_alone() -> None:
    model = model_of("bert")
    request = request_of(model)
    with attention_hook.apply_request(request):
        other = threading.Thread(target=lambda: run(model))
        other.start()
        other.join()
    assert not request.calls


def test_attention_outside_the_hook_is_not_recorded() -> None:
    for model_type in ("bloom", "gptj", "deberta-v2"):
        request = request_of(model_of(model_type))
        found = run(model_of(model_type), request, output_attentions=True)
        assert not request.calls, model_type
        assert len(their_maps(found)) == 2, model_type
    with pytest.raises(Unsupported, match="Linear names no eager function of its own"):
        attention_hook.eager_function(torch.nn.Linear)
