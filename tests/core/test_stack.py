"""The classifier and the language model, made of blocks of attention; the random start of their parameters."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from mha_core import IMPLEMENTATIONS, masks
from mha_core.errors import HeadlightError, PositionError, Unsupported
from mha_core.models import inputs
from mha_core.models.block import BlockSizes
from mha_core.models.classifier import Classifier, ClassifierSizes
from mha_core.models.encoder import Encoder, EncoderSizes
from mha_core.models.language_model import LanguageModel
from mha_core.models.own_model import OwnModel
from mha_core.positions import NAMES
from mha_core.training import tasks, tokens
from mha_core.training.initial_weights import init_weights
from tests.closeness import identical, same_function

from .dense import flat
from .dense_models import dense_block, layer_norm
from .runs import case, differ, randomised

COMMON: dict[str, Any] = {"vocabulary": 33, "d_model": 16, "n_heads": 4, "n_layers": 2, "max_len": 12}
BARE = ClassifierSizes(**COMMON, classes=3)
CLASSIFIER = replace(BARE, d_feed_forward=24, residual=True, norm=True)
LANGUAGE = BlockSizes(**COMMON, residual=True, norm=True)
ENCODER = EncoderSizes(**COMMON, d_feed_forward=24)
STACKS: dict[str, tuple[Any, Any]] = {
    "classifier": (Classifier, CLASSIFIER),
    "language model": (LanguageModel, LANGUAGE),
}
IDS = torch.tensor([[2, 7, 7, 4, 3, 1], [2, 5, 9, 4, 3, 32]])
TEXTS = [[2, 7, 9, 3], [2, 5, 9, 4, 11, 6, 28, 3], [2, 3]]
TEXT = "apple ball bird apple ball"


def made(kind: str, seed: int = 1, dtype: torch.dtype = torch.float64, **changes: Any) -> Any:
    build, sizes = STACKS[kind]
    stack = build(replace(sizes, **changes))
    init_weights(stack, seed)
    return stack.to(dtype)


def bare(**changes: Any) -> Classifier:
    """A classifier whose blocks are attention alone."""
    stack = Classifier(replace(BARE, **changes))
    init_weights(stack, 1)
    return stack.double()


def padded(texts: list[list[int]]) -> tuple[Tensor, Tensor]:
    """ids (b, i) and keep (b, i) of texts of several lengths."""
    longest = max(map(len, texts))
    ids = torch.tensor([text + [0] * (longest - len(text)) for text in texts])
    keep = torch.arange(longest) < torch.tensor([[len(text)] for text in texts])
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(inputs.padded(texts, 0), (ids, keep), strict=True))
    return ids, keep


def test_the_classifier_is_that_written_out() -> None:
    """All texts in one padded batch, against each of them alone."""

    def dense_logits(stack: Classifier, text: list[int]) -> Tensor:
        x = stack.position.add(stack.words.weight[torch.tensor([text])])
        for block in stack.layers:
            x = dense_block(block, x, None, stack.position)
        pooled = x[0, 0] if stack.sizes.pooling == "[CLS]" else x[0].mean(dim=0)
        inner = (stack.connected.weight @ pooled + stack.connected.bias).clamp(min=0)
        return stack.out.weight @ inner + stack.out.bias

    for d_feed_forward, residual, norm, pooling in (
        (0, False, False, "[CLS]"), (20, True, True, "mean"), (20, False, True, "[CLS]"), (0, True, False, "mean"),
    ):  # fmt: skip
        changes: dict[str, Any] = {"d_feed_forward": d_feed_forward, "residual": residual, "norm": norm}
        stack = bare(**changes, pooling=pooling, position="rotary")
        randomised(stack)
        with case((changes, pooling)):
            expected = torch.stack([dense_logits(stack, text) for text in TEXTS])
            same_function(stack.logits(*padded(TEXTS)), expected)
    with pytest.raises(HeadlightError, match=r"pooling='max': choose \[CLS\] or mean"):
        bare(pooling="max")


def test_the_language_model_is_that_written_out() -> None:
    for n_layers, d_feed_forward, position in ((1, 0, "none"), (4, 20, "learned"), (1, 20, "rotary"), (4, 0, "alibi")):
        stack = made("language model", n_layers=n_layers, d_feed_forward=d_feed_forward, position=position)
        randomised(stack)
        x = stack.position.add(stack.words.weight[IDS])
        for block in stack.layers:
            x = dense_block(block, x, torch.ones(1, 1, 6, 6).tril().bool(), stack.position)
        with case((n_layers, d_feed_forward, position)):
            same_function(stack.logits(IDS), layer_norm(x, stack.norm) @ stack.out.weight.T + stack.out.bias)


def test_the_pass_without_maps_equals_the_one_with_maps() -> None:
    allow = masks.allow(masks.causal, 6, 6)
    kinds = zip(["classifier", "language model"] * 4, NAMES, strict=False)
    for kind, position in (*kinds, *(("encoder", position) for position in NAMES)):
        if kind == "encoder":
            stack: Any = Encoder(replace(ENCODER, position=position)).double()
            randomised(stack)
        else:
            stack = made(kind, position=position)
        with case((kind, position)):
            hidden, weights = stack(IDS, allow=allow)
            assert (len(hidden), len(weights)) == (3, 2)
            same_function(stack.without_maps(IDS, allow), hidden[-1])
            for number in range(2):
                expected = dense_block(stack.layers[number], hidden[number], allow, stack.position)
                same_function(hidden[number + 1], expected)


def test_padding_changes_nothing_unless_it_is_unmasked() -> None:
    """Neither how much of it stands beside a row, nor the number that stands in it; alone there is none to look at."""
    ids, keep = padded(TEXTS)
    for name, pooling in zip(IMPLEMENTATIONS, ["[CLS]", "mean"] * 4, strict=False):
        stack = bare(implementation=name, pooling=pooling)
        alone = stack.logits(*padded(TEXTS[:1]))
        with case((name, pooling)):
            same_function(stack.logits(ids, keep)[:1], alone)
            differ(stack.logits(ids, keep, mask_padding=False)[:1], alone)
            same_function(stack.logits(torch.where(keep, ids, 17), keep), stack.logits(ids, keep))


def test_the_padding_row_learns_nothing_and_every_parameter_has_a_gradient() -> None:
    for pooling, mask_padding in (("[CLS]", False), ("mean", True)):
        stack, (ids, keep) = bare(pooling=pooling), padded(TEXTS)
        loss = F.cross_entropy(stack.logits(ids, keep, mask_padding=mask_padding), torch.tensor([0, 1, 2]))
        torch.autograd.backward(loss)
        gradient = stack.words.weight.grad
        assert gradient is not None
        assert not gradient[0].any(), pooling
        used = sorted({token for text in TEXTS for token in text})
        assert gradient[used].abs().sum(dim=1).min() > 0, pooling
        assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in stack.parameters())


def test_a_language_model_looks_back_alone_whatever_else_is_masked() -> None:
    stack = made("language model", position="rotary").eval().requires_grad_(False)
    model = OwnModel("words", tokens.for_task(tasks.build("words")), stack, origin="random")
    past = torch.ones(5, 5).tril().bool()
    plain = model.run(TEXT).weights
    assert not plain[..., ~past].any()
    given: list[Any] = ["none", masks.full, "causal", torch.ones(4, 5, 5).bool()]
    for number, mask in enumerate(given):
        with case(number):
            identical(model.run(TEXT, mask=mask).weights, plain)
    window = model.run(TEXT, mask="window:2").weights
    assert not window[..., ~past | torch.ones(5, 5).tril(-2).bool()].any()
    assert not model.run(TEXT, mask=~past).weights.any(), "nothing is left"
    for run in model.run_batch([TEXT, "apple ball"]):
        same_function(run.weights, model.run(" ".join(run.tokens)).weights)


def test_sizes_that_cannot_be_built() -> None:
    for name, kind in IMPLEMENTATIONS.items():
        for position, place in (("rotary", "rotate"), ("alibi", "bias")):
            changes: dict[str, Any] = {"implementation": name, "position": position}
            if place in kind.can:
                made("classifier", **changes)
            else:
                with pytest.raises(Unsupported, match=f"{name} cannot do {position} positions, which {place}"):
                    made("classifier", **changes)
    with pytest.raises(PositionError, match=r"amplitude=-1\.0 is no spread"):
        made("classifier", position="learned", amplitude=-1.0)


# The random start.


@pytest.mark.parametrize("kind", STACKS)
def test_all_implementations_start_from_the_same_numbers(kind: str) -> None:
    reference = made(kind)
    for name in IMPLEMENTATIONS:
        stack = made(kind, implementation=name)
        with case(name):
            for own, layer in zip(stack.layers, reference.layers, strict=True):
                identical(flat(own.attention.save()), flat(layer.attention.save()))


@pytest.mark.parametrize("kind", STACKS)
def test_a_seed_decides_everything(kind: str) -> None:
    """A parameter that is left out would keep what it was, and differ from run to run."""
    build, sizes = STACKS[kind]
    for position in ("learned", "t5"):
        one, other = (build(replace(sizes, position=position)) for _ in range(2))
        randomised(one)
        before = torch.get_rng_state()
        init_weights(one, 7)
        assert torch.equal(torch.get_rng_state(), before), "torch's own generator is left alone"
        torch.rand(3)
        init_weights(other, 7)
        drawn = dict(one.named_parameters())
        drawn = {name: own for name, own in drawn.items() if "norm" not in name and "feed_forward.0" not in name}
        assert all(torch.equal(own, other.get_parameter(name)) for name, own in drawn.items()), position
        init_weights(other, 8)
        assert not any(torch.equal(own, other.get_parameter(name)) for name, own in drawn.items()), position


def test_the_distribution_of_the_start() -> None:
    """Ours; and nn.MultiheadAttention's: biases of 0, q, k and v by Xavier's bound for one matrix (3 c, c)."""
    stack = made("classifier", d_model=64, vocabulary=500)
    words = stack.words.weight.detach()
    assert not words[0].any()  # padding
    assert abs(float(words[1:].std()) - 1) < 0.02
    q = stack.layers[0].attention.save().q
    for matrix, columns in ((q, 64), (stack.connected.weight.detach(), 64), (stack.out.weight.detach(), 128)):
        assert 0.98 * columns**-0.5 < float(matrix.abs().max()) <= columns**-0.5
    stack = Classifier(replace(CLASSIFIER, d_model=64, implementation="torch"))
    init_weights(stack, 1, is_own=True)
    for layer in range(2):
        weights = stack.block(layer).attention.save()
        for matrix in (weights.q, weights.k, weights.v):
            assert 0.98 * (6 / 256) ** 0.5 < float(matrix.abs().max()) <= (6 / 256) ** 0.5
        assert float(weights.o.abs().max()) <= 64**-0.5
        assert not any(tensor.any() for name, tensor in weights.items() if name.endswith("bias") and tensor is not None)
    drawn = Encoder(replace(ENCODER, d_model=384, n_layers=0))
    assert 0.015 < float(drawn.segment.detach().std()) < 0.025
