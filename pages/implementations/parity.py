"""Seven implementations, one set of weights: computed once for each input, and as tables. No streamlit."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import torch
from cachetools import LRUCache
from torch import Tensor

from mha_core import IMPLEMENTATIONS, Weights, masks
from mha_core import device as devices
from mha_core.attention.base import EVERYTHING
from mha_core.measure import compare
from mha_core.measure.compare import Agreement, Difference
from mha_core.models.encoder import EncoderLayer
from pages.kit.draw import sheet
from pages.kit.draw.sheet import Block
from pages.kit.picture import pictures
from pages.kit.picture.limits import check_sizes
from pages.kit.picture.pictures import Settings

__all__ = ["Equality", "Sizes", "differences", "key_bias", "kinds", "meaning", "of_random", "of_sentence", "scientific"]

# The tables are computed while the visitor waits: 20 passes and more on one thread, about a second and 200 MiB.
MOST_SCORES, MOST_PRODUCTS = 1_500_000, 100_000_000
DTYPES = {"float32": torch.float32, "float64": torch.float64}
# What can be asked of an implementation, in the order of the table.
FEATURES = {
    "maps": "maps",
    "head_mask": "a mask per head",
    "heads": "heads off",
    "temperature": "temperature",
    "rotate": "rotated positions",
    "bias": "positions as a bias",
}


@dataclass(frozen=True)
class Sizes:
    """Sizes of the random input: texts, tokens, channels, heads."""

    b: int
    n: int
    d_model: int
    n_heads: int


@dataclass(frozen=True)
class Equality:
    """All implementations on one input, by dtype.

    Attributes:
        shape: of the input, (b, i, c).
        n_heads: number of heads.
        found: dtype -> implementation -> differences.
        bounds: dtype -> how large a relative difference may be on this input.
        key_bias: dtype -> the largest gradient of a key bias, relative to the whole gradient.
        places: dtype -> where it was computed.
    """

    shape: tuple[int, ...]
    n_heads: int
    found: dict[str, dict[str, Agreement]]
    bounds: dict[str, float]
    key_bias: dict[str, float]
    places: dict[str, str]

    @property
    def sizes(self) -> str:
        """The sizes in words."""
        b, n, d_model = self.shape
        parts = [(b, "text"), (n, "token"), (self.n_heads, "head")]
        texts, tokens, heads = (f"{count} {word}{'' if count == 1 else 's'}" for count, word in parts)
        return f"{texts}, {tokens}, d_model {d_model}, {heads}"

    def within(self, dtype: str, name: str) -> bool:
        """True when no relative difference of that implementation is above the bound."""
        return self.found[dtype][name].worst <= self.bounds[dtype]


_lock = threading.Lock()
_of_sentence: LRUCache[tuple[Settings, int], Equality] = LRUCache(64)
_of_random: LRUCache[tuple[Sizes, str, str], Equality] = LRUCache(64)


def of_sentence(settings: Settings, layer: int) -> Equality:
    """On the hidden state that enters a layer of the model, with that layer's weights.

    Raises what `Model.run` raises.
    """
    key = (settings, layer)
    with _lock:
        kept = _of_sentence.get(key)
    if kept is None:
        run = pictures.picture(settings).run
        attention = cast(EncoderLayer, pictures.model_of(settings).encoder.layers[layer]).attention
        with pictures.turn(len(run.ids)):
            kept = _compute(attention.save(), attention.n_heads, run.hidden[layer].unsqueeze(0), settings.mask)
        with _lock:
            _of_sentence[key] = kept
    return kept


def of_random(sizes: Sizes, mask: str, device: str, told: Callable[[], object] | None = None) -> Equality:
    """On normal random input (seed 1) with normal random weights (seed 0); `told` is called while others go first.

    Raises:
        SizeError: d_model is no multiple of n_heads, or the sizes are too large to be computed on the side.
        HeadlightError: too many others wait.
    """
    key = (sizes, mask, device)
    kept = _known(key)
    if kept is None:
        check_sizes(sizes.b, sizes.n, sizes.d_model, sizes.n_heads, scores=MOST_SCORES, products=MOST_PRODUCTS)
        with pictures.alone(told):
            kept = _known(key)  # others may have waited for the same
            if kept is None:
                x = torch.randn(sizes.b, sizes.n, sizes.d_model, generator=torch.Generator().manual_seed(1))
                x = x.to(devices.pick(device))
                kept = _compute(compare.random_weights(sizes.d_model), sizes.n_heads, x, mask)
                with _lock:
                    _of_random[key] = kept
    return kept


def _known(key: tuple[Sizes, str, str]) -> Equality | None:
    with _lock:
        return _of_random.get(key)


def _compute(weights: Weights, n_heads: int, x: Tensor, mask: str) -> Equality:
    n = x.shape[1]
    allow = None if mask == "none" else masks.allow(masks.parse(mask), n, n)
    found, places = {}, {}
    for name, dtype in DTYPES.items():
        # mps has no float64
        at = x.cpu() if x.device.type == "mps" and dtype == torch.float64 else x
        found[name] = compare.agreements(weights, n_heads, at, allow=allow, dtype=dtype)
        places[name] = at.device.type
    gradients = {name: compare.key_bias_gradient(weights, n_heads, x, dtype=kind) for name, kind in DTYPES.items()}
    bounds = {name: compare.bound(found[name], dtype) for name, dtype in DTYPES.items()}
    return Equality(tuple(x.shape), n_heads, found, bounds, gradients, places)


def meaning() -> str:
    """What the columns of the tables are, and where the bound comes from."""
    bounds = " and ".join(f"{scientific(compare.BOUNDS[dtype])} in {name}" for name, dtype in DTYPES.items())
    return (
        "Each implementation loads the same weights and gets the same input. Truth is “efficient” in float64 on the "
        "CPU, torch is nn.MultiheadAttention in the table's own format; out is the layer's output, maps are the "
        f"weights of all heads. Bound: {bounds}, or twice torch's own distance from the truth where that is more, "
        "because large scores and long rows make every rounding larger."
    )


def differences(equality: Equality, dtype: str, *, largest: bool) -> Block:
    """A row per implementation: its differences in one dtype, as `largest` or relative ones, and its mark."""

    def written(apart: Difference) -> str:
        return scientific(apart.largest if largest else apart.relative)

    rows: list[list[str]] = []
    marks: dict[tuple[int, int], Literal["good", "bad", "here"]] = {}
    for number, (name, found) in enumerate(equality.found[dtype].items()):
        within = equality.within(dtype, name)
        apart = [found.out, found.maps, found.torch_out, found.torch_maps]
        rows.append([name, *map(written, apart), "OK" if within else "above"])
        marks[number, 5] = "good" if within else "bad"
    head = [dtype, "out − truth", "maps − truth", "out − torch", "maps − torch", "bound"]
    place, limit = equality.places[dtype], scientific(equality.bounds[dtype])
    kind = "largest |a − b|" if largest else "relative, ‖a − b‖ / ‖b‖"
    caption = f"{dtype} on {place}: {kind}. OK = no relative difference above {limit}."
    return sheet.table(head, rows, caption, marks)


def key_bias(equality: Equality) -> str:
    """The line on the gradient of the key bias."""
    values = " and ".join(f"{scientific(value)} in {name}" for name, value in equality.key_bias.items())
    return (
        f"Gradient of the key bias, its largest number relative to the whole gradient: {values}. Without a positional "
        "encoding this bias adds one number to a whole row of scores, and the softmax takes it out again; what is left "
        "is rounding."
    )


def kinds(d_model: int, n_heads: int) -> Block:
    """What each implementation is, how it keeps its parameters, and what it can do and cannot."""
    rows = []
    for name, kind in IMPLEMENTATIONS.items():
        with torch.device("meta"):  # sizes only, no numbers
            parameters = list(kind(d_model, n_heads).parameters())
        words = inspect.getdoc(inspect.getmodule(kind)) or ""
        can = [word for feature, word in FEATURES.items() if feature in kind.can]
        cannot = [word for feature, word in FEATURES.items() if feature not in kind.can]
        count = sum(parameter.numel() for parameter in parameters)
        rows.append(
            [name, words.split("\n")[0], f"{count:,}", str(len(parameters)), _listed(can), _listed(cannot) or "–"]
        )
    head = ["implementation", "what it is", "parameters", "tensors", "can do", "cannot do"]
    caption = f"Parameters with biases, for d_model {d_model} and {n_heads} heads; tensors = in how many pieces."
    return sheet.table(head, rows, caption, prose=True)


def scientific(value: float) -> str:
    """A difference to read, as 4.0e−7: 0 only when it is 0."""
    return "0" if value == 0 else f"{value:.1e}".replace("e-0", "e−").replace("e-", "e−")


def _listed(words: Sequence[str]) -> str:
    return "everything" if len(words) == len(EVERYTHING) else ", ".join(words)
