"""Kernels for softmax(q kᵀ / √d + bias) v behind one signature, so that a layer has no branch."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from ..trace import no_trace
from .custom_backward import with_custom_backward
from .functional import SCORES, mixing_weights, softmax_over_keys
from .switches import Switches


def weighted_sum(
    q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, switches: Switches, dropout: float = 0.0
) -> tuple[Tensor, Tensor | None]:
    """Return the weighted sums of the values, and the weights where a step computes them.

    Three kernels give the same numbers up to rounding: torch's own where no maps are needed, a custom backward pass
    that stores less for maps with gradients, and the explicit steps otherwise.

    Args:
        q: (b, h, i, d).
        k: (b, h, j, d).
        v: (b, h, j, d).
        bias: added to the scaled scores.
        switches: options of the pass.
        dropout: probability of dropping a weight.

    Returns:
        the sums (b, h, i, d), and the weights (b, h, i, j); None from torch's kernel.
    """
    plain = bias is None and switches.ablate.values is None and switches.trace is no_trace
    if plain and not switches.need_weights:
        return sdpa_kernel(q, k, v, None, switches, dropout), None
    if plain and q.requires_grad and not dropout:
        return with_custom_backward(q, k, v, switches.allow, _scale(q, switches))
    weights = explicit_weights(q, k, None if bias is None else bias / switches.temperature, switches)
    return mixing_weights(weights, dropout, switches.ablate.values, switches.trace) @ v, weights


def explicit_weights(q: Tensor, k: Tensor, divided_bias: Tensor | None, switches: Switches) -> Tensor:
    """Return the maps (b, h, i, j), bit-equal to those of transformers by the same order of operations.

    `divided_bias` is already divided by the temperature.
    """
    scaled = (q @ k.mT).mul_(_scale(q, switches))
    scores = scaled if divided_bias is None else scaled + divided_bias
    switches.trace("scores", scores, "b h i j", SCORES, inputs=("q", "k"))
    return softmax_over_keys(scores, switches.allow, switches.trace)


def sdpa_kernel(
    q: Tensor, k: Tensor, v: Tensor, divided_bias: Tensor | None, switches: Switches, dropout: float = 0.0
) -> Tensor:
    """Return the weighted sums of F.scaled_dot_product_attention, without maps.

    It walks over the keys in blocks with a running softmax and never builds the weights, as FlashAttention does
    (Dao et al. 2022, section 3.1). It takes one mask: bool, or a number added to each score, −∞ where not allowed.
    `divided_bias` is already divided by the temperature.
    """
    allow, scale = switches.allow, _scale(q, switches)
    if divided_bias is None:
        return F.scaled_dot_product_attention(q, k, v, allow, dropout_p=dropout, scale=scale)
    if allow is None:
        return F.scaled_dot_product_attention(q, k, v, divided_bias, dropout_p=dropout, scale=scale)
    empty = ~allow.any(dim=-1, keepdim=True)
    # the softmax of a row of −∞ is NaN: an empty row keeps its numbers, and its result is set to 0 afterwards
    added = divided_bias.masked_fill(~allow & ~empty, -torch.inf)
    summed = F.scaled_dot_product_attention(q, k, v, added, dropout_p=dropout, scale=scale)
    return summed.masked_fill(empty, 0.0)


def _scale(q: Tensor, switches: Switches) -> float:
    """Return 1 / (√d_head · temperature): both divide the scores, so one factor does."""
    return 1 / (math.sqrt(q.shape[-1]) * switches.temperature)
