"""How long the values of a layer are: weights tell who is looked at, and not how much is handed over."""

import torch
from torch import Tensor

from . import pictures, traces
from .settings import Settings


def lengths(settings: Settings, layer: int) -> Tensor:
    """‖v‖ of every key in every head, (h, j): float32, of the pass, or of a recorded one of the layer.

    Heads that share their values have the same. Raises what `Model.run` raises.
    """
    if "steps" not in pictures.model_of(settings).can:
        v = pictures.picture(settings).run.values[layer]
    else:
        v = next(step.value for step in traces.traced(settings, layer, "fused").steps if step.name == "v")[0]
    found: Tensor = torch.linalg.vector_norm(v.float(), dim=-1)
    return found.repeat_interleave(pictures.model_of(settings).sizes.n_heads // len(found), dim=0)
