"""Where a foreign model takes its positions from, and what stands there in a pass without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from . import seam

TABLES = ("position_embeddings", "embed_positions", "wpe", "position_embedding", "pos_embed", "pos_emb",
          "positions_embed", "positional_embedding")  # fmt: skip
BIASES = ("relative_attention_bias",)


def _angles_of_zero(scaling: float) -> Callable[[Any], Any]:
    def neutral(output: Any) -> Any:
        if isinstance(output, Tensor):  # complex numbers of length `scaling`
            return torch.full_like(output, scaling)
        if isinstance(output, dict):
            return {name: neutral(value) for name, value in output.items()}
        cos, sin = output
        return torch.full_like(cos, scaling), torch.zeros_like(sin)

    return neutral


def make_removable(model: nn.Module) -> frozenset[str]:
    """Readies the modules that give positions for passes without them, in which their output is a neutral one: rows of
    zeros, a bias of zero, or angles of 0. Says where they act, nothing = nowhere that is known.
    """
    acts = set[str]()
    for name, module in model.named_modules():
        last = name.rpartition(".")[2]
        if last in TABLES:
            acts.add("add")
            seam.without_positions(module, torch.zeros_like)
        elif last in BIASES:
            acts.add("bias")
            seam.without_positions(module, torch.zeros_like)
        elif "RotaryEmbedding" in type(module).__name__:
            acts.add("rotate")
            seam.without_positions(module, _angles_of_zero(getattr(module, "attention_scaling", 1.0)))
    return frozenset(acts)
