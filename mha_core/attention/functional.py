"""Scaled dot-product attention as a function, the parts that implementations share, and the split into heads.

Axis letters: b batch, h head, i query, j key, d head channel, c model channel.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from .. import masks
from ..errors import DeviceError, DtypeError, HeadlightError, MaskError, SizeError
from ..trace import Tracer, no_trace


def formula(product: str) -> str:
    """Return the formula of the scores for a trace; each implementation writes the product in its own notation."""
    return f"({product} / √d_head + bias) / temperature"


SCORES = formula("q kᵀ")


def attention(
    q: Tensor,
    k: Tensor | None = None,
    v: Tensor | None = None,
    *,
    allow: Tensor | None = None,
    bias: Tensor | None = None,
    temperature: float = 1.0,
    trace: Tracer = no_trace,
) -> tuple[Tensor, Tensor]:
    """Compute softmax(q kᵀ / √d) v ("Attention Is All You Need", equation 1).

    Args:
        q: (…, i, d); any leading axes, the same for all three.
        k: (…, j, d); default q.
        v: (…, j, any width); default k.
        allow: bool, broadcasts to (…, i, j), True = may attend. A row with nothing allowed gets weights 0.
        bias: added to the scaled scores, broadcasts to (…, i, j).
        temperature: divides the scores; above 1 flattens the weights, below 1 sharpens them.
        trace: called for every step; ignored if q has more than 4 axes.

    Returns:
        mixed (…, i, width of v) and weights (…, i, j).

    Raises:
        SizeError, MaskError, DtypeError, DeviceError: the arguments do not fit together.
    """
    k = q if k is None else k
    v = k if v is None else v
    _check_shapes(q, k, v, bias)
    check_temperature(temperature)
    axes = {2: "", 3: "h ", 4: "b h "}.get(q.dim())
    if axes is None:
        trace = no_trace  # more leading axes than the letters name

    trace("q", q, f"{axes}i d", "q", inputs=("q",))
    trace("k", k, f"{axes}j d", "k", inputs=("k",))
    trace("v", v, f"{axes}j {'d' if v.shape[-1] == q.shape[-1] else 'c'}", "v", inputs=("v",))
    scaled = q @ k.mT / math.sqrt(q.shape[-1])
    scores = (scaled if bias is None else scaled + bias) / temperature
    trace("scores", scores, f"{axes}i j", "q kᵀ / √d", inputs=("q", "k"))
    weights = softmax_over_keys(scores, allow, trace, f"{axes}i j")
    mixed = weights @ v
    trace("mixed", mixed, f"{axes}i {'d' if v.shape[-1] == q.shape[-1] else 'c'}", "weights v", inputs=("weights", "v"))
    return mixed, weights


def kernel_scores(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return the scores of torch's scaled_dot_product_attention (…, i, j), −∞ where its mask blocks."""
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).tril()
    if attn_mask is None:
        return scores
    return scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask


def softmax_over_keys(
    scores: Tensor, allow: Tensor | None, trace: Tracer = no_trace, axes: str = "b h i j", dim: int = -1
) -> Tensor:
    """Return the weights of masked scores along the key axis `dim`; a row with nothing allowed gets weights 0.

    The mask comes before the softmax, so that the remaining weights still sum to 1. The softmax of a row of −∞ is 0 /
    0: filling those rows with 0 afterwards corrects the value, and the gradient too, because the backward pass of the
    first fill puts 0 into every forbidden cell, all cells of an empty row included.

    `scores` must not be used afterwards: without gradients and trace the weights overwrite them, which at 512 tokens
    saves a quarter of the forward pass's time.
    """
    target = None if scores.requires_grad or trace is not no_trace else scores
    fill = Tensor.masked_fill if target is None else Tensor.masked_fill_
    allow = None if allow is None else _check_allow(allow, scores)
    if allow is None:
        weights = torch.softmax(scores, dim=dim, out=target)
        trace("weights", weights, axes, "softmax over the keys", inputs=("scores",))
        return weights
    masked = fill(scores, ~allow, -math.inf)
    trace("masked", masked, axes, "scores, −∞ where not allowed", inputs=("scores", "masked.allow"))
    weights = fill(torch.softmax(masked, dim=dim, out=target), ~allow.any(dim=dim, keepdim=True), 0.0)
    trace("weights", weights, axes, "softmax over the keys", inputs=("masked",))
    return weights


