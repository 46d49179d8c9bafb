"""Attention one step at a time, in float64 on the CPU, as a person works it with pencil and paper.

The layers of `mha_core.attention` do the same in as few operations as they can; here every number in between is kept.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..attention import Weights
from ..attention.functional import check_temperature, softmax_over_keys
from ..errors import MaskError, SizeError

MAX_EXPONENT = 88.7  # exp of more than this is infinite in float32


@dataclass(frozen=True)
class Stages:
    """A softmax over the keys with everything in between.

    Attributes:
        scaled: (i, j), the scores after the division.
        masked: (i, j), −∞ where not allowed.
        subtracted: (i, 1), what was taken off each row before exp: 0, or its largest score where exp could overflow.
        exps: (i, j), exp of what is left.
        sums: (i, 1), the row sums of `exps`, 0 where nothing is allowed.
        weights: (i, j), exps / sums, 0 where nothing is allowed.
        mixed: (i, c), weights · v.
    """

    scaled: Tensor
    masked: Tensor
    subtracted: Tensor
    exps: Tensor
    sums: Tensor
    weights: Tensor
    mixed: Tensor


def softmax_steps(scores: Tensor, v: Tensor, *, allow: Tensor | None = None, divisor: float = 1.0) -> Stages:
    """softmax(scores / divisor) v with every step kept.

    Args:
        scores: (i, j). v: (j, c). allow: bool (i, j), True = may look.
        divisor: √d of the paper, 1 for none.

    Raises:
        SizeError: scores and v do not fit together. MaskError: allow is no bool (i, j).
    """
    scores, v = _exact(scores), _exact(v)
    if scores.dim() != 2 or v.dim() != 2 or scores.shape[1] != v.shape[0]:
        raise SizeError(f"scores {tuple(scores.shape)}, v {tuple(v.shape)}: need (i, j) and (j, c)")
    allow = _allowed(allow, scores)
    scaled = scores / divisor
    masked = scaled.masked_fill(~allow, -math.inf)
    largest = _largest(masked)
    subtracted = largest if float(largest.max()) > MAX_EXPONENT else torch.zeros_like(largest)
    exps = (masked - subtracted).exp()
    weights = softmax_over_keys(scaled.clone(), allow)
    return Stages(scaled, masked, subtracted, exps, exps.sum(dim=-1, keepdim=True), weights, weights @ v)


def softmax_three_ways(scores: Tensor, allow: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The masked softmax over the keys as libraries write it: they differ on rows that may look at nobody.

    Args:
        scores: (i, j), any floating dtype. allow: bool (i, j), True = may look.

    Returns:
        weights (i, j) three times: ours, 0 in an empty row; with −∞ on forbidden scores and nothing else, NaN there;
        with −1e9 instead of −∞, the same weight on every forbidden key there.

    Raises:
        SizeError: scores have not two axes. MaskError: allow is no bool (i, j).
    """
    if scores.dim() != 2:
        raise SizeError(f"scores {tuple(scores.shape)}: need (i, j)")
    allow = _allowed(allow, scores).to(scores.device)
    plain, large = (scores.masked_fill(~allow, fill).softmax(dim=-1) for fill in (-math.inf, -1e9))
    return softmax_over_keys(scores.clone(), allow), plain, large


@dataclass(frozen=True)
class Cell:
    """One weight with everything that it is made of.

    Attributes:
        products, running: (d,), q·k feature by feature, and the sum so far.
        dot: the whole of it.
        scaled: dot / √d.
        bias: what the position adds to it.
        score: (scaled + bias) / temperature.
        allowed: whether the query may look at the key.
        scores: (j,), the row's scores, −∞ where not allowed. exps: (j,), exp(score − largest). weights: (j,).
        largest: the row's largest score; 0 where nothing is allowed.
        total: the sum of the row's exps.
        exp, weight: this cell's.
    """

    products: Tensor
    running: Tensor
    dot: float
    scaled: float
    bias: float
    score: float
    allowed: bool
    scores: Tensor
    exps: Tensor
    weights: Tensor
    largest: float
    total: float
    exp: float
    weight: float


