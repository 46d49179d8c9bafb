"""Blocks of attention, the passes that every stack shares, respelling, and the random start of the parameters."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from mha_core import IMPLEMENTATIONS, masks
from mha_core.attention.switches import Ablation
from mha_core.errors import PositionError, Unsupported
from mha_core.measure.measures import relative_difference
from mha_core.models.block import AttentionBlock, BlockSizes
from mha_core.models.classifier import Classifier, ClassifierSizes
from mha_core.models.encoder import Encoder, EncoderSizes
from mha_core.models.language_model import LanguageModel
from mha_core.positions import NAMES, Position
from mha_core.training.initial_weights import draw

from .dense import flat
from .dense_models import dense_block
from .runs import randomised

CLASSIFIER = ClassifierSizes(
    vocabulary=30, d_model=16, n_heads=4, n_layers=2, max_len=12, d_feed_forward=24, residual=True, norm=True, classes=3
)
LANGUAGE = BlockSizes(
    vocabulary=30, d_model=16, n_heads=4, n_layers=2, max_len=12, d_feed_forward=24, residual=True, norm=True
)
STACKS: dict[str, tuple[Any, BlockSizes]] = {
    "classifier": (Classifier, CLASSIFIER),
    "language model": (LanguageModel, LANGUAGE),
}
ENCODER = EncoderSizes(vocabulary=30, d_model=16, n_heads=4, n_layers=2, max_len=12, d_feed_forward=24)
IDS = torch.tensor([[2, 7, 7, 4, 3], [2, 5, 9, 4, 3]])


def made(kind: str, **changes: Any) -> Any:
    build, sizes = STACKS[kind]
    stack = build(replace(sizes, **changes))
    draw(stack, 1)
    return stack


@pytest.mark.parametrize(
    "around",
    [
        {"residual": True, "norm": True},
        {"residual": True, "norm": True, "norm_after": True},
        {"residual": True},
        {"norm": True, "norm_after": True},
        {"norm": True},
        {},
    ],
    ids=str,
)
@pytest.mark.parametrize("d_feed_forward", [0, 10])
def test_a_block(d_feed_forward: int, around: dict[str, bool]) -> None:
    sizes = BlockSizes(vocabulary=9, d_model=8, n_heads=2, n_layers=1, max_len=5, d_feed_forward=d_feed_forward)
    block = AttentionBlock(replace(sizes, **around)).double()  # type: ignore[arg-type]
    randomised(block)
    x, allow = torch.randn(2, 5, 8, dtype=torch.float64), masks.allow(masks.causal, 5, 5)
    out, weights = block(x, allow=allow)
    assert weights.shape == (2, 2, 5, 5)
    torch.testing.assert_close(out, dense_block(block, x, allow, Position()), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "position"),
    [*zip(["classifier", "language model"] * 4, NAMES, strict=False), *(("encoder", position) for position in NAMES)],
)
def test_the_quick_pass_equals_the_one_with_maps(kind: str, position: str) -> None:
    if kind == "encoder":
        stack: Any = Encoder(replace(ENCODER, position=position)).double()
        randomised(stack)
    else:
        stack = made(kind, position=position).double()
    allow = masks.allow(masks.causal, 5, 5)
    hidden, weights = stack(IDS, allow=allow)
    assert (len(hidden), len(weights)) == (3, 2)
    torch.testing.assert_close(stack.without_maps(IDS, allow), hidden[-1], rtol=1e-12, atol=1e-12)
    for number in range(2):
        expected = dense_block(stack.layers[number], hidden[number], allow, stack.position)
        torch.testing.assert_close(hidden[number + 1], expected, rtol=1e-12, atol=1e-12)


def test_ablate_each_head_is_a_pass_for_each() -> None:
    stack = made("classifier", position="sinusoidal").double()
    with torch.no_grad():
        found = stack.ablate_each_head(IDS[:1])
        for layer in range(2):
            for head in range(4):
                heads = torch.ones(2, 4, dtype=torch.bool)
                heads[layer, head] = False
                expected = stack(IDS[:1], ablate=Ablation(heads))[0][-1].mean(dim=1)[0]
                torch.testing.assert_close(found[layer, head], expected, rtol=1e-12, atol=1e-12)


def test_a_respelled_stack_computes_the_same() -> None:
    """A model that was trained in an implementation with fewer features can be looked at in another."""
    stack = made("classifier", implementation="torch").double().eval()
    twin = stack.as_implementation("einsum")
    assert (twin.sizes.implementation, stack.sizes.implementation) == ("einsum", "torch")
    assert all(type(layer.attention) is IMPLEMENTATIONS["einsum"] for layer in twin.layers)
    assert relative_difference(twin.logits(IDS, IDS > 0), stack.logits(IDS, IDS > 0)) <= 1e-13
    with torch.no_grad():
        twin.words.weight.zero_()
    assert stack.words.weight.any(), "a copy"


def test_sizes_that_cannot_be_built() -> None:
    for name, kind in IMPLEMENTATIONS.items():
        for position, place in (("rotary", "rotate"), ("alibi", "bias")):
            changes = {"implementation": name, "position": position}
            if place in kind.can:
                made("classifier", **changes)
            else:
                with pytest.raises(Unsupported, match=f"{name} cannot do {position} positions, which {place}"):
                    made("classifier", **changes)
    with pytest.raises(Unsupported, match="implementation='what' is not known"):
        made("classifier", implementation="what")
    with pytest.raises(PositionError, match="position='what' is not known"):
        made("classifier", position="what")
    with pytest.raises(PositionError, match=r"amplitude=-1\.0 is no spread"):
        made("classifier", position="learned", amplitude=-1.0)


@pytest.mark.parametrize("kind", STACKS)
def test_the_amplitude(kind: str) -> None:
    one, small = (made(kind, position="sinusoidal", amplitude=amplitude) for amplitude in (1.0, 0.1))
    words = F.embedding(IDS, one.words.weight)
    waves, small_waves = one.embed(IDS, one.position) - words, small.embed(IDS, small.position) - words
    torch.testing.assert_close(small_waves, 0.1 * waves, atol=1e-6, rtol=1e-5)
    learned = made(kind, position="learned", amplitude=0.1, max_len=1000)
    assert 0.099 < float(learned.position.table.detach().std()) < 0.101


# The random start.


@pytest.mark.parametrize("kind", STACKS)
def test_all_implementations_start_from_the_same_numbers(kind: str) -> None:
    reference = made(kind).double()
    expected = (reference.logits(IDS, IDS > 0) if kind == "classifier" else reference.logits(IDS)).detach()
    for name in IMPLEMENTATIONS:
        stack = made(kind, implementation=name)
        for own, layer in zip(stack.layers, reference.layers, strict=True):
            assert torch.equal(flat(own.attention.save()).double(), flat(layer.attention.save()))
        stack = stack.double()
        logits = stack.logits(IDS, IDS > 0) if kind == "classifier" else stack.logits(IDS)
        assert relative_difference(logits.detach(), expected) <= 1e-13


@pytest.mark.parametrize("kind", STACKS)
def test_another_encoding_leaves_all_other_numbers_as_they_are(kind: str) -> None:
    plain = made(kind).state_dict()
    for position in NAMES:
        other = made(kind, position=position).state_dict()
        assert other.keys() - plain.keys() <= {"position.table"}
        assert all(torch.equal(plain[name], other[name]) for name in plain)


@pytest.mark.parametrize("kind", STACKS)
def test_a_learned_table_does_not_repeat_the_embeddings(kind: str) -> None:
    """From one seed, both would be the same draws: each position would be the twin of the token of its number."""
    stack = made(kind, position="learned", amplitude=1.0)
    table, words = stack.position.table.detach(), stack.words.weight.detach()
    likeness = F.normalize(table, dim=-1) @ F.normalize(words, dim=-1).T
    assert float(likeness.max()) < 0.95


@pytest.mark.parametrize("position", ["learned", "t5"])
@pytest.mark.parametrize("kind", STACKS)
def test_a_seed_decides_everything(kind: str, position: str) -> None:
    """A parameter that is left out would keep what it was, and differ from run to run."""
    build, sizes = STACKS[kind]
    one, other = (build(replace(sizes, position=position)) for _ in range(2))
    randomised(one)
    draw(one, 7)
    torch.rand(3)
    draw(other, 7)
    drawn = dict(one.named_parameters())
    drawn = {name: own for name, own in drawn.items() if "norm" not in name and "feed_forward.0" not in name}
    assert all(torch.equal(own, other.get_parameter(name)) for name, own in drawn.items())
    draw(other, 8)
    assert not any(torch.equal(own, other.get_parameter(name)) for name, own in drawn.items())


def test_draws_leave_torchs_own_generator_alone() -> None:
    for number, position in enumerate(NAMES):
        stack = made("classifier", position=position, implementation="torch" if position == "none" else "fused")
        before = torch.get_rng_state()
        draw(stack, 3, own=number % 2 == 0)
        assert torch.equal(torch.get_rng_state(), before)


def test_the_law_of_the_start() -> None:
    stack = made("classifier", d_model=64, vocabulary=500)
    words = stack.words.weight.detach()
    assert not words[0].any()  # padding
    assert abs(float(words[1:].mean())) < 0.02
    assert abs(float(words[1:].std()) - 1) < 0.02
    q = stack.layers[0].attention.save().q
    for matrix, columns in ((q, 64), (stack.connected.weight.detach(), 64), (stack.out.weight.detach(), 128)):
        bound = columns**-0.5
        assert 0.98 * bound < float(matrix.abs().max()) <= bound


def test_torchs_own_law() -> None:
    """nn.MultiheadAttention's: biases of 0, q, k and v by Xavier's bound for one matrix (3 c, c)."""
    stack = Classifier(replace(CLASSIFIER, d_model=64, implementation="torch"))
    draw(stack, 1, own=True)
    for layer in stack.layers:
        weights = layer.attention.save()  # type: ignore[union-attr, operator]
        for name in ("q", "k", "v"):
            matrix, bound = getattr(weights, name), (6 / (64 + 192)) ** 0.5
            assert 0.98 * bound < float(matrix.abs().max()) <= bound
        assert float(weights.o.abs().max()) <= 64**-0.5
        assert not any(tensor.any() for name, tensor in weights.items() if name.endswith("bias") and tensor is not None)


def test_own_draws() -> None:
    """Each implementation begins with numbers of its own, the attention's and all others'."""
    own = {name: Classifier(replace(CLASSIFIER, implementation=name)) for name in IMPLEMENTATIONS}
    for stack in own.values():
        draw(stack, 1, own=True)

    def values(stack: Classifier) -> list[torch.Tensor]:
        weights = [stack.block(layer).attention.save() for layer in range(len(stack.layers))]
        return [stack.words.weight, stack.connected.weight, *(matrix for one in weights for matrix in (one.q, one.o))]

    for one, other in combinations(IMPLEMENTATIONS, 2):
        same = [torch.equal(*pair) for pair in zip(values(own[one]), values(own[other]), strict=True)]
        assert not same[2]  # q
        assert not any(same) or {one, other} == {"torch", "efficient"}  # what their law leaves alike


def test_the_segment_vector_of_an_encoder_starts_small() -> None:
    drawn = Encoder(replace(ENCODER, d_model=384, n_layers=0))
    assert 0.015 < float(drawn.segment.detach().std()) < 0.025
