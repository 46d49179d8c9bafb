"""The KV cache: decode steps are those of transformers with `past_key_values`, also at other positions; its bytes."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import Model
from mha_core.errors import HeadlightError, TooLong, Unsupported
from mha_core.measure.kv_cache import cache_bytes, reuse, row_difference
from mha_core.models.generation import Generation
from mha_core.pretrained.hf_model import HfModel
from tests.closeness import SAME_FUNCTION, same_function

from . import llama
from .tiny_models import Float64Throughout

START = llama.random_ids(9).tolist()
BEHIND = 5  # tokens


@pytest.fixture(params=["our llama", "gpt2", "llama"])
def pair(request: pytest.FixtureRequest, loaded: Any) -> tuple[Model, Any, list[int]]:
    """A model in float64, transformers' own with the same weights, and a prompt."""
    if request.param == "our llama":
        return llama.model(torch.float64), llama.reference(torch.float64), START
    model = loaded(request.param, torch.float64)
    assert isinstance(model, HfModel)
    return model, model.hf_module.module, model.tokenize("the quick brown fox sat on a mat")[1]


def theirs(module: Any, ids: list[int], past: Any = None, first: int = 0) -> Any:
    """What transformers computes for ids at these positions, behind its own cache."""
    places = torch.arange(first, first + len(ids))[None]
    with torch.no_grad(), Float64Throughout():
        return module(
            torch.tensor([ids]), past_key_values=past, position_ids=places, use_cache=True, output_attentions=True
        )


def row(output: Any) -> Tensor:
    """(layers, h, j), the last row of every map."""
    return torch.stack([layer[0, :, -1] for layer in output.attentions])


def test_each_step_is_that_of_transformers_with_its_cache(pair: tuple[Model, Any, list[int]]) -> None:
    model, module, ids = pair
    with Float64Throughout() if isinstance(model, HfModel) else nullcontext():
        generation, plain = (Generation(model, ids, use_cache=use_cache) for use_cache in (True, False))
        found = theirs(module, ids)
        for number in range(BEHIND):
            new, again = generation.step(), plain.step()
            found = theirs(module, [int(found.logits[0, -1].argmax())], found.past_key_values, len(ids) + number)
            same_function(new.weights, row(found))
            same_function(new.logits, found.logits[0, -1])
            assert new.id == again.id
            assert max(row_difference(new, again)) <= SAME_FUNCTION
    assert not plain.caches, "the whole text is computed again"
    kept = found.past_key_values.layers
    for cache, layer in zip(generation.caches, kept, strict=True):
        same_function(cache.k, layer.keys)
        same_function(cache.v, layer.values)
    sizes = [layer.keys.shape for layer in kept]
    own = sum(part.nbytes for layer in kept for part in (layer.keys, layer.values))
    assert own == cache_bytes(len(kept), sizes[0][1], sizes[0][3], len(generation.ids), 8)


def test_reused_keys_keep_their_positions_as_in_transformers(pair: tuple[Model, Any, list[int]]) -> None:
    model, module, ids = pair
    with Float64Throughout() if isinstance(model, HfModel) else nullcontext():
        for shift in (0, 8):
            right, reused = reuse(model, ids, shift)
            past = theirs(module, ids[:-1]).past_key_values
            found = theirs(module, ids[-1:], past, len(ids) - 1 + shift), theirs(module, ids, first=shift)
            for new, output in zip((reused, right), found, strict=True):
                same_function(new.weights, row(output))
                same_function(new.logits, output.logits[0, -1])
            assert (min(row_difference(right, reused)) > 1e-6) == bool(shift)


def test_without_positions_in_the_keys_reuse_is_right() -> None:
    for position in ("none", "alibi", "t5"):
        right, reused = reuse(llama.model(torch.float64), START, 8, position=position)
        assert max(row_difference(right, reused)) <= SAME_FUNCTION, position
    assert row_difference(*reuse(llama.model(torch.float64), START, 8, position="sinusoidal")).weight > 1e-3


def test_a_shift_leaves_the_text_as_it_is() -> None:
    generation = Generation(llama.model(torch.float64), START)
    before = generation.step()
    generation.recompute(3)
    same_function(generation.recompute().logits, before.logits)
    assert len(generation.ids) == len(START) + 1 == generation.caches[0].length


def test_bad_input(loaded: Any) -> None:
    model = llama.model()
    with pytest.raises(HeadlightError, match="needs a token before the last one"):
        reuse(model, START[:1], 0)
    with pytest.raises(TooLong, match="513"):
        reuse(model, START, 512 - len(START) + 1)
    with pytest.raises(HeadlightError, match="whole numbers from 1, not 2, 0, 8, 5, 4"):
        cache_bytes(2, 0, 8, 5, 4)
    bloom = loaded("bloom")
    with pytest.raises(Unsupported, match="cannot be shifted"):
        reuse(bloom, bloom.tokenize("the quick brown fox")[1], 1)
