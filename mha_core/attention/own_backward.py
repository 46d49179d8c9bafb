"""softmax(q kᵀ) v with a backward pass of its own: two tensors of the size of the weights at a time, not three."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .functional import softmax_over_keys


def with_own_backward(q: Tensor, k: Tensor, v: Tensor, allow: Tensor | None, scale: float) -> tuple[Tensor, Tensor]:
    """q (b, h, i, d), k and v (b, h, j, d) -> mixed (b, h, i, d), weights (b, h, i, j); differentiable once."""
    mixed, weights = _Attention.apply(q, k, v, allow, scale)  # type: ignore[no-untyped-call]
    return mixed, weights


class _Attention(torch.autograd.Function):
    """With s the scaled scores, w their softmax and m = w v:

    ∂v = wᵀ ∂m,  ∂w = ∂m vᵀ,  ∂s = w (∂w − Σⱼ ∂w w),  ∂q = scale ∂s k,  ∂k = scale ∂sᵀ q.

    Σⱼ ∂w w is ∂m · m, row by row, so ∂s can be written over ∂w. (Dao et al. 2022, "FlashAttention", appendix B.)
    """

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, allow: Tensor | None, scale: float) -> tuple[Tensor, Tensor]:
        b, h, i, _ = q.shape
        flat_q, flat_k = q.reshape(b * h, i, -1), k.reshape(b * h, k.shape[2], -1)
        # product and factor in one call, so that no second tensor of the scores' size is written
        scores = torch.baddbmm(q.new_empty(()), flat_q, flat_k.mT, beta=0, alpha=scale).view(b, h, i, -1)
        weights = softmax_over_keys(scores, allow)
        mixed = weights @ v
        ctx.save_for_backward(q, k, v, mixed, weights)
        ctx.scale = scale
        ctx.set_materialize_grads(False)  # a loss that does not look at the maps brings no gradient for them
        return mixed, weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_mixed: Tensor | None, of_weights: Tensor | None) -> tuple[Tensor | None, ...]:
        q, k, v, mixed, weights = ctx.saved_tensors
        of_mixed = torch.zeros_like(mixed) if of_mixed is None else of_mixed
        of_scores = of_mixed @ v.mT  # ∂w, and from here on the one buffer that becomes ∂s
        row = (of_mixed * mixed).sum(dim=-1, keepdim=True)
        if of_weights is not None:
            of_scores += of_weights
            row += (of_weights * weights).sum(dim=-1, keepdim=True)
        # a key that is not allowed has weight 0, and so no gradient: the mask is not needed again
        of_scores.sub_(row).mul_(weights)
        of_q, of_k = (of_scores @ k).mul_(ctx.scale), (of_scores.mT @ q).mul_(ctx.scale)
        return of_q, of_k, weights.mT @ of_mixed, None, None
