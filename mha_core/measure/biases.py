"""Effects of the biases of multi-head attention, each measured by setting it to 0."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..attention import Weights
from .agreement import load_layer
from .measures import largest_difference, relative_difference


@dataclass(frozen=True)
class Effect:
    """Effect of one bias.

    Attributes:
        name: of its projection, "q", "k", "v" or "o".
        numbers: the number of its parameters.
        out: the relative difference of the output without it, ‖without − with‖ / ‖with‖.
        maps: the same of the maps.
        spread: the largest distance of one token's change from the mean over the tokens; 0 = equal for every token.
    """

    name: str
    numbers: int
    out: float
    maps: float
    spread: float


def bias_effects(
    weights: Weights, n_heads: int, x: Tensor, *, allow: Tensor | None = None, dtype: torch.dtype = torch.float64
) -> list[Effect]:
    """Measure the effect of each bias on x (b, i, d_model), by "efficient" in `dtype` on the CPU.

    The bias of k adds one number to a whole row of scores, which the softmax cancels. That of v passes the weights
    unchanged, as their rows sum to 1: with that of o it adds one constant row, Wᵒ b_v + b_o, to every token that may
    attend to some key.

    Raises:
        SizeError, MaskError: weights, heads, input and mask do not fit together.
    """
    x = x.detach().cpu().to(dtype)

    def run(layer_weights: Weights) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            out, maps = load_layer("efficient", layer_weights, n_heads, dtype)(x, allow=allow)
        return out, maps

    out, maps = run(weights)
    effects = []
    for name in "qkvo":
        bias: Tensor | None = getattr(weights, f"{name}_bias")
        if bias is None:
            continue
        # set to 0 instead of removed: the same sums in the same order, so that only the bias makes a difference
        ablated, ablated_maps = run(replace(weights, **{f"{name}_bias": torch.zeros_like(bias)}))
        change = (out - ablated).flatten(0, 1)
        effects.append(
            Effect(
                name,
                bias.numel(),
                relative_difference(ablated, out),
                relative_difference(ablated_maps, maps),
                largest_difference(change, change.mean(dim=0).expand_as(change)),
            )
        )
    return effects
