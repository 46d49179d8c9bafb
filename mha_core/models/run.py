"""The result of one text's way through a model."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..trace import Step

__all__ = ["Run"]


@dataclass(frozen=True)
class Run:
    """One sentence's way through a model. Tensors are detached, on the model's device and in its dtype.

    Attributes:
        tokens: as the tokenizer cut them, "##" kept, special tokens in.
        ids: their numbers in the vocabulary.
        weights: (layers, h, i, j), every head's map.
        hidden: (layers + 1, i, d_model); [0] = the embeddings after their norm.
        sentence: (d_model,), the last hidden state's mean over all tokens, scaled to length 1.
        steps: the steps of the traced layer, otherwise empty.
        device: where it was computed.
        notices: what happened that was not asked for, in whole sentences.
    """

    tokens: list[str]
    ids: list[int]
    weights: Tensor
    hidden: Tensor
    sentence: Tensor
    steps: tuple[Step, ...]
    device: torch.device
    notices: tuple[str, ...]
