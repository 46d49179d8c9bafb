"""One layer's tensors as the model's own pass recorded them, and how long its values are."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from . import pictures
from .settings import Settings
from .traces import traced

NAMES = {"q", "k", "scores", "masked", "weights"}


@dataclass(frozen=True)
class Recorded:
    """The tensors of one layer that a pass recorded, on the CPU.

    Attributes:
        q: (h, i, d). k: (h, j, d). scores, weights: (h, i, j).
        allow: (h, i, j), True = may look; None when everything is allowed.
        notices: what must be said of the pass, in whole sentences.
    """

    tokens: list[str]
    q: Tensor
    k: Tensor
    scores: Tensor
    weights: Tensor
    allow: Tensor | None
    notices: tuple[str, ...] = ()

    def bias(self, head: int, temperature: float) -> Tensor | None:
        """(i, j), what the scores of a head have beyond q·k / √d: the position's part; None when that is rounding."""
        plain = self.q[head].double() @ self.k[head].double().T / math.sqrt(self.q.shape[-1])
        beyond = self.scores[head].double() * temperature - plain
        return beyond if float(beyond.abs().max()) > 1e-4 * max(1.0, float(plain.abs().max())) else None


def recorded(settings: Settings, layer: int) -> Recorded:
    """One layer of the pass of these settings. Raises what `Model.run` raises."""
    trace = traced(settings, layer, "fused")
    steps = {step.name: step.value[0] for step in trace.steps if step.name in NAMES}
    masked = steps.pop("masked", None)
    return Recorded(trace.tokens, **steps, allow=None if masked is None else masked > -math.inf, notices=trace.notices)


def value_lengths(settings: Settings, layer: int) -> Tensor:
    """‖v‖ of every key in every head, (h, j): float32, of the pass, or of a recorded one of the layer.

    Weights tell who is looked at, and not how much is handed over. Heads that share their values have the same. Raises
    what `Model.run` raises.
    """
    model = pictures.model_of(settings)
    if "steps" not in model.can:
        v = pictures.picture(settings).run.extras.values[layer]
    else:
        v = next(step.value for step in traced(settings, layer, "fused").steps if step.name == "v")[0]
    found: Tensor = torch.linalg.vector_norm(v.float(), dim=-1)
    return found.repeat_interleave(model.sizes.n_heads // len(found), dim=0)
