"""The bare function against torch's own, and the split into heads."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from mha_core import Trace, attention, join_heads, split_heads
from mha_core.attention.functional import softmax_over_keys
from mha_core.errors import DeviceError, DtypeError, MaskError, SizeError
from tests.closeness import identical, same_function

pytestmark = pytest.mark.numeric

LEADING = [(), (2,), (2, 4), (2, 2, 4)]


def tensors(
    leading: tuple[int, ...], i: int = 3, j: int = 3, d: int = 6, width: int = 6
) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(7)
    made = (torch.randn(*leading, n, c, dtype=torch.float64) for n, c in ((i, d), (j, d), (j, width)))
    return next(made), next(made), next(made)


@pytest.mark.parametrize("leading", LEADING)
def test_equal_to_torch(leading: tuple[int, ...]) -> None:
    for j, width in ((3, 6), (5, 6), (3, 4), (5, 9)):
        q, k, v = tensors(leading, j=j, width=width)
        mixed, weights = attention(q, k, v)
        same_function(mixed, F.scaled_dot_product_attention(q, k, v))
        same_function(weights.sum(-1), torch.ones(*leading, 3, dtype=torch.float64))
        same_function(weights @ v, mixed)


SHAPES = [(3, 5), (1, 5), (3, 1), (4, 3, 5), (2, 1, 3, 5), (2, 4, 3, 5)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_bias_a_temperature_and_a_mask_are_those_of_torch(shape: tuple[int, ...]) -> None:
    q, k, v = tensors((2, 4), j=5)
    bias, allow = torch.randn(shape, dtype=torch.float64), torch.rand(shape) < 0.6
    for temperature in (1.0, 0.5, 2):
        added, scale = (bias / temperature).expand(2, 4, 3, 5), 1 / math.sqrt(6) / temperature
        expected = F.scaled_dot_product_attention(q, k, v, attn_mask=added, scale=scale)
        same_function(attention(q, k, v, bias=bias, temperature=temperature)[0], expected)
    mixed, weights = attention(q, k, v, allow=allow)
    everywhere = allow.expand(2, 4, 3, 5)
    of_torch = F.scaled_dot_product_attention(q, k, v, attn_mask=everywhere)
    same_function(mixed, of_torch.masked_fill(~everywhere.any(-1, True), 0))
    assert not weights[~everywhere].any()


def with_an_empty_row() -> tuple[Tensor, ...]:
    q, k, v = (tensor.requires_grad_() for tensor in tensors((2, 4), j=5))
    bias = torch.randn(4, 3, 5, dtype=torch.float64, requires_grad=True)
    allow = torch.rand(2, 1, 3, 5) < 0.7
    allow[0, :, 1] = False
    allow[1, :, :, 0] = True
    return q, k, v, bias, allow


def test_an_empty_row_gives_zeros_and_finite_gradients() -> None:
    q, k, v, bias, allow = with_an_empty_row()
    mixed, weights = attention(q, k, v, bias=bias, allow=allow)
    assert not weights[0, :, 1].any()
    assert not mixed[0, :, 1].any()
    torch.autograd.backward(mixed.square().sum() + weights.square().sum())
    for tensor in (q, k, v, bias):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()
        assert tensor.grad.any()
    assert q.grad is not None
    assert not q.grad[0, :, 1].any()


def test_gradients_are_the_derivatives() -> None:
    q, k, v, bias, allow = with_an_empty_row()
    few = [tensor[:1, :2].detach().requires_grad_() for tensor in (q, k, v)] + [bias[:2].detach().requires_grad_()]
    assert torch.autograd.gradcheck(
        lambda q, k, v, bias: attention(q, k, v, bias=bias, allow=allow[:1], temperature=0.7), tuple(few)
    )


def test_softmax_runs_over_the_keys_and_does_not_overflow() -> None:
    scores = torch.randn(2, 4, 3, 5, dtype=torch.float64)
    same_function(softmax_over_keys(scores.clone(), None), scores.exp() / scores.exp().sum(-1, keepdim=True))
    q = 100 * torch.eye(4)
    mixed, weights = attention(q)
    identical(weights, torch.eye(4))
    identical(mixed, q)


def test_trace_of_the_bare_function() -> None:
    q, k, v = tensors((2, 4), j=5, width=9)
    trace = Trace()
    mixed, weights = attention(q, k, v, allow=torch.ones(3, 5, dtype=torch.bool), trace=trace)
    assert [step.name for step in trace.steps] == ["q", "k", "v", "scores", "masked", "weights", "mixed"]
    assert trace["mixed"].value is not mixed
    identical(trace["mixed"].value, mixed)
    identical(trace["weights"].value, weights)
    assert [trace.sizes[letter] for letter in "bhijdc"] == [2, 4, 3, 5, 6, 9]
    for leading in ((), (2,), (2, 2, 4)):
        trace = Trace()
        attention(*tensors(leading), trace=trace)
        named = ["q", "k", "v", "scores", "weights", "mixed"] if len(leading) < 3 else []
        assert [step.name for step in trace.steps] == named, leading


def test_sizes_that_do_not_fit_raise() -> None:
    for shapes in (
        ((2, 3, 6), (2, 3, 5), (2, 3, 6)),  # another width of k
        ((2, 3, 6), (2, 4, 6), (2, 3, 6)),  # another number of values
        ((2, 3, 6), (1, 3, 6), (2, 3, 6)),  # another batch: nothing is stretched
        ((6,), (6,), (6,)),
    ):
        with pytest.raises(SizeError, match=r"need q \(…, i, d\)") as caught:
            attention(*map(torch.zeros, shapes))
        assert all(str(shape) in str(caught.value) for shape in shapes), shapes
    for zero in ([(3, 0)], [(3, 4), (0, 4)]):
        with pytest.raises(SizeError, match="give at least one"):
            attention(*map(torch.zeros, zero))


def test_masks_and_biases_that_do_not_fit_raise() -> None:
    q, k = torch.zeros(2, 1, 3, 6), torch.zeros(2, 1, 4, 6)
    for shape in ((2,), (4, 3, 4), (1, 2, 1, 3, 4)):
        with pytest.raises(MaskError, match=r"does not broadcast to the scores \(2, 1, 3, 4\)"):
            attention(q, k, allow=torch.ones(shape, dtype=torch.bool))
        with pytest.raises(SizeError, match=r"does not broadcast to the scores \(2, 1, 3, 4\)"):
            attention(q, k, bias=torch.ones(shape))
    wrong: list[object] = [torch.ones(3, 3), torch.ones(3, 3, dtype=torch.int64), [[True]]]
    for allow in wrong:
        with pytest.raises(MaskError, match=r"must be a bool tensor"):
            attention(torch.zeros(2, 3, 6), allow=allow)  # type: ignore[arg-type]


def test_mixed_kinds_raise() -> None:
    q = torch.zeros(2, 3, 6)
    with pytest.raises(DtypeError, match=r"q is torch.float32 and k is torch.float64"):
        attention(q, q.double())
    with pytest.raises(DtypeError, match=r"q must be a floating tensor, got torch.int64"):
        attention(q.long())
    with pytest.raises(DeviceError, match=r"q is on cpu and v is on meta"):
        attention(q, q, q.to("meta"))


def test_split_is_a_view_and_join_its_inverse() -> None:
    for x in (torch.randn(8), torch.randn(3, 8), torch.randn(5, 2, 3, 8), torch.randn(8, 5).T):
        for h in (1, 2, 8):
            split = split_heads(x, h)
            assert split.shape == (*x.shape[:-1], h, 8 // h)
            assert split.data_ptr() == x.data_ptr()
            for head in range(h):
                identical(split[..., head, :], x[..., head * 8 // h : (head + 1) * 8 // h])
            identical(join_heads(split), x)
            assert join_heads(split).data_ptr() == x.data_ptr() or not x.is_contiguous()


def test_a_width_that_cannot_be_split_raises() -> None:
    with pytest.raises(SizeError, match=r"c=50 cannot be split into 6 equal heads; choose a multiple of 6"):
        split_heads(torch.zeros(2, 50), 6)
    for h in (0, -1):
        with pytest.raises(SizeError, match=rf"n_heads={h}"):
            split_heads(torch.zeros(2, 50), h)