def take_apart(
    q: Tensor,
    k: Tensor,
    row: int,
    key: int,
    *,
    allow: Tensor | None = None,
    bias: Tensor | None = None,
    temperature: float = 1.0,
) -> Cell:
    """The weight of query `row` on `key`, from one head's q and k.

    Args:
        q: (i, d). k: (j, d). allow: bool (i, j), True = may look.
        row, key: counted from 0.
        bias: (i, j), what a position adds to the scaled scores.

    Raises:
        SizeError: sizes do not fit, or row or key is not there. MaskError: allow is no bool (i, j).
    """
    q, k = _exact(q), _exact(k)
    if q.dim() != 2 or k.dim() != 2 or q.shape[1] != k.shape[1]:
        raise SizeError(f"q {tuple(q.shape)}, k {tuple(k.shape)}: need (i, d) and (j, d)")
    if row not in range(len(q)) or key not in range(len(k)):
        raise SizeError(f"row={row}, key={key}: there are {len(q)} queries and {len(k)} keys, counted from 0")
    check_temperature(temperature)
    products = q[row] * k[key]
    scaled = q @ k.T / math.sqrt(q.shape[1])
    added = torch.zeros_like(scaled) if bias is None else _exact(bias).expand_as(scaled)
    scores = (scaled + added) / temperature
    allowed = _allowed(allow, scores)[row]
    masked = scores[row].masked_fill(~allowed, -math.inf)
    largest = _largest(masked)
    exps = (masked - largest).exp()
    weights = exps / exps.sum() if bool(allowed.any()) else torch.zeros_like(exps)
    return Cell(
        products=products,
        running=products.cumsum(0),
        dot=float(products.sum()),
        scaled=float(scaled[row, key]),
        bias=float(added[row, key]),
        score=float(scores[row, key]),
        allowed=bool(allowed[key]),
        scores=masked,
        exps=exps,
        weights=weights,
        largest=float(largest),
        total=float(exps.sum()),
        exp=float(exps[key]),
        weight=float(weights[key]),
    )


def entropy(weights: Tensor) -> Tensor:
    """(…, j) -> (…,): entropy of each row in bits: 0 when one key has it all, log2(j) when all share alike.

    A row of zeros, which may look at nobody, has 0.
    """
    bits: Tensor = torch.special.entr(weights).sum(dim=-1) / math.log(2)
    return bits


def entropy_of_random(d: int, keys: int, *, draws: int, seed: int, scaled: bool) -> float:
    """Mean entropy in bits of softmax rows over random keys: q and k are standard normal, so q·k has variance d.

    Args:
        d: channels of q and k. keys: how many keys a row has. draws: how many rows are averaged.
        scaled: with the division by √d.
    """
    generator = torch.Generator().manual_seed(seed)
    q = torch.randn(draws, 1, d, generator=generator, dtype=torch.float64)
    k = torch.randn(draws, keys, d, generator=generator, dtype=torch.float64)
    scores = (q @ k.mT).squeeze(1)
    return float(entropy(torch.softmax(scores / math.sqrt(d) if scaled else scores, dim=-1)).mean())


def weights_of(q: list[Tensor], k: list[Tensor], v: list[Tensor], o: Tensor) -> Weights:
    """A layer's weights from matrices as they are written by hand: x Wq, one (c, d) a head, and joined Wo, (c, c)."""
    joined = [torch.cat(tuple(heads), dim=1).T.contiguous() for heads in (q, k, v)]
    return Weights(joined[0], joined[1], joined[2], o.T.contiguous())


def _exact(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu().double()


def _allowed(allow: Tensor | None, scores: Tensor) -> Tensor:
    if allow is None:
        return torch.ones_like(scores, dtype=torch.bool)
    if allow.dtype != torch.bool or allow.shape != scores.shape:
        raise MaskError(f"allow must be bool {tuple(scores.shape)}, got {allow.dtype} {tuple(allow.shape)}")
    return allow.cpu()


def _largest(masked: Tensor) -> Tensor:
    """The largest of each row, kept as an axis; 0 where a row has nothing but −∞."""
    largest = masked.amax(dim=-1, keepdim=True)
    return largest.masked_fill(largest == -math.inf, 0.0)
