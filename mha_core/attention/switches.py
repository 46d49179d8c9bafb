"""The switches of a pass in one object, and the check that a layer can serve them."""

from typing import NamedTuple

import torch
from torch import Tensor

from ..errors import SizeError, Unsupported
from ..positions.base import Nothing, Position
from ..trace import Tracer, no_trace
from .functional import check_temperature
from .key_value import Past

EVERYTHING = frozenset({"maps", "rotate", "bias", "head_mask", "heads", "temperature", "kv_heads", "past", "handed"})
NO_POSITIONS = Nothing()


class Switches(NamedTuple):
    """Options of one pass, as `AttentionLayer.forward` takes them; a tuple, as it is made anew in every pass.

    Attributes:
        allow: bool (b|1, h|1, i, j), True = may look; None = everything is allowed.
        heads: bool (h,) or (b, h), True = on; None = all are on.
        past: keys and values of earlier tokens, which stand before the new ones; None = there are none.
        handed: bool (b|1, h|1, i, j), False keeps the weight and leaves its value out; None = all are handed on.
    """

    allow: Tensor | None = None
    position: Position = NO_POSITIONS
    heads: Tensor | None = None
    temperature: float = 1.0
    need_weights: bool = True
    trace: Tracer = no_trace
    past: Past | None = None
    handed: Tensor | None = None

    def check(self, layer: str, can: frozenset[str], batch: int, n_heads: int) -> None:
        """Raises unless `heads` and `temperature` are valid, and everything asked for is in `can`.

        Raises:
            SizeError: heads of another kind or shape. HeadlightError: no valid temperature. Unsupported: not in `can`.
        """
        heads = self.heads
        check_temperature(self.temperature)
        if heads is not None and not (
            isinstance(heads, Tensor) and heads.dtype == torch.bool and heads.shape in ((n_heads,), (batch, n_heads))
        ):
            got = f"{heads.dtype} {tuple(heads.shape)}" if isinstance(heads, Tensor) else type(heads).__name__
            raise SizeError(f"heads must be bool ({n_heads},) or ({batch}, {n_heads}), True = on, got {got}")
        asked = self.position.acts & {"rotate", "bias"}
        asked |= {"heads"} if heads is not None else set()
        asked |= {"temperature"} if self.temperature != 1.0 else set()
        asked |= {"head_mask"} if self.allow is not None and self.allow.shape[1] > 1 else set()
        asked |= {"past"} if self.past is not None else set()
        asked |= {"handed"} if self.handed is not None else set()
        if not asked <= can:
            able = ", ".join(sorted(can))
            raise Unsupported(f"{layer} cannot do {', '.join(sorted(asked - can))}; it can do {able}")
