"""A text's way through a model layer by layer: the numbers of a whole run, bit by bit, and one layer's maps again."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from mha_core import Model
from mha_core.errors import SizeError, Unsupported
from mha_core.models.layer_pass import LayerPass

from . import llama

SWITCHES: list[dict[str, Any]] = [
    {},
    {"mask": "window:3", "temperature": 0.7, "values_off": (1,)},
    {"heads_off": ((0, 1), (1, 0)), "position": "none"},
]


@pytest.mark.parametrize("switches", SWITCHES)
@pytest.mark.parametrize("kind", ["decoder", "encoder"])
@pytest.mark.parametrize("every", [1, 2])
def test_it_gives_the_numbers_of_a_run_bit_by_bit(kind: str, every: int, tiny: Model, switches: dict[str, Any]) -> None:
    model = tiny if kind == "encoder" else llama.model()
    text = "the cat sat on the mat" if kind == "encoder" else llama.text_of(llama.random_ids(20))
    run, one = model.run(text, **switches), LayerPass(model, text, every=every, **switches)
    with pytest.raises(SizeError, match="layer 0: 0 of"):
        one.maps(0)
    for layer, whole in enumerate(run.weights):
        assert one.done == layer
        assert torch.equal(one.advance(), whole)
    assert (one.tokens, one.ids) == (run.tokens, run.ids)
    n_layers = model.sizes.n_layers
    assert list(one.hidden) == sorted({*range(0, n_layers, every), n_layers})
    for layer, state in one.hidden.items():
        assert torch.equal(state, run.hidden[layer])
    for layer, whole in enumerate(run.weights):
        assert torch.equal(one.maps(layer), whole), "again"
    logits = one.logits()
    assert (logits is None) == (run.logits is None)
    if logits is not None and run.logits is not None:
        assert torch.equal(logits, run.logits)
    with pytest.raises(SizeError):
        one.advance()


def test_a_model_of_another_make_does_not_go_by_layer(tiny: Model) -> None:
    class Other:
        name, groups = "other", ("decoder",)

    with pytest.raises(Unsupported, match="use run"):
        LayerPass(Other(), "a")  # type: ignore[arg-type]
