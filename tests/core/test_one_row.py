"""The last layer of a classifier computes the row of "[CLS]" alone: the same function as with all rows."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from mha_core import IMPLEMENTATIONS
from mha_core.models.classifier import Classifier, ClassifierSizes
from mha_core.positions import NAMES, acts

from .runs import randomised

pytestmark = pytest.mark.numeric

SIZES = ClassifierSizes(vocabulary=30, d_model=16, n_heads=4, n_layers=2, max_len=12, classes=3)
IDS = torch.tensor([[2, 7, 9, 3, 0, 0, 0], [2, 5, 9, 4, 11, 6, 3], [2, 3, 0, 0, 0, 0, 0]])
EVERYTHING: dict[str, Any] = {"d_feed_forward": 20, "residual": True, "norm": True}
CASES = [
    (name, position, more)
    for name in IMPLEMENTATIONS
    for position, more in (("none", {}), ("sinusoidal", EVERYTHING), ("rotary", {}), ("shaw", {"norm": True}))
    if acts(position) - {"add"} <= IMPLEMENTATIONS[name].can
]


def pair(dtype: torch.dtype = torch.float64, **changes: Any) -> tuple[Classifier, Classifier]:
    """Two classifiers with the same weights, the second one with all rows."""
    one, whole = (Classifier(replace(SIZES, all_rows=rows, **changes)).to(dtype) for rows in (False, True))
    randomised(one)
    whole.load_state_dict(one.state_dict())
    return one, whole


def learnt(made: Classifier, *, mask_padding: bool) -> tuple[Tensor, list[Tensor]]:
    """The logits (b, classes), and the gradient of every parameter."""
    logits = made.logits(IDS, IDS > 0, mask_padding=mask_padding)
    torch.autograd.backward(F.cross_entropy(logits, torch.tensor([0, 1, 2])))
    gradients = [parameter.grad for parameter in made.parameters()]
    return logits, [gradient for gradient in gradients if gradient is not None]


@pytest.mark.parametrize(("name", "position", "more"), CASES, ids=[f"{n}-{p}" for n, p, _ in CASES])
@pytest.mark.parametrize("mask_padding", [True, False])
def test_logits_and_gradients_are_those_of_all_rows(
    name: str, position: str, more: dict[str, Any], mask_padding: bool
) -> None:
    models = pair(implementation=name, position=position, **more)
    (logits, gradients), (of_all, theirs) = (learnt(made, mask_padding=mask_padding) for made in models)
    torch.testing.assert_close(logits, of_all, rtol=1e-10, atol=1e-12)
    assert len(gradients) == len(theirs) == len(list(models[0].parameters()))
    for mine, other in zip(gradients, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_in_float32_too(name: str) -> None:
    models = pair(torch.float32, implementation=name, n_layers=1)
    (logits, gradients), (of_all, theirs) = (learnt(made, mask_padding=True) for made in models)
    assert (logits - of_all).abs().max() <= 1e-6
    assert max(float((a - b).abs().max()) for a, b in zip(gradients, theirs, strict=True)) <= 1e-6


@pytest.mark.parametrize(
    ("changes", "rows"),
    [({}, (7, 1)), ({"all_rows": True}, (7, 7)), ({"pooling": "mean"}, (7, 7)), ({"n_layers": 1}, (1,))],
    ids=["one row", "all rows", "mean", "one layer"],
)
def test_how_many_rows_each_layer_computes(changes: dict[str, Any], rows: tuple[int, ...]) -> None:
    made, seen = Classifier(replace(SIZES, **changes)), list[int]()
    for layer in range(len(rows)):
        made.block(layer).attention.register_forward_hook(lambda module, given, out: seen.append(out[0].shape[1]))
    with torch.no_grad():
        logits = made.logits(IDS, IDS > 0)
    assert tuple(seen) == rows
    assert logits.shape == (3, 3)


@pytest.mark.parametrize("position", NAMES)
def test_maps_still_have_every_row(position: str) -> None:
    one, _ = pair(position=position)
    hidden, weights = one(IDS)
    assert [maps.shape for maps in weights] == [(3, 4, 7, 7)] * 2
    last = one.without_maps(IDS, None, 1)
    torch.testing.assert_close(last, hidden[-1][:, :1], rtol=1e-10, atol=1e-12)
