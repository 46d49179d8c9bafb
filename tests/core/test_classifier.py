"""The classifier against the same thing written out, and the effect of padding and order on it."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from mha_core import IMPLEMENTATIONS, masks
from mha_core.errors import HeadlightError
from mha_core.models import inputs
from mha_core.models.classifier import Classifier, ClassifierSizes
from mha_core.positions import NAMES
from mha_core.training.initial_weights import draw

from .dense_models import dense_block
from .runs import randomised

SIZES = ClassifierSizes(vocabulary=30, d_model=16, n_heads=4, n_layers=2, max_len=12, classes=3)
TEXTS = [[2, 7, 9, 3], [2, 5, 9, 4, 11, 6, 28, 3], [2, 3]]


def classifier(*, seed: int = 1, **changes: Any) -> Classifier:
    made = Classifier(replace(SIZES, **changes))
    draw(made, seed)
    return made


def padded(texts: list[list[int]]) -> tuple[Tensor, Tensor]:
    """ids (b, i) and keep (b, i) of texts of several lengths."""
    longest = max(map(len, texts))
    ids = torch.tensor([text + [0] * (longest - len(text)) for text in texts])
    keep = torch.arange(longest) < torch.tensor([[len(text)] for text in texts])
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(inputs.padded(texts, 0), (ids, keep), strict=True))
    return ids, keep


def dense_logits(made: Classifier, text: list[int]) -> Tensor:
    """One text, alone and never padded: (classes,)."""
    x = made.position.add(made.words.weight[torch.tensor([text])])
    for block in made.layers:
        x = dense_block(block, x, None, made.position)
    pooled = x[0, 0] if made.sizes.pooling == "[CLS]" else x[0].mean(dim=0)
    inner = (made.connected.weight @ pooled + made.connected.bias).clamp(min=0)
    return made.out.weight @ inner + made.out.bias


@pytest.mark.parametrize(
    ("d_feed_forward", "residual", "norm", "pooling"),
    [
        (0, False, False, "[CLS]"),
        (20, True, True, "mean"),
        (20, False, True, "[CLS]"),
        (0, True, False, "mean"),
        (20, True, False, "[CLS]"),
        (0, False, True, "mean"),
    ],
)
def test_against_the_same_written_out(d_feed_forward: int, residual: bool, norm: bool, pooling: str) -> None:
    """All texts in one padded batch, against each of them alone."""
    made = classifier(d_feed_forward=d_feed_forward, residual=residual, norm=norm, pooling=pooling, position="rotary")
    made = made.double()
    randomised(made)
    expected = torch.stack([dense_logits(made, text) for text in TEXTS])
    torch.testing.assert_close(made.logits(*padded(TEXTS)), expected, rtol=1e-10, atol=1e-10)


def test_what_does_not_pool() -> None:
    with pytest.raises(HeadlightError, match=r"pooling='max': choose \[CLS\] or mean"):
        classifier(pooling="max")


@pytest.mark.parametrize(("name", "pooling"), list(zip(IMPLEMENTATIONS, ["[CLS]", "mean"] * 4, strict=False)))
def test_a_row_does_not_see_what_stands_beside_it(name: str, pooling: str) -> None:
    made = classifier(implementation=name, pooling=pooling)
    alone = made.logits(*padded(TEXTS[:1]))[0]
    for others in ([[2, 3]], [[2, *range(4, 13), 3]], [[2, 8, 3]] * 5):
        ids, keep = padded([TEXTS[0], *others])
        assert (made.logits(ids, keep)[0] - alone).abs().max() <= 1e-6
    bug = made.logits(*padded([TEXTS[0], [2, *range(4, 13), 3]]), mask_padding=False)[0]
    assert (bug - alone).abs().max() > 1e-3
    unmasked = made.logits(*padded(TEXTS[:1]), mask_padding=False)[0]
    assert (unmasked - alone).abs().max() <= 1e-6  # alone there is no padding to look at


@pytest.mark.parametrize(("pooling", "position"), list(zip(["mean", "[CLS]"] * 4, NAMES, strict=False)))
def test_the_number_in_the_padding_changes_nothing(pooling: str, position: str) -> None:
    made = classifier(pooling=pooling, position=position)
    ids, keep = padded(TEXTS)
    expected = made.logits(ids, keep)
    assert (made.logits(torch.where(keep, ids, 17), keep) - expected).abs().max() <= 1e-6


@pytest.mark.parametrize(("pooling", "mask_padding"), [("[CLS]", False), ("mean", True)])
def test_the_padding_row_learns_nothing(pooling: str, mask_padding: bool) -> None:
    made = classifier(pooling=pooling)
    ids, keep = padded(TEXTS)
    loss = F.cross_entropy(made.logits(ids, keep, mask_padding=mask_padding), torch.tensor([0, 1, 2]))
    torch.autograd.backward(loss)
    gradient = made.words.weight.grad
    assert gradient is not None
    assert not gradient[0].any()
    used = sorted({token for text in TEXTS for token in text})
    assert gradient[used].abs().sum(dim=1).min() > 0
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in made.parameters())


def test_the_mean_counts_real_tokens_alone() -> None:
    made = classifier(pooling="mean").double()
    ids, keep = padded(TEXTS)
    x = torch.randn(*ids.shape, 16, dtype=torch.float64)
    rows = [made.answer(x[[row], : len(text)], keep[[row], : len(text)]) for row, text in enumerate(TEXTS)]
    torch.testing.assert_close(made.answer(x, keep), torch.cat(rows))


def test_order_is_seen_only_with_positions() -> None:
    """[CLS] and [SEP] stay where they are, the words between them change places."""
    for name in NAMES:
        made = classifier(position=name, amplitude=1.0)
        one, other = (made.logits(*padded([text]))[0] for text in ([2, 7, 9, 4, 3], [2, 4, 7, 9, 3]))
        if name == "none":
            assert (one - other).abs().max() <= 1e-5
        else:
            assert (one - other).abs().max() > 1e-4, name


def test_a_whole_row_of_padding_gives_numbers() -> None:
    made = classifier()
    ids = torch.tensor([[2, 7, 3], [0, 0, 0]])
    assert made.logits(ids, ids > 0).isfinite().all()


def test_the_maps_are_those_of_the_answer() -> None:
    made = classifier(position="sinusoidal")
    ids, keep = padded(TEXTS)
    allow = masks.allow(masks.full, ids.shape[1], ids.shape[1], keep)
    hidden, weights = made(ids, allow=allow)
    torch.testing.assert_close(made.answer(hidden[-1], keep), made.logits(ids, keep))
    assert not any(maps[~keep[:, None, None, :].expand_as(maps)].any() for maps in weights)


def test_the_long_posts_sizes() -> None:
    """vocabulary 1,000, width 64, 8 heads, five classes."""
    made = Classifier(ClassifierSizes(vocabulary=1000, d_model=64, n_heads=8, n_layers=1, max_len=512, classes=5))
    assert sum(parameter.numel() for parameter in made.parameters()) == 89_605
    for name in IMPLEMENTATIONS:
        same = Classifier(replace(made.sizes, implementation=name, position="sinusoidal"))
        assert sum(parameter.numel() for parameter in same.parameters()) == 89_605
