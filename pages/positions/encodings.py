"""Positional encodings at any size, in float64 on the CPU: the core's classes, with what they are measured on."""

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
    """The sizes that an encoding serves: tokens, channels, heads."""

    n: int
    d_model: int
    n_heads: int

    @property
    def d_head(self) -> int:
        """Channels of a head. Raises a SizeError when they do not come out whole."""
        check_heads("d_model", self.d_model, self.n_heads)
        return self.d_model // self.n_heads


@dataclass(frozen=True)
class Encoding:
    """One encoding at one size.

    Attributes:
        name: of `positions.NAMES`.
        position: the core's own class.
        width: channels of its table: d_model where it is added, d_head where it rotates.
        q: (1, h, n, d), the queries that its bias is computed on: random ones, where it depends on them.
        origin: of its numbers, "fixed", "pretrained" or "random".
    """

    name: str
    position: Position
    sizes: TableSizes
    width: int
    q: Tensor
    origin: str

    @property
    def acts(self) -> str:
        """ "add", "rotate", "bias", or "" for no encoding at all."""
        return "".join(self.position.acts)

    @property
    def learned(self) -> int:
        """The number of its learned numbers."""
        return sum(parameter.numel() for parameter in self.position.parameters())


def build(name: str, sizes: TableSizes, amplitude: float = 1.0) -> Encoding:
    """The encoding of that name; `amplitude`: of sinusoids.

    Raises:
        PositionError, SizeError: these sizes do not go with it, or are too large.
    """
    position = _position(name, sizes, amplitude)
    width = sizes.d_head if "rotate" in position.acts else sizes.d_model
    if isinstance(position, Learned):
        width = position.table.shape[1]
    if "bias" in position.acts:
        check_sizes(1, sizes.n, 1, sizes.n_heads, scores=MAX_SCORES)
    q = torch.zeros(1, sizes.n_heads, sizes.n, 1, dtype=torch.float64)
    if name == "shaw":
        q = torch.randn(*q.shape[:3], sizes.d_head, generator=torch.Generator().manual_seed(SEED), dtype=q.dtype)
    learned = "pretrained" if name == "learned" else "random"
    return Encoding(name, position, sizes, width, q, learned if list(position.parameters()) else "fixed")


def build_or_default(name: str, sizes: TableSizes, amplitude: float = 1.0) -> tuple[Encoding, str]:
    """`build`; where these sizes do not go with it, the same of the model's own sizes, and a sentence that says so."""
    try:
        return build(name, sizes, amplitude), ""
    except HeadlightError as error:
        model = pictures.model_on("auto").sizes
        instead = TableSizes(sizes.n, model.d_model, model.n_heads)
        shown = f"It is shown for d_model {model.d_model} and {model.n_heads} heads instead."
        told = f"The {name} encoding cannot be made: {error}. {shown}"
        return build(name, instead, amplitude), told


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
    """MiniLM's own table, as a copy in float64 on the CPU."""
    copied, _ = pictures.model_on("auto").run_on_stack(lambda stack: copy.deepcopy(stack.position).cpu().double())
    if not isinstance(copied, Learned):
        raise HeadlightError("this model has no learned table")
    return copied.requires_grad_(False)
