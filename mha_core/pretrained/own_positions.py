"""Where a foreign model takes its positions from, and what stands there in a pass without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from ..positions import Position
from . import seam

TABLES = ("position_embeddings", "embed_positions", "wpe", "position_embedding", "pos_embed", "pos_emb",
          "positions_embed", "positional_embedding")  # fmt: skip
BIASES = ("relative_attention_bias",)


class OwnPosition(Position):
    """Stands for the positions inside a model of transformers, which says only where they act."""

    def __init__(self, acts: frozenset[str]) -> None:
        super().__init__()
        self.acts = acts


def places(model: nn.Module) -> Iterator[tuple[str, nn.Module, Callable[[Any], Any]]]:
    """The modules that give positions: where they act, and what makes a neutral output of theirs: rows of zeros, a
    bias of zero, or angles of 0.
    """
    for name, module in model.named_modules():
        last = name.rpartition(".")[2]
        if last in TABLES:
            yield "add", module, torch.zeros_like
        elif last in BIASES:
            yield "bias", module, torch.zeros_like
        elif "RotaryEmbedding" in type(module).__name__:
            yield "rotate", module, _angles_of_zero(getattr(module, "attention_scaling", 1.0))


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
    """Readies the model for passes without positions, see `seam.without_positions`; where they act, nothing = nowhere
    that is known.
    """
    found = list(places(model))
    seam.without_positions((module, neutral) for _, module, neutral in found)
    return frozenset(place for place, _, _ in found)
