"""What each bias of multi-head attention changes: one taken away at a time, everything else the same."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..attention import Weights
from .agreement import loaded
from .measures import largest_difference, relative_difference


@dataclass(frozen=True)
class Effect:
    """What one bias does.

    Attributes:
        name: of its projection, "q", "k", "v" or "o".
        numbers: how many parameters it is.
        out, maps: the relative difference of the output and of the maps without it, ‖without − with‖ / ‖with‖.
        spread: the largest distance of one token's change from the mean over the tokens; 0 = the same for every token.
    """

    name: str
    numbers: int
    out: float
    maps: float
    spread: float


def bias_effects(
    weights: Weights, n_heads: int, x: Tensor, *, allow: Tensor | None = None, dtype: torch.dtype = torch.float64
) -> list[Effect]:
    """The effect of each bias that the weights have, on x (b, i, d_model); by "efficient" in `dtype` on the CPU.

    That of k adds one number to a whole row of scores, which the softmax takes out again. That of v passes the weights,
    whose rows sum to 1, unchanged: with that of o it is one constant row, Wᵒ b_v + b_o, of every token that may look at
    some key.

    Raises:
        SizeError, MaskError: weights, heads, input and mask do not fit together.
    """
    x = x.detach().cpu().to(dtype)

    def run(of: Weights) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            out, maps = loaded("efficient", of, n_heads, dtype)(x, allow=allow)
        return out, maps

    out, maps = run(weights)
    effects = []
    for name in "qkvo":
        bias: Tensor | None = getattr(weights, f"{name}_bias")
        if bias is None:
            continue
        # set to 0 instead of taken away: the same sums in the same order, so that only the bias makes a difference
        without, without_maps = run(replace(weights, **{f"{name}_bias": torch.zeros_like(bias)}))
        change = (out - without).flatten(0, 1)
        effects.append(
            Effect(
                name,
                bias.numel(),
                relative_difference(without, out),
                relative_difference(without_maps, maps),
                largest_difference(change, change.mean(dim=0).expand_as(change)),
            )
        )
    return effects
