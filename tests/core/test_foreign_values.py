"""What the tokens of a foreign model hand over, held against what its own attention adds."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import Model
from mha_core.errors import Unsupported
from mha_core.measure import rounding
from mha_core.measure.value_norms import handed_lengths, handed_over
from mha_core.pretrained.foreign import ForeignModel
from tests.closeness import within_rounding

pytestmark = pytest.mark.numeric

TEXT = "the quick brown fox sat on a mat"
OUTPUTS = {  # of the second layer, as each file names them; albert has one for all
    "bert": "bert.encoder.layer.1.attention.output.dense",
    "gpt2": "transformer.h.1.attn.c_proj",
    "llama": "model.layers.1.self_attn.o_proj",
    "gpt_oss": "model.layers.1.self_attn.o_proj",
    "albert": "albert.encoder.albert_layer_groups.0.albert_layers.0.attention.dense",
    "t5": "encoder.block.1.layer.0.SelfAttention.o",
}


def added(model: Model, name: str, **switches: Any) -> tuple[Any, Tensor]:
    """A run, and what the module of that name gave in its last call, without its bias: (i, c)."""
    assert isinstance(model, ForeignModel)
    module, given = model.wrapped.module.get_submodule(name), []
    hook = module.register_forward_hook(lambda own, args, output: given.append(output[0].detach()))
    try:
        run = model.run(TEXT, **switches)
    finally:
        hook.remove()
    bias = module.bias
    return run, given[-1] if bias is None else given[-1] - bias.detach()


def check_sums(weights: Tensor, values: Tensor, sums: Tensor) -> None:
    """Weights (h, i, j) times f(x) (h, j, c), over all heads, are what the attention adds (i, c), but for rounding."""
    h, n, c = values.shape
    expected, sizes = (torch.einsum("hij,hjc->ic", weights.double(), x.double()) for x in (values, values.abs()))
    within_rounding(sums, expected, rounding.of_sums(c, n, c, h * n) * float(sizes.norm() / expected.norm()))


def test_weights_times_what_is_handed_over_is_what_the_attention_adds(loaded: Any) -> None:
    for model_type, name in OUTPUTS.items():
        model = loaded(model_type)
        run, sums = added(model, name)
        values = handed_over(model, run, 1)
        h, n, c = model.sizes.n_heads, len(run.tokens), model.sizes.d_model
        assert values.shape == (h, n, c)
        check_sums(run.weights[1], values, sums)
        lengths = handed_lengths(model, run)
        assert lengths.shape == (model.sizes.n_layers, h, n)
        within_rounding(lengths[1], values.double().square().sum(dim=-1).sqrt(), rounding.of_sums(c, 1))


def test_a_head_that_is_off_hands_nothing_over(loaded: Any) -> None:
    model = loaded("llama")
    run, sums = added(model, OUTPUTS["llama"], heads_off=[(1, 0)])
    check_sums(run.weights[1, 1:], handed_over(model, run, 1)[1:], sums)


def test_of_two_texts_and_of_another_text(loaded: Any) -> None:
    model = loaded("t5").of("cross")
    assert isinstance(model, ForeignModel)
    run = model.run(TEXT, target="a cat")
    assert handed_lengths(model, run).shape == run.weights.shape[:2] + run.weights.shape[3:], "one for each column"
    short, long = loaded("bert").run_batch(["a cat", TEXT])
    assert (short.values[0].shape[1], long.values[0].shape[1]) == (2, 8), "padding is cut off"


def test_where_it_is_not_known(loaded: Any) -> None:
    model = loaded("falcon")
    assert "outside the place" in model.reasons["lengths"]
    with pytest.raises(Unsupported, match="only its maps are known"):
        handed_over(model, model.run(TEXT), 0)
