"""Positional encodings as numbers to draw: tables, rotations, biases, and what of them depends on distance.

All are read from the core's classes by what they do: `add` to zeros, `rotate` of a known vector, `bias` on given
queries; in float64 on the CPU. No streamlit.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import torch
from torch import Tensor

from mha_core import positions
from mha_core.attention.functional import check_heads
from mha_core.errors import HeadlightError, PositionError
from mha_core.models.encoder import Encoder
from mha_core.positions import Learned, Position, Rotary, Sinusoidal, T5Bias
from pages.kit.picture import pictures, traces
from pages.kit.picture import words as text
from pages.kit.picture.limits import POSITIONS, check_sizes
from pages.kit.picture.pictures import Settings

__all__ = [
    "Curve",
    "Encoding",
    "Norms",
    "OnModel",
    "Sizes",
    "Words",
    "bias",
    "buckets",
    "by_distance",
    "far_curve",
    "made",
    "made_or_default",
    "norms",
    "on_model",
    "pair_channels",
    "similarity",
    "table",
    "turn_of",
    "words",
]

MOST_SCORES = 4_000_000  # of a bias: h · n²
SEED = 0


@dataclass(frozen=True)
class Words:
    """A sentence as the model cuts it: tokens, special ones in, and their numbers in the vocabulary."""

    tokens: list[str]
    ids: list[int]


@dataclass(frozen=True)
class Sizes:
    """What an encoding is made for: tokens, channels, heads."""

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
    """One encoding, made.

    Attributes:
        name: of `positions.NAMES`.
        position: the core's own class.
        sizes: what it was made for.
        width: channels of its table: d_model where it is added, d_head where it rotates.
        q: (1, h, n, d), the queries that its bias is computed on.
        queries: where these come from, in words; empty when its bias does not depend on them.
        origin: of its numbers, "fixed", "pretrained" or "random".
    """

    name: str
    position: Position
    sizes: Sizes
    width: int
    q: Tensor
    queries: str
    origin: str

    @property
    def acts(self) -> str:
        """ "add", "rotate", "bias", or "" for no encoding at all."""
        return "".join(self.position.acts)

    @property
    def learned(self) -> int:
        """How many numbers of it are learned."""
        return sum(parameter.numel() for parameter in self.position.parameters())


@dataclass(frozen=True)
class Curve:
    """A value at distance `start`, start + 1, …: over all places that far apart its mean, smallest and largest."""

    start: int
    mean: list[float]
    low: list[float]
    high: list[float]


@dataclass(frozen=True)
class Norms:
    """Length of three vectors a token: its embedding, the trained row of its position, the waves of its position."""

    embedding: list[float]
    trained: list[float]
    waves: list[float]


@dataclass(frozen=True)
class OnModel:
    """A sentence in the model under each position.

    Attributes:
        layer, head: the head that looks most at the previous token in the untouched model.
        rows: name, what it is, cosine of the sentence vector to the untouched model's, and that head's mean weight on
            the previous token.
    """

    layer: int
    head: int
    rows: list[tuple[str, str, float, float]]


def words(settings: Settings) -> Words:
    """The sentence's tokens. Raises what `Model.tokenize` raises."""
    return Words(*pictures.model_on(settings.device).tokenize(settings.text))


def made(name: str, sizes: Sizes, amplitude: float = 1.0, real: tuple[Settings, int] | None = None) -> Encoding:
    """The encoding of that name.

    Args:
        amplitude: of sinusoids.
        real: sentence and layer whose queries Shaw's bias takes, where the sizes are the model's; else they are random.

    Raises:
        PositionError, SizeError: these sizes do not go with it, or are too large.
    """
    position = _position(name, sizes, amplitude)
    width = sizes.d_head if "rotate" in position.acts else sizes.d_model
    if isinstance(position, Learned):
        width = position.table.shape[1]
    if "bias" in position.acts:
        check_sizes(1, sizes.n, 1, sizes.n_heads, scores=MOST_SCORES)
    q, queries = torch.zeros(1, sizes.n_heads, sizes.n, 1, dtype=torch.float64), ""
    if name == "shaw":
        q, queries = _queries(sizes, real)
    learned = "pretrained" if name == "learned" else "random"
    return Encoding(name, position, sizes, width, q, queries, learned if list(position.parameters()) else "fixed")


