"""What a run does otherwise than its model as it was trained, in a few words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from ..positions import Position, Sinusoidal

if TYPE_CHECKING:
    from .model import Model

_NAMES = {"scaled:0.5": "halved", "scaled:2": "doubled"}


@dataclass(frozen=True)
class Changes:
    """What a run did otherwise than its model as it was trained.

    Attributes:
        said: all of it in a few words, with the mask that is built into the model.
        allow: bool (1|h, i, j), True = may look, the model's own mask in it; None = everything may be looked at.
        heads_off: sorted pairs (layer, head), counted from 0, whose output was set to 0.
    """

    said: str = "nothing changed"
    allow: Tensor | None = None
    heads_off: tuple[tuple[int, int], ...] = ()


def in_words(
    model: Model,
    mask: Sequence[str] = (),
    *,
    position: str | Position = "trained",
    temperature: float = 1.0,
    heads_off: int = 0,
    values_off: Sequence[str] = (),
) -> str:
    """Everything that is changed, "mask causal, 1 head off"; "nothing changed" where nothing is.

    Args:
        mask: what is said of the mask, a part each.
        heads_off: how many are.
        values_off: the tokens whose value no other token mixes in.
    """
    parts = [*mask]
    if position != "trained":
        parts.append(_of_position(position, model))
    if temperature != 1:
        parts.append(f"temperature {temperature:g}")
    if heads_off:
        parts.append(f"{heads_off:,} head{'' if heads_off == 1 else 's'} off")
    if values_off:
        parts.append(without_values(values_off))
    built_in = "" if model.own_mask == "none" else f", {model.own_mask} mask: built in"
    return (", ".join(parts) or "nothing changed") + built_in


def named(tokens: Sequence[str]) -> str:
    """Tokens in quotation marks: "“it” and “animal”"."""
    return " and ".join(f"“{token}”" for token in tokens)


def without_values(tokens: Sequence[str]) -> str:
    """Says that these tokens are looked at and hand nothing on; "" without any."""
    return f"without the value of {named(tokens)}" if tokens else ""


def as_trained(position: str | Position, model: Model) -> bool:
    """True when a position is just what the model was trained with."""
    own = model.encoder.position if model.encoder else None
    if isinstance(position, Position):
        return position is own
    if position == "sinusoidal":
        return model.sizes.position == position and isinstance(own, Sinusoidal) and own.amplitude == 1
    return position == "trained" or (position in ("rotary", "alibi", "none") and position == model.sizes.position)


def _of_position(position: str | Position, model: Model) -> str:
    name = _NAMES.get(position, position) if isinstance(position, str) else type(position).__name__
    said = "no positions" if name == "none" else f"{name} positions"
    if as_trained(position, model):
        return f"{said}, as it was trained"
    return said if name == "none" else f"{said} (this model was not trained for them)"
