"""The bare function against torch's own, and the split into heads."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from mha_core import Trace, attention, join_heads, split_heads
from mha_core.attention.functional import softmax_over_keys
from mha_core.errors import DeviceError, DtypeError, HeadlightError, MaskError, SizeError
from mha_core.measure.measures import relative_difference

pytestmark = pytest.mark.numeric

LEADING = [(), (2,), (2, 4), (2, 2, 4)]


def tensors(
    leading: tuple[int, ...], i: int = 3, j: int = 3, d: int = 6, width: int = 6
) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(7)
    made = (torch.randn(*leading, n, c, dtype=torch.float64) for n, c in ((i, d), (j, d), (j, width)))
    return next(made), next(made), next(made)


def agree(mixed: Tensor, expected: Tensor) -> None:
    assert mixed.shape == expected.shape
    assert relative_difference(mixed, expected) <= 1e-14


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize(("j", "width"), [(3, 6), (5, 6), (3, 4), (5, 9)])
def test_equal_to_torch(leading: tuple[int, ...], j: int, width: int) -> None:
    q, k, v = tensors(leading, j=j, width=width)
    mixed, weights = attention(q, k, v)
    agree(mixed, F.scaled_dot_product_attention(q, k, v))
    assert weights.shape == (*leading, 3, j)
    torch.testing.assert_close(weights.sum(-1), torch.ones(*leading, 3, dtype=torch.float64))
    agree(weights @ v, mixed)


def test_the_issues_example_in_float32() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 6)
    mixed, weights = attention(x)
    assert relative_difference(mixed, F.scaled_dot_product_attention(x, x, x)) <= 1e-6
    assert weights.shape == (2, 3, 3)
    four, _ = attention(x[:, None])
    assert relative_difference(four[:, 0], mixed) <= 1e-6


def test_k_defaults_to_q_and_v_to_k() -> None:
    q, k, _ = tensors((2,))
    assert torch.equal(attention(q)[0], attention(q, q, q)[0])
    assert torch.equal(attention(q, k)[0], attention(q, k, k)[0])
    assert torch.equal(attention(q, v=k)[0], attention(q, q, k)[0])


@pytest.mark.parametrize("shape", [(3, 5), (1, 5), (4, 3, 5), (2, 1, 3, 5), (2, 4, 3, 5)])
def test_bias_is_added_to_the_scaled_scores(shape: tuple[int, ...]) -> None:
    q, k, v = tensors((2, 4), j=5)
    bias = torch.randn(shape, dtype=torch.float64)
    agree(attention(q, k, v, bias=bias)[0], F.scaled_dot_product_attention(q, k, v, attn_mask=bias.expand(2, 4, 3, 5)))


@pytest.mark.parametrize("temperature", [0.5, 1, 2.0])
def test_temperature_divides_the_scores_and_the_bias(temperature: float) -> None:
    q, k, v = tensors((2, 4), j=5)
    bias = torch.randn(3, 5, dtype=torch.float64)
    expected = F.scaled_dot_product_attention(
        q, k, v, attn_mask=bias / temperature, scale=1 / math.sqrt(6) / temperature
    )
    agree(attention(q, k, v, bias=bias, temperature=temperature)[0], expected)


@pytest.mark.parametrize("shape", [(3, 5), (1, 5), (3, 1), (4, 3, 5), (2, 1, 3, 5), (2, 4, 3, 5)])
def test_true_means_may_look(shape: tuple[int, ...]) -> None:
    q, k, v = tensors((2, 4), j=5)
    allow = torch.rand(shape) < 0.6
    mixed, weights = attention(q, k, v, allow=allow)
    everywhere = allow.expand(2, 4, 3, 5)
    agree(
        mixed, F.scaled_dot_product_attention(q, k, v, attn_mask=everywhere).masked_fill(~everywhere.any(-1, True), 0)
    )
    assert not weights[~everywhere].any()
    assert (weights[everywhere] > 0).all()
    torch.testing.assert_close(weights.sum(-1), everywhere.any(-1).double())


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
    torch.testing.assert_close(weights.sum(-1), allow.any(-1).double().expand(2, 4, 3))
    torch.autograd.backward(mixed.square().sum() + weights.square().sum())
    for tensor in (q, k, v, bias):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()
        assert tensor.grad.any()
    assert q.grad is not None
    assert not q.grad[0, :, 1].any()


def test_everything_forbidden() -> None:
    q = torch.randn(2, 3, 6, requires_grad=True)
    mixed, weights = attention(q, allow=torch.zeros(3, 3, dtype=torch.bool))
    torch.autograd.backward(mixed.sum())
    assert not weights.any()
    assert not mixed.any()
    assert q.grad is not None
    assert not q.grad.any()


def test_gradients_are_the_derivatives() -> None:
    q, k, v, bias, allow = with_an_empty_row()
    assert torch.autograd.gradcheck(
        lambda q, k, v, bias: attention(q, k, v, bias=bias, allow=allow, temperature=0.7), (q, k, v, bias)
    )


def test_scores_that_overflow_exp_do_not_overflow() -> None:
    q = 100 * torch.eye(4)
    mixed, weights = attention(q)
    assert torch.equal(weights, torch.eye(4))
    assert torch.equal(mixed, q)


def test_softmax_runs_over_the_keys() -> None:
    scores = torch.randn(2, 4, 3, 5, dtype=torch.float64)
    weights = softmax_over_keys(scores.clone(), None)
    for cell in ((0, 0, 0), (1, 3, 2)):
        row = scores[cell].exp()
        torch.testing.assert_close(weights[cell], row / row.sum())


def test_trace_of_the_bare_function() -> None:
    q, k, v = tensors((2, 4), j=5, width=9)
    trace = Trace()
    mixed, weights = attention(q, k, v, allow=torch.ones(3, 5, dtype=torch.bool), trace=trace)
    assert [step.name for step in trace.steps] == ["q", "k", "v", "scores", "masked", "weights", "mixed"]
    assert trace["mixed"].value is not mixed
    assert torch.equal(trace["mixed"].value, mixed)
    assert torch.equal(trace["weights"].value, weights)
    assert [trace.sizes[letter] for letter in "bhijdc"] == [2, 4, 3, 5, 6, 9]


@pytest.mark.parametrize("leading", [(), (2,), (2, 2, 4)])
def test_trace_takes_other_numbers_of_axes(leading: tuple[int, ...]) -> None:
    trace = Trace()
    attention(*tensors(leading), trace=trace)
    named = ["q", "k", "v", "scores", "weights", "mixed"] if len(leading) < 3 else []
    assert [step.name for step in trace.steps] == named


@pytest.mark.parametrize(
    ("q", "k", "v"),
    [
        ((2, 3, 6), (2, 3, 5), (2, 3, 6)),  # another width of k
        ((2, 3, 6), (2, 4, 6), (2, 3, 6)),  # another number of values
        ((2, 3, 6), (1, 3, 6), (2, 3, 6)),  # another batch: nothing is stretched
        ((2, 3, 6), (3, 6), (3, 6)),  # fewer axes
        ((3, 6), (6,), (3, 6)),  # too few
        ((6,), (6,), (6,)),
    ],
)
def test_sizes_that_do_not_fit_raise(q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...]) -> None:
    with pytest.raises(SizeError, match=r"need q \(…, i, d\)") as caught:
        attention(torch.zeros(q), torch.zeros(k), torch.zeros(v))
    assert all(str(shape) in str(caught.value) for shape in (q, k, v))


@pytest.mark.parametrize("shape", [(2,), (3, 3), (4, 3, 4), (2, 2, 3, 4), (5, 1, 3, 4), (1, 2, 1, 3, 4)])
def test_masks_and_biases_that_do_not_broadcast_raise(shape: tuple[int, ...]) -> None:
    q, k = torch.zeros(2, 1, 3, 6), torch.zeros(2, 1, 4, 6)
    with pytest.raises(MaskError, match=r"does not broadcast to the scores \(2, 1, 3, 4\)"):
        attention(q, k, allow=torch.ones(shape, dtype=torch.bool))
    with pytest.raises(SizeError, match=r"does not broadcast to the scores \(2, 1, 3, 4\)"):
        attention(q, k, bias=torch.ones(shape))


@pytest.mark.parametrize("allow", [torch.ones(3, 3), torch.ones(3, 3, dtype=torch.int64), [[True]]])
def test_a_mask_that_is_not_bool_raises(allow: object) -> None:
    with pytest.raises(MaskError, match=r"must be a bool tensor"):
        attention(torch.zeros(2, 3, 6), allow=allow)  # type: ignore[arg-type]


@pytest.mark.parametrize("temperature", [0, -1.0, math.nan, math.inf, "1", None])
def test_temperatures_that_cannot_divide_raise(temperature: object) -> None:
    with pytest.raises(HeadlightError, match="above 0"):
        attention(torch.zeros(3, 6), temperature=temperature)  # type: ignore[arg-type]


def test_mixed_kinds_raise() -> None:
    q = torch.zeros(2, 3, 6)
    with pytest.raises(DtypeError, match=r"q is torch.float32 and k is torch.float64"):
        attention(q, q.double())
    with pytest.raises(DtypeError, match=r"q must be a floating tensor, got torch.int64"):
        attention(q.long())
    with pytest.raises(DtypeError, match=r"q must be a floating tensor, got list"):
        attention([[1.0]])  # type: ignore[arg-type]
    with pytest.raises(DeviceError, match=r"q is on cpu and v is on meta"):
        attention(q, q, q.to("meta"))
    with pytest.raises(DtypeError, match=r"bias is torch.float64"):
        attention(q, bias=torch.zeros(3, 3, dtype=torch.float64))
    with pytest.raises(DeviceError, match=r"bias is on meta"):
        attention(q, bias=torch.zeros(3, 3, device="meta"))


@pytest.mark.parametrize("x", [torch.randn(8), torch.randn(3, 8), torch.randn(5, 2, 3, 8), torch.randn(8, 5).T])
@pytest.mark.parametrize("h", [1, 2, 8])
def test_split_is_a_view_and_join_its_inverse(x: Tensor, h: int) -> None:
    split = split_heads(x, h)
    assert split.shape == (*x.shape[:-1], h, 8 // h)
    assert split.data_ptr() == x.data_ptr()
    for head in range(h):
        assert torch.equal(split[..., head, :], x[..., head * 8 // h : (head + 1) * 8 // h])
    assert torch.equal(join_heads(split), x)
    assert join_heads(split).data_ptr() == x.data_ptr() or not x.is_contiguous()


def test_a_width_that_cannot_be_split_raises() -> None:
    with pytest.raises(SizeError, match=r"c=50 cannot be split into 6 equal heads; choose a multiple of 6"):
        split_heads(torch.zeros(2, 50), 6)
    for h in (0, -1):
        with pytest.raises(SizeError, match=rf"n_heads={h}"):
            split_heads(torch.zeros(2, 50), h)


@pytest.mark.parametrize("shapes", [[(0, 4)], [(3, 0)], [(3, 4), (0, 4)], [(2, 0, 4)]], ids=str)
def test_a_length_or_width_of_0_raises(shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(SizeError, match="give at least one"):
        attention(*(torch.zeros(shape) for shape in shapes))
