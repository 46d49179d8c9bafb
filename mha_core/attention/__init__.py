"""Multi-head attention in several spellings that share one set of weights (`Weights`)."""

from __future__ import annotations

from .base import AttentionLayer
from .efficient import EfficientAttention
from .functional import attention, join_heads, split_heads
from .fused import FusedAttention
from .weights import Weights

__all__ = [
    "IMPLEMENTATIONS",
    "AttentionLayer",
    "MultiHeadAttention",
    "Weights",
    "attention",
    "join_heads",
    "split_heads",
]

IMPLEMENTATIONS: dict[str, type[AttentionLayer]] = {
    "efficient": EfficientAttention,
    "fused": FusedAttention,
}

MultiHeadAttention = FusedAttention