def mixing_weights(
    weights: Tensor, dropout: float, value_mask: Tensor | None, trace: Tracer = no_trace, axes: str = "b h i j"
) -> Tensor:
    """Return the weights that mix v: after dropout, and with the weights of ablated values set to 0.

    The attention maps that a layer returns are the weights before these changes. Dropout sets each weight to 0 with
    probability `dropout` and divides the others by 1 − dropout, so that a row still sums to 1 on average (Srivastava et
    al. 2014). `value_mask`, which broadcasts to the weights, zeroes them where it is False: after the softmax, unlike a
    mask, so such a row sums to less than 1.
    """
    mixing = weights
    if dropout:
        mixing = F.dropout(weights, dropout)
        expression = f"weights, 0 with probability {dropout:g}, the others / {1 - dropout:g}"
        trace("weights.dropout", mixing, axes, expression, inputs=("weights",))
    if value_mask is not None:
        mixing = mixing.masked_fill(~value_mask, 0.0)
        trace("weights.values_off", mixing, axes, "weights, 0 where the value is ablated", inputs=("weights",))
    return mixing


def mask_heads(mixed: Tensor, heads: Tensor | None) -> Tensor:
    """Set the output of ablated heads to 0.

    Args:
        mixed: (b, h, i, d).
        heads: bool (h,) or (b, h), False = ablated; None keeps all.
    """
    return mixed if heads is None else mixed * heads[..., None, None]


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Split the last axis into heads, (…, c) -> (…, h, d) with d = c / h, as a view.

    Raises:
        SizeError: c is not a multiple of n_heads.
    """
    check_heads("c", x.shape[-1], n_heads)
    split: Tensor = x.unflatten(-1, (n_heads, -1))  # type: ignore[no-untyped-call]
    return split


def join_heads(x: Tensor) -> Tensor:
    """Merge the heads, (…, h, d) -> (…, c): the inverse of `split_heads`.

    Copies only when h and d are not adjacent in memory.
    """
    return x.flatten(-2)


def _check_shapes(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> None:
    """Check that q, k, v and the bias fit together."""
    check_tensors(q=q, k=k, v=v, **({} if bias is None else {"bias": bias}))
    shapes = f"q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"
    fits = min(q.dim(), k.dim(), v.dim()) >= 2 and q.shape[:-2] == k.shape[:-2] == v.shape[:-2]
    if not fits or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise SizeError(f"{shapes}: need q (…, i, d), k (…, j, d), v (…, j, any)")
    scores = (*q.shape[:-1], k.shape[-2])
    if 0 in (q.shape[-2], k.shape[-2], q.shape[-1]):
        raise SizeError(f"{shapes}: a length or a width of 0; give at least one")
    if bias is not None and not _broadcasts(tuple(bias.shape), scores):
        raise SizeError(f"bias {tuple(bias.shape)} does not broadcast to the scores {scores}")


def _check_allow(allow: Tensor, scores: Tensor) -> Tensor:
    """Check that a mask is bool and broadcasts to the scores; return it on their device."""
    masks.check(allow, "allow")
    if not _broadcasts(tuple(allow.shape), tuple(scores.shape)):
        raise MaskError(f"allow {tuple(allow.shape)} does not broadcast to the scores {tuple(scores.shape)}")
    return allow.to(scores.device)


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Return whether a shape broadcasts to the target without changing the target."""
    pairs = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) <= len(target) and all(length in (1, size) for length, size in pairs)


def check_heads(name: str, width: int, n_heads: int) -> None:
    """Raise a SizeError unless `width` splits into `n_heads` equal heads."""
    if n_heads < 1 or width < 1:
        raise SizeError(f"{name}={width}, n_heads={n_heads}: both must be at least 1")
    if width % n_heads:
        raise SizeError(f"{name}={width} cannot be split into {n_heads} equal heads; choose a multiple of {n_heads}")


def check_temperature(temperature: float) -> None:
    """Raise a HeadlightError unless the temperature is a finite number above 0."""
    if not (isinstance(temperature, (int, float)) and 0 < temperature < math.inf):
        raise HeadlightError(f"temperature={temperature!r} cannot divide the scores; choose a number above 0")


def check_tensors(**tensors: Tensor) -> None:
    """Raise a DtypeError or DeviceError unless all are floating tensors of one dtype on one device."""
    (first_name, first), *rest = tensors.items()
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
            got = tensor.dtype if isinstance(tensor, Tensor) else type(tensor).__name__
            raise DtypeError(f"{name} must be a floating tensor, got {got}; convert it with .float()")
    for name, tensor in rest:
        if tensor.dtype != first.dtype:
            raise DtypeError(f"{first_name} is {first.dtype} and {name} is {tensor.dtype}; convert one with .to(dtype)")
        if tensor.device != first.device:
            places = f"{first_name} is on {first.device} and {name} is on {tensor.device}"
            raise DeviceError(f"{places}; move one with .to(device)")
