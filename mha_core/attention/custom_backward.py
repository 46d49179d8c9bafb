"""A custom backward pass for softmax(q kᵀ) v that holds two score-sized tensors instead of three."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .functional import softmax_over_keys


def with_custom_backward(q: Tensor, k: Tensor, v: Tensor, allow: Tensor | None, scale: float) -> tuple[Tensor, Tensor]:
    """Return mixed (b, h, i, d) and weights (b, h, i, j), differentiable once.

    Args:
        q: (b, h, i, d).
        k: (b, h, j, d).
        v: (b, h, j, d).
        allow: bool, broadcasts to the scores, True = may attend.
        scale: factor on q kᵀ.
    """
    mixed, weights = _Attention.apply(q, k, v, allow, scale)  # type: ignore[no-untyped-call]
    return mixed, weights


class _Attention(torch.autograd.Function):
    """Autograd function for attention with s the scaled scores, w their softmax and m = w v.

    ∂v = wᵀ ∂m,  ∂w = ∂m vᵀ,  ∂s = w (∂w − Σⱼ ∂w w),  ∂q = scale ∂s k,  ∂k = scale ∂sᵀ q.

    Σⱼ ∂w w is ∂m · m, row by row, so ∂s can overwrite ∂w. (Dao et al. 2022, "FlashAttention", appendix B.)
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
        ctx.set_materialize_grads(False)  # the gradient of the maps is None if the loss does not use them
        return mixed, weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_mixed: Tensor | None, grad_weights: Tensor | None) -> tuple[Tensor | None, ...]:
        q, k, v, mixed, weights = ctx.saved_tensors
        grad_mixed = torch.zeros_like(mixed) if grad_mixed is None else grad_mixed
        grad_scores = grad_mixed @ v.mT  # ∂w; this buffer then becomes ∂s
        row_sums = (grad_mixed * mixed).sum(dim=-1, keepdim=True)
        if grad_weights is not None:
            grad_scores += grad_weights
            row_sums += (grad_weights * weights).sum(dim=-1, keepdim=True)
        # a key that is not allowed has weight 0, and so no gradient: the mask is not needed again
        grad_scores.sub_(row_sums).mul_(weights)
        grad_q, grad_k = (grad_scores @ k).mul_(ctx.scale), (grad_scores.mT @ q).mul_(ctx.scale)
        return grad_q, grad_k, weights.mT @ grad_mixed, None, None
