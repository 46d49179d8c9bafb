"""Short descriptions of how a run differs from its model as trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from ..positions import Position, Sinusoidal
from ..token_text import quote_all

if TYPE_CHECKING:
    from .model import Model

_POSITION_NAMES = {"scaled:0.5": "halved", "scaled:2": "doubled"}


@dataclass(frozen=True)
class Interventions:
    """Differences between a run and its model as it was trained.

    Attributes:
        summary: a short description, including the mask that is built into the model.
        allow: bool (1|h, i, j), True = may attend, combined with the model's own mask; None = nothing is masked.
        heads_off: sorted pairs (layer, head), counted from 0, of the ablated heads.
        mlps_off: sorted layers, counted from 0, whose MLP is ablated.
        layers_off: sorted layers that are ablated.
    """

    summary: str = "nothing changed"
    allow: Tensor | None = None
    heads_off: tuple[tuple[int, int], ...] = ()
    mlps_off: tuple[int, ...] = ()
    layers_off: tuple[int, ...] = ()


def describe(
    model: Model,
    mask: Sequence[str] = (),
    *,
    position: str | Position = "trained",
    temperature: float = 1.0,
    n_heads_off: int = 0,
    n_mlps_off: int = 0,
    n_layers_off: int = 0,
    values_off: Sequence[str] = (),
) -> str:
    """Describe all changes, such as "mask causal, 1 head off", or return "nothing changed".

    Args:
        model: the model that is run.
        mask: descriptions of the mask, one per part.
        position: as in `Model.run`.
        temperature: as in `Model.run`.
        n_heads_off: number of ablated heads.
        n_mlps_off: number of ablated MLPs.
        n_layers_off: number of ablated layers.
        values_off: the tokens whose value is masked out for all other tokens.
    """
    parts = [*mask]
    if position != "trained":
        parts.append(_position_text(position, model))
    if temperature != 1:
        parts.append(f"temperature {temperature:g}")
    counts = {"head": n_heads_off, "MLP": n_mlps_off, "layer": n_layers_off}
    parts += [f"{count:,} {noun}{'' if count == 1 else 's'} off" for noun, count in counts.items() if count]
    if values_off:
        parts.append(ablated_values_text(values_off))
    built_in = "" if model.own_mask == "none" else f", {model.own_mask} mask: built in"
    return (", ".join(parts) or "nothing changed") + built_in


def ablated_values_text(tokens: Sequence[str]) -> str:
    """Describe the tokens whose values are ablated; "" if there are none."""
    return f"without the value of {quote_all(tokens)}" if tokens else ""


def is_as_trained(position: str | Position, model: Model) -> bool:
    """Return whether this position equals the one that the model was trained with."""
    trained = model.encoder.position if model.encoder else None
    if isinstance(position, Position):
        return position is trained
    if position == "sinusoidal":
        return model.sizes.position == position and isinstance(trained, Sinusoidal) and trained.amplitude == 1
    return position == "trained" or (position in ("rotary", "alibi", "none") and position == model.sizes.position)


def _position_text(position: str | Position, model: Model) -> str:
    name = _POSITION_NAMES.get(position, position) if isinstance(position, str) else type(position).__name__
    text = "no positions" if name == "none" else f"{name} positions"
    if is_as_trained(position, model):
        return f"{text}, as in training"
    return text if name == "none" else f"{text} (this model was not trained for them)"
