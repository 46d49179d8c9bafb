"""Weights of calls to torch's `scaled_dot_product_attention` and `multi_head_attention_forward`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ..attention.functional import kernel_scores, softmax_over_keys
from ..errors import SizeError, Unsupported

_MHA = inspect.signature(F.multi_head_attention_forward)
AttentionWeights = tuple[Tensor, bool | None]  # weights (h, i, j), and whether it is self-attention; None: unknown


@torch.no_grad()
def attention_weights(
    func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], batch: int, check: Callable[[int], None]
) -> AttentionWeights | None:
    """Return the weights of one text of the batch, before dropout, or None for another function.

    Args:
        func: the function called.
        args: its positional arguments.
        kwargs: its keyword arguments.
        batch: index of the text.
        check: called with the number of weights before they are computed; raises if there are too many.
    """
    if func is F.scaled_dot_product_attention:
        return _sdpa_weights(batch, check, *args, **kwargs)
    if func is F.multi_head_attention_forward:
        return _mha_weights(batch, check, _MHA.bind(*args, **kwargs))
    return None


def _sdpa_weights(
    batch: int,
    check: Callable[[int], None],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> AttentionWeights:
    """Compute the weights for queries (b, …, h, i, d), or (h, i, d) of one text.

    Axes between b and h count as heads. Under `torch.func.vmap` its axis is b.
    """
    if query.is_nested:
        raise Unsupported("watch() reads no nested tensors; give the module padded ones")
    j = key.shape[-2]
    check(math.prod(query.shape[1 if query.dim() > 3 else 0 : -1]) * j)
    is_vmapped = any(torch.func.debug_unwrap(x).dim() > x.dim() for x in (query, key))
    first = None if is_vmapped else batch
    q, k = _one_text(query, first), _one_text(key, first)
    if attn_mask is not None:
        attn_mask = _one_text(attn_mask.expand(*query.shape[:-1], j), first)
    scores = kernel_scores(q, k, attn_mask, is_causal, scale, enable_gqa)
    scores = _one_text(torch.func.debug_unwrap(scores), batch if is_vmapped else None)
    weights = softmax_over_keys(scores, ~scores.isneginf())
    return one_text_heads(weights, None), None


def _mha_weights(batch: int, check: Callable[[int], None], call: inspect.BoundArguments) -> AttentionWeights:
    """Repeat the call with the weights of every head requested and without dropout.

    A row without a key, NaN where weights are requested, is 0, as in a pass that requests none.
    """
    query, key = (torch.func.debug_unwrap(call.arguments[name]) for name in ("query", "key"))
    check((query.shape[1] if query.dim() == 3 else 1) * call.arguments["num_heads"] * len(query) * len(key))
    call.arguments.update(need_weights=True, average_attn_weights=False, training=False)
    weights: Tensor = F.multi_head_attention_forward(*call.args, **call.kwargs)[1]  # type: ignore[assignment]
    weights = torch.func.debug_unwrap(weights)
    if bool(weights.isnan().any()):
        zeros = {name: torch.zeros_like(call.arguments[name]) for name in ("query", "key", "value")}
        call.arguments.update(zeros, in_proj_bias=None)  # scores of 0: NaN is left only where the masks leave no key
        masks: Tensor = F.multi_head_attention_forward(*call.args, **call.kwargs)[1]  # type: ignore[assignment]
        weights = weights.masked_fill(torch.func.debug_unwrap(masks).isnan(), 0)
    # slices of one sequence share its address
    return one_text_heads(weights, batch), query.data_ptr() == key.data_ptr()


def one_text_heads(weights: Tensor, batch: int | None) -> Tensor:
    """Return the weights (h, i, j) of one text; up to three axes are one text already."""
    weights = _one_text(weights, batch)
    return weights.flatten(0, -3) if weights.dim() > 2 else weights[None]


def _one_text(x: Tensor, batch: int | None) -> Tensor:
    """Select one text, (b, …, i, d) -> (…, i, d), in at least float32; up to three axes are one text already."""
    if x.dim() > 3 and batch is not None:
        if not 0 <= batch < len(x):
            raise SizeError(f"batch={batch} is not there; the module was given {len(x)} texts, counted from 0")
        x = x[batch]
    return x if x.dtype in (torch.bool, torch.float64) else x.float()
