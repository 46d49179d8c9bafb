"""Validated switches of a run, ready for whichever stack computes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .. import masks
from ..device import copy_to
from ..positions import Position
from .block import StackAblation
from .inputs import Mask, is_no_mask, position_for
from .interventions import Interventions, describe
from .stack import Stack

if TYPE_CHECKING:
    from .model import Model


@dataclass(frozen=True)
class RunSwitches:
    """Validated switches of a run; called with a stack, they return the keyword arguments of its pass.

    Attributes:
        model: the model that is run.
        mask: the requested mask, without the model's own.
        position: as in `Model.run`.
        temperature: as in `Model.run`.
        allow: both masks combined, bool (b|1, h|1, i, j); None = nothing is masked.
        ablate: parts that are off.
        values_off: positions of tokens whose value is off, for the description.
    """

    model: Model
    mask: Mask
    position: str | Position
    temperature: float
    allow: Tensor | None
    ablate: StackAblation
    values_off: tuple[int, ...]

    def __call__(self, stack: Stack) -> dict[str, Any]:
        """Return the keyword arguments of a forward pass of this stack, on its device."""
        encoding = position_for(stack, self.position)
        if encoding is self.position and stack is not self.model.encoder:  # the caller's encoding stays on its device
            encoding = copy_to(encoding, stack.device)
        return {
            "allow": None if self.allow is None else self.allow.to(stack.device),
            "position": encoding,
            "ablate": self.ablation_on(stack.device),
            "temperature": self.temperature,
        }

    def ablation_on(self, device: torch.device) -> StackAblation:
        """Return the ablation with its tensors on a device."""
        heads, values = (None if mask is None else mask.to(device) for mask in self.ablate[:2])
        return self.ablate._replace(heads=heads, values=values)

    def interventions(
        self, tokens: Sequence[str], row: int = 0, key_tokens: Sequence[str] | None = None
    ) -> Interventions:
        """Describe the changes for the text in one row of the batch; `key_tokens` as in `Run`."""
        keys = tokens if key_tokens is None else key_tokens
        n, allow = len(keys), self.allow
        if allow is not None:
            allow = allow[row if len(allow) > 1 else 0, :, : len(tokens), :n]
            allow = None if bool(allow.all()) else allow
        heads = self.ablate.heads
        off = () if heads is None else tuple((layer, head) for layer, head in (~heads).nonzero().tolist())
        summary = describe(
            self.model,
            _mask_text(self.mask),
            position=self.position,
            temperature=self.temperature,
            n_heads_off=len(off),
            n_mlps_off=len(self.ablate.mlps),
            n_layers_off=len(self.ablate.layers),
            values_off=[keys[place] for place in sorted(set(self.values_off)) if place < n],
        )
        return Interventions(summary, allow, off, *(tuple(sorted(layers)) for layers in self.ablate[2:]))


def _mask_text(mask: Mask) -> list[str]:
    if is_no_mask(mask):
        return []
    if mask is masks.causal:
        return ["mask causal"]
    if isinstance(mask, str):
        return [f"mask {mask.replace(':', ' ')}"]
    return [f"a mask given as a {'tensor' if isinstance(mask, Tensor) else 'rule'}"]
