"""How long the values of a head are, as weights tell who is looked at and not how much is handed over."""

from __future__ import annotations

from . import traces
from .pictures import Picture
from .place import At


def lengths(picture: Picture, at: At) -> list[float]:
    """‖v‖ of every key in the head in focus, (j,): float32, computed in a recorded pass of its layer.

    Raises what `Model.run` raises.
    """
    steps = {step.name: step.value for step in traces.traced(picture.settings, at.layer, "fused").steps}
    found: list[float] = steps["v"][0, at.head].float().norm(dim=-1).tolist()
    return found
