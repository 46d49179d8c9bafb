"""Multi-head attention in seven implementations that share one set of weights (`Weights`)."""

import torch

from ..errors import Unsupported
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
    "as_implementation",
    "attention",
    "implementation",
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


def implementation(name: str) -> type[AttentionLayer]:
    """Return the class of an implementation.

    Raises:
        Unsupported: no implementation has that name.
    """
    if name not in IMPLEMENTATIONS:
        raise Unsupported(f"implementation={name!r} is not known; choose one of {', '.join(IMPLEMENTATIONS)}")
    return IMPLEMENTATIONS[name]


def as_implementation(layer: AttentionLayer, name: str, device: torch.device | str | None = None) -> AttentionLayer:
    """Return a copy of a layer in another implementation, in eval mode and without gradients.

    Args:
        layer: the layer to copy; its weights and dtype are kept.
        name: a key of `IMPLEMENTATIONS`.
        device: of the copy; None keeps the device of the layer.

    Raises:
        Unsupported: no implementation has that name, or it cannot share key/value heads as this layer does.
    """
    kind, weights = implementation(name), layer.save()
    with torch.device("meta"):  # no random numbers for weights that are replaced at once
        twin = kind(
            layer.d_model,
            layer.n_heads,
            bias=layer.bias,
            out_bias=layer.out_bias,
            n_kv_heads=layer.n_kv_heads,
            v_bias=layer.v_bias,
        )
    twin = twin.to(weights.q.dtype).to_empty(device=weights.q.device if device is None else device)
    return twin.load(weights).eval().requires_grad_(False)
