"""Blocks written out from their parameters alone, as an oracle for stacks."""

import torch
from torch import Tensor, nn

from mha_core.models.block import AttentionBlock
from mha_core.positions import LayerPart, Position

from .dense import dense_attention

__all__ = ["dense_block", "layer_norm"]


def layer_norm(x: Tensor, norm: nn.Module) -> Tensor:
    """(x − mean) / √(variance + ε) · weight + bias, without any of torch's norms; x itself where there is no norm."""
    if not isinstance(norm, nn.LayerNorm):
        return x
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred / (centred.square().mean(dim=-1, keepdim=True) + norm.eps).sqrt() * norm.weight + norm.bias


def dense_block(
    block: nn.Module, x: Tensor, allow: Tensor | None, position: Position, memory: Tensor | None = None
) -> Tensor:
    """The output (b, i, c) of a block, with each norm before or after its part; it looks at x, or at a memory."""
    assert isinstance(block, AttentionBlock)
    inner = x if block.norm_after else layer_norm(x, block.attention_norm)
    weights, h = block.attention.save(), block.attention.n_heads
    looked_at = inner if memory is None else memory
    mixed, _ = dense_attention(weights, inner, looked_at, looked_at, h, allow=allow, position=LayerPart(position))
    x = x + mixed if block.residual else mixed
    x = layer_norm(x, block.attention_norm) if block.norm_after else x
    if block.feed_forward is None:
        return x
    norm, expand, _, contract = block.feed_forward
    assert isinstance(expand, nn.Linear)
    assert isinstance(contract, nn.Linear)
    inner = layer_norm(x, norm) @ expand.weight.T + expand.bias
    inner = inner * 0.5 * (1 + torch.erf(inner / 2**0.5))  # gelu
    fed = inner @ contract.weight.T + contract.bias
    return layer_norm(x + fed if block.residual else fed, block.output_norm)