def made_or_default(
    name: str, sizes: Sizes, amplitude: float = 1.0, real: tuple[Settings, int] | None = None
) -> tuple[Encoding, str]:
    """`made`; where these sizes do not go with it, the same of the model's own sizes, and a sentence that says so."""
    try:
        return made(name, sizes, amplitude, real), ""
    except HeadlightError as error:
        own = pictures.model_on("auto").sizes
        instead = Sizes(sizes.n, own.d_model, own.n_heads)
        shown = f"It is shown for d_model {own.d_model} and {own.n_heads} heads instead."
        told = f"The {name} encoding cannot be made: {error}. {shown}"
        return made(name, instead, amplitude, real), told


def table(encoding: Encoding, length: int | None = None) -> Tensor:
    """(position, channel): what is added, or what a rotation makes of a vector with 1 in every pair's first channel.

    Raises:
        PositionError: longer than a learned table.
    """
    n = encoding.sizes.n if length is None else length
    if encoding.acts == "add":
        return encoding.position.add(torch.zeros(1, n, encoding.width, dtype=torch.float64))[0].detach()
    start = torch.zeros(1, 1, n, encoding.width, dtype=torch.float64)
    start[..., : encoding.width // 2] = 1
    return encoding.position.rotate(start, start)[0][0, 0]


def pair_channels(encoding: Encoding, pair: int) -> tuple[int, int]:
    """The two channels of a pair, across and up on its circle; past the last pair, those of the last one.

    Sinusoids have the sine in the even channel and the cosine in the odd one, a rotation turns channel m with
    m + d_head / 2; of a learned table these are two neighbours.
    """
    pair = min(pair, encoding.width // 2 - 1)
    if encoding.acts == "rotate":
        return pair, pair + encoding.width // 2
    return (2 * pair + 1, 2 * pair) if encoding.name == "sinusoidal" else (2 * pair, 2 * pair + 1)


def turn_of(encoding: Encoding, pair: int) -> float | None:
    """The angle by which a pair turns from one position to the next, in radians; None of a learned table."""
    if encoding.name == "learned":
        return None
    across, up = table(encoding, 2)[1, list(pair_channels(encoding, pair))].tolist()
    return math.atan2(up, across)


def bias(encoding: Encoding) -> Tensor:
    """(h, i, j), what is added to the scaled scores."""
    found = encoding.position.bias(encoding.q, encoding.sizes.n)
    return (
        torch.zeros(encoding.sizes.n_heads, encoding.sizes.n, encoding.sizes.n) if found is None else found[0].detach()
    )


def similarity(encoding: Encoding) -> Tensor:
    """(…, i, j), what the encoding makes of two positions, all else being equal.

    The cosine of the two rows where it is added; q · k of equal vectors of length 1 where it rotates; the bias itself.
    """
    match encoding.acts:
        case "add":
            rows = torch.nn.functional.normalize(table(encoding), dim=-1)
            return rows @ rows.T
        case "rotate":
            return _turned(encoding, encoding.sizes.n, encoding.sizes.n)
    return bias(encoding)


def by_distance(square: Tensor, *, signed: bool) -> Curve:
    """What a (…, i, j) matrix has at each distance |i − j|, from 0 to n − 1, or `signed`: j − i, from 1 − n."""
    n = square.shape[-1]
    place = torch.arange(n)
    distance = place - place[:, None]
    row = (distance + n - 1 if signed else distance.abs()).expand(square.shape).flatten()
    values = square.double().flatten()
    zeros = torch.zeros(2 * n - 1 if signed else n, dtype=torch.float64)
    mean, low, high = (
        zeros.scatter_reduce(0, row, values, how, include_self=False).tolist() for how in ("mean", "amin", "amax")
    )
    return Curve(1 - n if signed else 0, mean, low, high)


def far_curve(encoding: Encoding, length: int) -> list[float]:
    """`similarity` of position 0 to each of `length` positions; of a bias, its mean over the heads.

    Raises:
        PositionError: longer than a learned table.
    """
    match encoding.acts:
        case "add":
            rows = torch.nn.functional.normalize(table(encoding, length), dim=-1)
            found = rows @ rows[0]
        case "rotate":
            found = _turned(encoding, 1, length)[0]
        case "bias":
            row = encoding.position.bias(encoding.q[:, :, :1], length)
            found = torch.zeros(length) if row is None else row[0, :, 0].detach().mean(dim=0)
        case _:
            found = torch.zeros(length)
    return [float(value) for value in found.tolist()]


def buckets(encoding: Encoding, reach: int) -> dict[str, list[int]]:
    """T5's bucket of each distance j − i from −reach to reach, in both variants.

    Raises:
        PositionError: another encoding, which has no buckets.
    """
    own = encoding.position
    if not isinstance(own, T5Bias):
        raise PositionError(f"the {encoding.name} encoding has no buckets")
    distances = torch.arange(-reach, reach + 1)
    return {
        name: [int(row) for row in T5Bias(1, len(own.table), own.max_distance, causal).bucket_of(distances).tolist()]
        for name, causal in (("both sides", False), ("causal", True))
    }


def norms(found: Words, amplitude: float) -> Norms:
    """Lengths of the vectors that are added up at each token of the sentence; of the waves as wide as the model."""
    model = pictures.model_on("auto")
    encoder = cast(Encoder, model.encoder)
    embedding = (encoder.words.weight[found.ids] + encoder.segment).detach().cpu().double()
    n = len(found.ids)
    trained = _trained_table().table[:n]
    waves = Sinusoidal(model.sizes.d_model, amplitude).add(torch.zeros(n, model.sizes.d_model, dtype=torch.float64))
    return Norms(*([float(length) for length in each.norm(dim=-1).tolist()] for each in (embedding, trained, waves)))


def on_model(settings: Settings) -> OnModel:
    """The same sentence under each position that the control offers. Raises what `Model.run` raises."""
    model = pictures.model_on(settings.device)
    found = {
        name: pictures.picture(Settings(settings.text, position=position, device=settings.device))
        for name, position in POSITIONS.items()
    }
    previous = {name: each.run.weights.diagonal(-1, -2, -1).mean(dim=-1).cpu() for name, each in found.items()}
    layer, head = divmod(int(previous["as trained"].argmax()), model.sizes.n_heads)
    rows = [
        (name, text.position_note(each.settings.position, model), each.cosine, float(previous[name][layer, head]))
        for name, each in found.items()
    ]
    return OnModel(layer, head, rows)


def _position(name: str, sizes: Sizes, amplitude: float) -> Position:
    match name:
        case "learned":
            return _trained_table()
        case "sinusoidal":
            return Sinusoidal(sizes.d_model, amplitude)
        case "rotary":
            return Rotary(sizes.d_head)
    return positions.build(name, d_model=sizes.d_model, n_heads=sizes.n_heads, max_len=1, seed=SEED).double()


@lru_cache(maxsize=1)
def _trained_table() -> Learned:
    """The model's own table, as a copy in float64 on the CPU."""
    trained = pictures.model_on("auto").encoder.position
    if not isinstance(trained, Learned):
        raise HeadlightError("this model has no learned table")
    return copy.deepcopy(trained).cpu().double().requires_grad_(False)


def _queries(sizes: Sizes, real: tuple[Settings, int] | None) -> tuple[Tensor, str]:
    """(1, h, n, d): the model's own of that layer where the sizes are its own, otherwise random ones."""
    own = pictures.model_on("auto").sizes
    if real is not None and (sizes.d_model, sizes.n_heads) == (own.d_model, own.n_heads):
        settings, layer = real
        steps = traces.traced(settings, layer, "fused").steps
        q = next(step.value for step in steps if step.name == "q")
        return q.cpu().double(), f"the queries of this sentence in MiniLM's layer {layer}"
    generator = torch.Generator().manual_seed(SEED)
    shape = (1, sizes.n_heads, sizes.n, sizes.d_head)
    return torch.randn(shape, generator=generator, dtype=torch.float64), f"random queries, standard normal, seed {SEED}"


def _turned(encoding: Encoding, len_q: int, len_k: int) -> Tensor:
    """(i, j): q · k of equal vectors of length 1, turned by their positions."""
    same = torch.full((1, 1, max(len_q, len_k), encoding.width), encoding.width**-0.5, dtype=torch.float64)
    q, k = encoding.position.rotate(same[:, :, :len_q], same[:, :, :len_k])
    return (q @ k.mT)[0, 0]
