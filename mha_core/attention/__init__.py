"""Multi-head attention in seven spellings that share one set of weights (`Weights`)."""

from __future__ import annotations

from .base import AttentionLayer
from .efficient import EfficientAttention
from .einsum import EinsumAttention
from .functional import attention, join_heads, split_heads
from .fused import FusedAttention
from .naive import NaiveAttention
from .sdpa import SdpaAttention
from .sequence_first import SequenceFirstAttention
from .torch_module import TorchAttention
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
    "naive": NaiveAttention,
    "efficient": EfficientAttention,
    "fused": FusedAttention,
    "einsum": EinsumAttention,
    "sequence_first": SequenceFirstAttention,
    "sdpa": SdpaAttention,
    "torch": TorchAttention,
}

MultiHeadAttention = FusedAttention
