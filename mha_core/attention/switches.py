"""Options of one pass in one object, and the check that a layer supports them."""

from typing import NamedTuple

import torch
from torch import Tensor

from ..errors import SizeError, Unsupported
from ..positions.base import Nothing, Position
from ..trace import Tracer, no_trace
from .functional import check_temperature

EVERYTHING = frozenset(
    {"maps", "rotate", "bias", "head_mask", "heads", "temperature", "kv_heads", "cache", "values_off"}
)
NO_POSITIONS = Nothing()


class Ablation(NamedTuple):
    """Heads and values that a pass leaves out of its output; the maps stay unchanged.

    Attributes:
        heads: bool (h,) or (b, h), False ablates a head: its mixed output is 0; None = none ablated.
        values: bool (b|1, h|1, i, j), False drops weight · value of this key for this query (value zeroing, Mohebbi et
            al. 2023); None = none dropped.
    """

    heads: Tensor | None = None
    values: Tensor | None = None


class Switches(NamedTuple):
    """Options of one pass, as `AttentionLayer.forward` takes them; a tuple, because every pass creates one.

    Attributes:
        allow: bool (b|1, h|1, i, j), True = may attend; None = everything is allowed.
    """

    allow: Tensor | None = None
    position: Position = NO_POSITIONS
    temperature: float = 1.0
    need_weights: bool = True
    trace: Tracer = no_trace
    ablate: Ablation = Ablation()

    def check(self, layer: str, can: frozenset[str], batch: int, n_heads: int) -> None:
        """Check heads and temperature, and that everything needed is in `can`.

        Raises:
            SizeError: heads of another dtype or shape.
            HeadlightError: an invalid temperature.
            Unsupported: an option that is not in `can`.
        """
        heads, values = self.ablate
        check_temperature(self.temperature)
        if heads is not None and not (
            isinstance(heads, Tensor) and heads.dtype == torch.bool and heads.shape in ((n_heads,), (batch, n_heads))
        ):
            got = f"{heads.dtype} {tuple(heads.shape)}" if isinstance(heads, Tensor) else type(heads).__name__
            raise SizeError(f"heads must be bool ({n_heads},) or ({batch}, {n_heads}), True = on, got {got}")
        needs = self.position.mechanisms & {"rotate", "bias"}
        needs |= {"heads"} if heads is not None else set()
        needs |= {"temperature"} if self.temperature != 1.0 else set()
        needs |= {"head_mask"} if self.allow is not None and self.allow.shape[1] > 1 else set()
        needs |= {"values_off"} if values is not None else set()
        if not needs <= can:
            supported = ", ".join(sorted(can))
            raise Unsupported(f"{layer} cannot do {', '.join(sorted(needs - can))}; it can do {supported}")
