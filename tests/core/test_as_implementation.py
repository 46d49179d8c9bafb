"""Layers and models in another implementation, with the same weights."""

from __future__ import annotations

import pytest
import torch

from mha_core import IMPLEMENTATIONS, Model
from mha_core.attention import as_implementation
from mha_core.errors import Unsupported
from mha_core.measure.measures import largest_difference

BIASES = [(True, True), (True, False), (False, True), (False, False)]
DTYPES = [torch.float32, torch.float64, torch.bfloat16]


@pytest.mark.parametrize(
    ("name", "bias", "dtype"),
    [(name, BIASES[n % 4], DTYPES[n % 3]) for n, name in enumerate([*IMPLEMENTATIONS, *IMPLEMENTATIONS])],
    ids=str,
)
def test_a_respelled_layer_keeps_weights_dtype_device_and_biases(
    name: str, bias: tuple[bool, bool], dtype: torch.dtype
) -> None:
    layer = IMPLEMENTATIONS["fused"](12, 3, bias=bias[0], out_bias=bias[1]).to(dtype)
    state = torch.get_rng_state()
    twin = as_implementation(layer, name)
    assert torch.equal(torch.get_rng_state(), state), "it draws no random numbers"
    assert type(twin) is IMPLEMENTATIONS[name]
    assert (twin.d_model, twin.n_heads, twin.bias, twin.out_bias) == (12, 3, *bias)
    own = next(layer.parameters())
    assert {(parameter.dtype, parameter.device) for parameter in twin.parameters()} == {(dtype, own.device)}
    assert not twin.training
    assert not any(parameter.requires_grad for parameter in twin.parameters())
    for (part, copied), (_, weight) in zip(twin.save().items(), layer.save().items(), strict=True):
        assert (copied is None) == (weight is None), part
        if copied is not None and weight is not None:
            assert torch.equal(copied, weight), part
    with torch.no_grad():
        own.zero_()
    assert any(weight is not None and weight.abs().sum() > 0 for _, weight in twin.save().items()), "a copy"


def test_a_respelled_model_is_the_same_model(minilm: Model) -> None:
    assert minilm.as_implementation("fused") is minilm
    twin = minilm.as_implementation("efficient")
    assert (twin.sizes.implementation, minilm.sizes.implementation) == ("efficient", "fused")
    assert (twin.name, twin.origin, twin.folder, twin.facts) == (
        minilm.name, minilm.origin, minilm.folder, minilm.facts,
    )  # fmt: skip
    ours, theirs = (model.run("how are you", heads_off=[(0, 2)]) for model in (twin, minilm))
    assert largest_difference(ours.hidden, theirs.hidden) <= 1e-5
    assert not any(parameter.requires_grad for parameter in twin.encoder.parameters())
    with pytest.raises(Unsupported, match="'flash' is not known"):
        minilm.as_implementation("flash")
