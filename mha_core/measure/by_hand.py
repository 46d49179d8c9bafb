"""Attention step by step, in float64 on the CPU, as one works it out with pencil and paper.

The layers of `mha_core.attention` do the same in as few operations as they can; here every intermediate result is
kept.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..attention import Weights
from ..attention.functional import check_temperature, softmax_over_keys
from ..errors import MaskError, SizeError

MAX_EXPONENT = 88.7  # exp of more than this overflows float32


@dataclass(frozen=True)
class Stages:
    """Softmax over the keys with all intermediate results.

    Attributes:
        scaled: (i, j), the scores after the division.
        masked: (i, j), −∞ where not allowed.
        subtracted: (i, 1), subtracted from each row before exp: 0, or its maximum if exp could overflow.
        exps: (i, j), exp of the differences.
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
    """Compute softmax(scores / divisor) v and keep every step.

    Args:
        scores: (i, j).
        v: (j, c).
        allow: bool (i, j), True = may attend.
        divisor: √d in the paper; 1 for no scaling.

    Raises:
        SizeError: scores and v do not fit together.
        MaskError: allow is no bool (i, j).
    """
    scores, v = _exact(scores), _exact(v)
    if scores.dim() != 2 or v.dim() != 2 or scores.shape[1] != v.shape[0]:
        raise SizeError(f"scores {tuple(scores.shape)}, v {tuple(v.shape)}: need (i, j) and (j, c)")
    allow = _checked_mask(allow, scores)
    scaled = scores / divisor
    masked = scaled.masked_fill(~allow, -math.inf)
    maximum = _row_max(masked)
    subtracted = maximum if float(maximum.max()) > MAX_EXPONENT else torch.zeros_like(maximum)
    exps = (masked - subtracted).exp()
    weights = softmax_over_keys(scaled.clone(), allow)
    return Stages(scaled, masked, subtracted, exps, exps.sum(dim=-1, keepdim=True), weights, weights @ v)


def softmax_three_ways(scores: Tensor, allow: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the masked softmax in three common ways, which differ on rows without an allowed key.

    Args:
        scores: (i, j), any floating dtype.
        allow: bool (i, j), True = may attend.

    Returns:
        weights (i, j) three times: this package's, 0 in an empty row; with −∞ on forbidden scores and nothing else, NaN
        there; with −1e9 instead of −∞, the same weight on every forbidden key there.

    Raises:
        SizeError: scores have not two axes.
        MaskError: allow is no bool (i, j).
    """
    if scores.dim() != 2:
        raise SizeError(f"scores {tuple(scores.shape)}: need (i, j)")
    allow = _checked_mask(allow, scores).to(scores.device)
    plain, large = (scores.masked_fill(~allow, fill).softmax(dim=-1) for fill in (-math.inf, -1e9))
    return softmax_over_keys(scores.clone(), allow), plain, large


@dataclass(frozen=True)
class Cell:
    """Attention weight of one query on one key, with the intermediate results that lead to it.

    Attributes:
        products: (d,), q·k channel by channel.
        running: (d,), the cumulative sum of `products`.
        dot: the sum of `products`.
        scaled: dot / √d.
        bias: the position's part of the score.
        score: (scaled + bias) / temperature.
        allowed: whether the query may look at the key.
        scores: (j,), the row's scores, −∞ where not allowed.
        exps: (j,), exp(score − row_max).
        weights: (j,), the row's weights.
        row_max: the row's largest score; 0 where nothing is allowed.
        total: the sum of the row's exps.
        exp: of this cell.
        weight: of this cell.
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
    row_max: float
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
    """Compute the weight of query `row` on `key` from one head's q and k, with all intermediate results.

    Args:
        q: (i, d).
        k: (j, d).
        row: the query, counted from 0.
        key: counted from 0.
        allow: bool (i, j), True = may attend.
        bias: (i, j), which a position adds to the scaled scores.
        temperature: divides the scores.

    Raises:
        SizeError: sizes do not fit, or row or key is out of range.
        MaskError: allow is no bool (i, j).
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
    allowed = _checked_mask(allow, scores)[row]
    masked = scores[row].masked_fill(~allowed, -math.inf)
    maximum = _row_max(masked)
    exps = (masked - maximum).exp()
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
        row_max=float(maximum),
        total=float(exps.sum()),
        exp=float(exps[key]),
        weight=float(weights[key]),
    )


def entropy(weights: Tensor) -> Tensor:
    """Compute the entropy of each row in bits, (…, j) -> (…,).

    It is 0 when one key has the whole weight, log2(j) when all have the same, and 0 in a row of zeros.
    """
    bits: Tensor = torch.special.entr(weights).sum(dim=-1) / math.log(2)
    return bits


def random_entropy(d: int, keys: int, *, draws: int, seed: int, scaled: bool) -> float:
    """Estimate the mean entropy in bits of softmax rows for standard normal q and k.

    The variance of q·k is d.

    Args:
        d: channels of q and k.
        keys: the number of keys in a row.
        draws: the number of rows that are averaged.
        seed: of the random numbers.
        scaled: divide the scores by √d.
    """
    generator = torch.Generator().manual_seed(seed)
    q = torch.randn(draws, 1, d, generator=generator, dtype=torch.float64)
    k = torch.randn(draws, keys, d, generator=generator, dtype=torch.float64)
    scores = (q @ k.mT).squeeze(1)
    return float(entropy(torch.softmax(scores / math.sqrt(d) if scaled else scores, dim=-1)).mean())


def weights_from_matrices(q: list[Tensor], k: list[Tensor], v: list[Tensor], o: Tensor) -> Weights:
    """Build a layer's weights from matrices that multiply x from the right.

    Args:
        q: (c, d) per head.
        k: (c, d) per head.
        v: (c, d) per head.
        o: (c, c), for the joined heads.
    """
    joined = [torch.cat(tuple(heads), dim=1).T.contiguous() for heads in (q, k, v)]
    return Weights(joined[0], joined[1], joined[2], o.T.contiguous())


def _exact(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu().double()


def _checked_mask(allow: Tensor | None, scores: Tensor) -> Tensor:
    if allow is None:
        return torch.ones_like(scores, dtype=torch.bool)
    if allow.dtype != torch.bool or allow.shape != scores.shape:
        raise MaskError(f"allow must be bool {tuple(scores.shape)}, got {allow.dtype} {tuple(allow.shape)}")
    return allow.cpu()


def _row_max(masked: Tensor) -> Tensor:
    """Return the maximum of each row with its axis kept, 0 for a row of −∞."""
    maximum = masked.amax(dim=-1, keepdim=True)
    return maximum.masked_fill(maximum == -math.inf, 0.0)
