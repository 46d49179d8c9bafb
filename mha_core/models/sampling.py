"""Sampling of the next token: temperature, top-k and top-p act on its logits in turn, then the seed decides.

Each stage takes logits, (v,), and returns them with −∞ for the tokens that it cuts, as the logits processors of
transformers do; the softmax of what is left renormalises it.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ..errors import HeadlightError

MAX_TOP_K = 999_999  # more tokens than any vocabulary has


def divide(logits: Tensor, temperature: float) -> Tensor:
    """Return the logits divided by the temperature; at 0, its limit, the likeliest token alone is left (greedy).

    Raises:
        HeadlightError: the temperature is negative or not finite.
    """
    if not (isinstance(temperature, (int, float)) and 0 <= temperature < math.inf):
        raise HeadlightError(f"sampling temperature={temperature!r}; choose 0 (the likeliest) or a number above it")
    if temperature:
        return logits / temperature
    return torch.full_like(logits, -math.inf).index_fill_(0, logits.argmax(), 0.0)


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """Return the k largest logits, all that equal the last of them, and −∞ for the others; 0 keeps every token.

    Raises:
        HeadlightError: k is no whole number from 0.
    """
    if not (isinstance(k, int) and k >= 0):
        raise HeadlightError(f"top_k={k!r}; choose 0 (off) or how many tokens may be kept")
    return logits.masked_fill(logits < logits.topk(min(k, len(logits))).values[-1], -math.inf) if k else logits


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """Return the fewest largest logits whose probabilities sum to p, at least one, and −∞ for the others; 1 keeps all.

    Of equal logits the first ones are kept; in transformers that depends on how the machine sorts.

    Raises:
        HeadlightError: p is no number from 0 to 1.
    """
    if not (isinstance(p, (int, float)) and 0 <= p <= 1):
        raise HeadlightError(f"top_p={p!r}; choose 1 (off) or a smaller number, at least 0")
    if p == 1:
        return logits
    ids = logits.argsort(descending=True, stable=True).flip(0)
    cut = logits[ids].softmax(0).cumsum(0) <= 1 - p
    cut[-1] = False
    return logits.masked_fill(torch.zeros_like(cut).scatter_(0, ids, cut), -math.inf)


def stages(
    logits: Tensor, temperature: float = 0.0, top_k: int = 0, top_p: float = 1.0, suppressed_ids: Sequence[int] = ()
) -> dict[str, Tensor]:
    """Return the logits and what each stage leaves of them, in the order in which they act.

    Args:
        logits: (v,); the largest one is subtracted first, so that a temperature near 0 does not overflow.
        temperature: of sampling, unrelated to that of attention; 0 = greedy.
        top_k: how many tokens are kept; 0 = all.
        top_p: how much probability is kept; 1 = all.
        suppressed_ids: tokens that are never chosen.

    Returns:
        "model", "temperature", "top-k" and "top-p", each (v,) in float64 on the CPU.

    Raises:
        HeadlightError: an argument is out of its range.
    """
    model = logits.detach().to("cpu", torch.float32, copy=True)
    model[list(suppressed_ids)] = -math.inf
    model = (model - model.max()).double()
    divided = divide(model, temperature)
    top = keep_top_k(divided, top_k)
    return {"model": model, "temperature": divided, "top-k": top, "top-p": keep_top_p(top, top_p)}


def sample(logits: Tensor, seed: int = 0, place: int = 0) -> int:
    """Return a token sampled by the softmax of the logits, (v,) in float64.

    Args:
        logits: (v,), −∞ for tokens that cannot be sampled.
        seed: of the random number generator.
        place: the index of the draw for this seed, so that it does not depend on earlier draws.

    Raises:
        HeadlightError: the seed is no whole number from 0.
    """
    if not (isinstance(seed, int) and 0 <= seed < 2**32):
        raise HeadlightError(f"seed={seed!r}; choose a whole number from 0 to {2**32 - 1}")
    generator = torch.Generator().manual_seed(seed)  # torch's default generator is shared by all threads
    point = torch.rand(place + 1, generator=generator, dtype=torch.float64)[place]
    chances = torch.softmax(logits, dim=0).cumsum(dim=0)
    return int(torch.searchsorted(chances, point * chances[-1], right=True))


def choose(
    logits: Tensor,
    temperature: float = 0.0,
    seed: int = 0,
    place: int = 0,
    suppressed_ids: Sequence[int] = (),
    *,
    top_k: int = 0,
    top_p: float = 1.0,
) -> int:
    """Return the likeliest next token, or one sampled from what `stages` leaves; see there and at `sample`.

    Raises:
        HeadlightError: an argument is out of its range.
    """
    return sample(stages(logits, temperature, top_k, top_p, suppressed_ids)["top-p"], seed, place)
