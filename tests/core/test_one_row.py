"""The last layer of a classifier computes the row of "[CLS]" alone: the same function as with all rows."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from mha_core import IMPLEMENTATIONS
from mha_core.models.classifier import Classifier, ClassifierSizes
from mha_core.positions import mechanisms
from tests.closeness import same_function

from .runs import randomised

pytestmark = pytest.mark.numeric

SIZES = ClassifierSizes(vocabulary=30, d_model=16, n_heads=4, n_layers=2, max_len=12, classes=3)
IDS = torch.tensor([[2, 7, 9, 3, 0, 0, 0], [2, 5, 9, 4, 11, 6, 3], [2, 3, 0, 0, 0, 0, 0]])
EVERYTHING: dict[str, Any] = {"d_feed_forward": 20, "residual": True, "norm": True}
POSITIONS: dict[str, dict[str, Any]] = {"none": {}, "sinusoidal": EVERYTHING, "rotary": {}, "shaw": {"norm": True}}


def pair(**changes: Any) -> tuple[Classifier, Classifier]:
    """Two classifiers with the same weights, the second one with all rows."""
    one, whole = (Classifier(replace(SIZES, all_rows=rows, **changes)).double() for rows in (False, True))
    randomised(one)
    whole.load_state_dict(one.state_dict())
    return one, whole


def learnt(made: Classifier, *, mask_padding: bool) -> tuple[Tensor, list[Tensor]]:
    """The logits (b, classes), and the gradient of every parameter."""
    logits = made.logits(IDS, IDS > 0, mask_padding=mask_padding)
    torch.autograd.backward(F.cross_entropy(logits, torch.tensor([0, 1, 2])))
    gradients = [parameter.grad for parameter in made.parameters()]
    return logits, [gradient for gradient in gradients if gradient is not None]


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_logits_and_gradients_are_those_of_all_rows(name: str) -> None:
    for number, (position, more) in enumerate(POSITIONS.items()):
        if not mechanisms(position) - {"add"} <= IMPLEMENTATIONS[name].can:
            continue
        models = pair(implementation=name, position=position, **more)
        for mask_padding in (True, False) if number < 2 else (number % 2 == 0,):
            for made in models:
                made.zero_grad()
            (logits, gradients), (of_all, theirs) = (learnt(made, mask_padding=mask_padding) for made in models)
            same_function(logits, of_all)
            assert len(gradients) == len(theirs) == len(list(models[0].parameters()))
            same_function(*(torch.cat([one.flatten() for one in every]) for every in (gradients, theirs)))


@pytest.mark.parametrize(
    ("changes", "rows"),
    [({}, (7, 1)), ({"all_rows": True}, (7, 7)), ({"pooling": "mean"}, (7, 7)), ({"n_layers": 1}, (1,))],
    ids=["one row", "all rows", "mean", "one layer"],
)
def test_each_layer_computes_the_needed_rows(changes: dict[str, Any], rows: tuple[int, ...]) -> None:
    made, seen = Classifier(replace(SIZES, **changes)), list[int]()
    for layer in range(len(rows)):
        made.block(layer).attention.register_forward_hook(lambda module, given, out: seen.append(out[0].shape[1]))
    with torch.no_grad():
        logits = made.logits(IDS, IDS > 0)
    assert tuple(seen) == rows
    assert logits.shape == (3, 3)
