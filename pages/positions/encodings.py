"""Positional encodings of any size in float64 on the CPU, built from the core's classes."""

import copy
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from headlight.link.limits import check_sizes
from headlight.picture import pictures
from mha_core import positions
from mha_core.attention.functional import check_heads
from mha_core.errors import HeadlightError
from mha_core.positions import Learned, Position, Rotary, Sinusoidal

MAX_SCORES = 4_000_000  # of a bias: h · n²
SEED = 0


@dataclass(frozen=True)
class TableSizes:
    """Sizes that an encoding serves: tokens, channels, heads."""

    n: int
    d_model: int
    n_heads: int

    @property
    def d_head(self) -> int:
        """Channels of a head.

        Raises:
            SizeError: d_model is no multiple of n_heads.
        """
        check_heads("d_model", self.d_model, self.n_heads)
        return self.d_model // self.n_heads


@dataclass(frozen=True)
class Encoding:
    """Positional encoding of one size.

    Attributes:
        name: of `positions.NAMES`.
        position: the core's object.
        sizes: the sizes that it serves.
        width: channels of its table: d_model if it is added, d_head if it rotates.
        q: (1, h, n, d), the queries that its bias is computed on; random if the bias depends on them.
        origin: of its parameters, "fixed", "pretrained" or "random".
    """

    name: str
    position: Position
    sizes: TableSizes
    width: int
    q: Tensor
    origin: str

    @property
    def applied_as(self) -> str:
        """Place where it acts: "add", "rotate", "bias", or "" for no encoding."""
        return "".join(self.position.mechanisms)

    @property
    def n_learned(self) -> int:
        """Number of its learned parameters."""
        return sum(parameter.numel() for parameter in self.position.parameters())


def build(name: str, sizes: TableSizes, amplitude: float = 1.0) -> Encoding:
    """Build the encoding of that name; `amplitude` is that of sinusoids.

    Raises:
        PositionError, SizeError: these sizes do not fit it, or are too large.
    """
    position = _position(name, sizes, amplitude)
    width = sizes.d_head if "rotate" in position.mechanisms else sizes.d_model
    if isinstance(position, Learned):
        width = position.table.shape[1]
    if "bias" in position.mechanisms:
        check_sizes(1, sizes.n, 1, sizes.n_heads, scores=MAX_SCORES)
    q = torch.zeros(1, sizes.n_heads, sizes.n, 1, dtype=torch.float64)
    if name == "shaw":
        q = torch.randn(*q.shape[:3], sizes.d_head, generator=torch.Generator().manual_seed(SEED), dtype=q.dtype)
    source = "pretrained" if name == "learned" else "random"
    return Encoding(name, position, sizes, width, q, source if list(position.parameters()) else "fixed")


def build_or_default(name: str, sizes: TableSizes, amplitude: float = 1.0) -> tuple[Encoding, str]:
    """Build an encoding, with the model's own sizes and a warning if these sizes do not fit it."""
    try:
        return build(name, sizes, amplitude), ""
    except HeadlightError as error:
        model = pictures.model_on("auto").sizes
        instead = TableSizes(sizes.n, model.d_model, model.n_heads)
        default = f"It is shown for d_model {model.d_model} and {model.n_heads} heads instead."
        warning = f"The {name} encoding cannot be made: {error}. {default}"
        return build(name, instead, amplitude), warning


def _position(name: str, sizes: TableSizes, amplitude: float) -> Position:
    match name:
        case "learned":
            return trained_table()
        case "sinusoidal":
            return Sinusoidal(sizes.d_model, amplitude)
        case "rotary":
            return Rotary(sizes.d_head)
    return positions.build(name, d_model=sizes.d_model, n_heads=sizes.n_heads, max_len=1, seed=SEED).double()


@lru_cache(maxsize=1)
def trained_table() -> Learned:
    """Return a copy of MiniLM's learned table in float64 on the CPU."""
    copied, _ = pictures.model_on("auto").run_on_stack(lambda stack: copy.deepcopy(stack.position).cpu().double())
    if not isinstance(copied, Learned):
        raise HeadlightError("this model has no learned table")
    return copied.requires_grad_(False)
