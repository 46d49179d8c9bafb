"""One layer's tensors as the model's own pass recorded them."""

import math
from dataclasses import dataclass

from torch import Tensor

from pages.kit.picture.settings import Settings

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
