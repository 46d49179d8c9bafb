"""Scaled dot-product attention as a bare function, its parts that several implementations share, and the split."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from .. import masks
from ..errors import DeviceError, DtypeError, HeadlightError, MaskError, SizeError
from ..trace import Tracer, no_trace


def formula(product: str) -> str:
    """The scores as a formula, for a trace; each implementation writes the product in its own way."""
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
    """softmax(q kᵀ / √d) v, of "Attention Is All You Need", equation 1.

    Args:
        q: (…, i, d); any leading axes, the same for all three.
        k: (…, j, d); default q.
        v: (…, j, any width); default k.
        allow: bool, broadcasts to (…, i, j), True = may look. A row with nothing allowed gets weights 0.
        bias: added to the scaled scores, broadcasts to (…, i, j).
        temperature: divides the scores; above 1 flattens the weights, below 1 sharpens them.

    Returns:
        mixed (…, i, width of v) and weights (…, i, j).

    Raises:
        SizeError, MaskError, DtypeError, DeviceError: what came does not fit together.
    """
    k = q if k is None else k
    v = k if v is None else v
    _check_shapes(q, k, v, bias)
    check_temperature(temperature)
    axes = {2: "", 3: "h ", 4: "b h "}.get(q.dim())
    if axes is None:
        trace = no_trace  # more leading axes than the letters name

    trace("q", q, f"{axes}i d", "q", of=("q",))
    trace("k", k, f"{axes}j d", "k", of=("k",))
    trace("v", v, f"{axes}j {'d' if v.shape[-1] == q.shape[-1] else 'c'}", "v", of=("v",))
    scaled = q @ k.mT / math.sqrt(q.shape[-1])
    scores = (scaled if bias is None else scaled + bias) / temperature
    trace("scores", scores, f"{axes}i j", "q kᵀ / √d", of=("q", "k"))
    weights = softmax_over_keys(scores, allow, trace, f"{axes}i j")
    mixed = weights @ v
    trace("mixed", mixed, f"{axes}i {'d' if v.shape[-1] == q.shape[-1] else 'c'}", "weights v", of=("weights", "v"))
    return mixed, weights


def softmax_over_keys(
    scores: Tensor, allow: Tensor | None, trace: Tracer = no_trace, axes: str = "b h i j", dim: int = -1
) -> Tensor:
    """Scores -> weights over the key axis `dim`, 0 where nothing is allowed; the one place that says what that means.

    The mask comes before the softmax, so that the weights that remain still sum to 1. A softmax over only −∞ is 0 / 0:
    filling those rows with 0 afterwards mends the value, and the gradient too: the backward pass of the first fill puts
    0 into every forbidden cell, the whole of an empty row among them.

    `scores` must be the caller's own: without gradients and trace the weights are written over them, which at 512
    tokens saves a quarter of the pass.
    """
    target = None if scores.requires_grad or trace is not no_trace else scores
    fill = Tensor.masked_fill if target is None else Tensor.masked_fill_
    allow = None if allow is None else _check_allow(allow, scores)
    if allow is None:
        weights = torch.softmax(scores, dim=dim, out=target)
        trace("weights", weights, axes, "softmax over the keys", of=("scores",))
        return weights
    masked = fill(scores, ~allow, -math.inf)
    trace("masked", masked, axes, "scores, −∞ where not allowed", of=("scores", "masked.allow"))
    weights = fill(torch.softmax(masked, dim=dim, out=target), ~allow.any(dim=dim, keepdim=True), 0.0)
    trace("weights", weights, axes, "softmax over the keys", of=("masked",))
    return weights


def mixing_weights(
    weights: Tensor, dropout: float, values: Tensor | None, trace: Tracer = no_trace, axes: str = "b h i j"
) -> Tensor:
    """Weights as v is mixed with them; the maps that are shown are those before, so they stay whole.

    Each is 0 with probability `dropout`, and the others are divided by 1 − dropout, so that a row still sums to 1 on
    average (Srivastava et al. 2014). Then they are 0 where `values`, which broadcasts to them, is False: behind the
    softmax, unlike a mask, so that nothing is shared out anew and such a row sums to less than 1.
    """
    kept = weights
    if dropout:
        kept = F.dropout(weights, dropout)
        how = f"weights, 0 with probability {dropout:g}, the others / {1 - dropout:g}"
        trace("weights.dropout", kept, axes, how, of=("weights",))
    if values is not None:
        kept = kept.masked_fill(~values, 0.0)
        trace("weights.values_off", kept, axes, "weights, 0 where the value is off", of=("weights",))
    return kept


def mask_heads(mixed: Tensor, heads: Tensor | None) -> Tensor:
    """mixed (b, h, i, d) with 0 for each head that is off, heads (h,) or (b, h): it still looks but gives nothing."""
    return mixed if heads is None else mixed * heads[..., None, None]


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """(…, c) -> (…, h, d) with d = c / h: a view, nothing moves.

    Raises:
        SizeError: c is no multiple of n_heads.
    """
    c = x.shape[-1]
    check_heads("c", c, n_heads)
    return x.view(*x.shape[:-1], n_heads, c // n_heads)


def join_heads(x: Tensor) -> Tensor:
    """(…, h, d) -> (…, c), the inverse of `split_heads`; copies only when h and d do not lie side by side in memory."""
    return x.flatten(-2)


def _check_shapes(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> None:
    """Raises unless q, k, v and the bias fit together."""
    same_kind(q=q, k=k, v=v, **({} if bias is None else {"bias": bias}))
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
    """The mask on the device of the scores; raises a MaskError unless it is bool and broadcasts to them."""
    masks.check(allow, "allow")
    if not _broadcasts(tuple(allow.shape), tuple(scores.shape)):
        raise MaskError(f"allow {tuple(allow.shape)} does not broadcast to the scores {tuple(scores.shape)}")
    return allow.to(scores.device)


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """True when a tensor of that shape stretches to the target without stretching the target itself."""
    pairs = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) <= len(target) and all(length in (1, size) for length, size in pairs)


def check_heads(name: str, width: int, n_heads: int) -> None:
    """Raises a SizeError unless `width` splits into `n_heads` equal heads."""
    if n_heads < 1 or width < 1:
        raise SizeError(f"{name}={width}, n_heads={n_heads}: both must be at least 1")
    if width % n_heads:
        raise SizeError(f"{name}={width} cannot be split into {n_heads} equal heads; choose a multiple of {n_heads}")


def check_temperature(temperature: float) -> None:
    """Raises a HeadlightError unless the temperature is a finite number above 0."""
    if not (isinstance(temperature, (int, float)) and 0 < temperature < math.inf):
        raise HeadlightError(f"temperature={temperature!r} cannot divide the scores; choose a number above 0")


def same_kind(**tensors: Tensor) -> None:
    """Raises a DtypeError or DeviceError unless all are floating tensors of one dtype on one device."""
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
