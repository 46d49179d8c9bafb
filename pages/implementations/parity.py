"""Seven implementations with one set of weights: computed once for each input, and as tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.link.limits import check_sizes
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.picture.traces import biases_in_words
from headlight.queue.single_flight import peek, single_flight
from headlight.queue.slots import heavy_slot, pass_slot
from headlight.ui import sheet
from headlight.ui.numbers import count, scientific
from headlight.ui.sheet import Block
from mha_core import IMPLEMENTATIONS, Weights, masks
from mha_core import device as devices
from mha_core.measure import agreement, rounding
from mha_core.measure.agreement import Agreement
from mha_core.measure.biases import Effect, bias_effects
from mha_core.models.stack import Stack

# The tables are computed while the visitor waits: 20 passes and more on one thread, about a second and 200 MiB.
MAX_SCORES, MAX_PRODUCTS = 2_200_000, 100_000_000
ALIKE = 1e-10  # in float64; a shift that differs from token to token differs by far more
DTYPES = {"float32": torch.float32, "float64": torch.float64}
_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
_NUMBERS = _WORDS[len(IMPLEMENTATIONS)] if len(IMPLEMENTATIONS) < len(_WORDS) else str(len(IMPLEMENTATIONS))
# what an implementation can do -> its words, in the order of the table
FEATURES = {
    "maps": "maps",
    "head_mask": "a mask per head",
    "heads": "heads off",
    "temperature": "temperature",
    "rotate": "rotary positions",
    "bias": "positional bias",
    "kv_heads": "shared key/value heads",
    "cache": "KV cache",
    "values_off": "zeroed values",
}


@dataclass(frozen=True)
class InputSizes:
    """Sizes of the random input: texts, tokens, channels, heads; and which biases the random weights have."""

    b: int
    n: int
    d_model: int
    n_heads: int
    biases: str = "all"

    @property
    def fitting(self) -> InputSizes:
        """The same with no more texts than the tables are computed for; one at least."""
        texts = min(MAX_SCORES // (self.n_heads * self.n**2), MAX_PRODUCTS // (self.n * self.d_model**2))
        return replace(self, b=max(1, min(self.b, texts)))


@dataclass(frozen=True)
class Equality:
    """All implementations on one input, by dtype.

    Attributes:
        shape: of the input, (b, i, c).
        agreements: dtype -> implementation -> differences.
        devices: dtype -> where it was computed.
        effects: what each bias changes, on the first text in float64.
        notices: what must be said of the passes, in whole sentences.
    """

    shape: tuple[int, ...]
    n_heads: int
    agreements: dict[str, dict[str, Agreement]]
    devices: dict[str, str]
    effects: tuple[Effect, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def sizes(self) -> str:
        b, n, d_model = self.shape
        return f"{count(b, 'text')}, {count(n, 'token')}, d_model {d_model}, {count(self.n_heads, 'head')}"

    def within(self, dtype: str, name: str) -> bool:
        """True when no relative difference of that implementation is above its bound."""
        return self.agreements[dtype][name].share <= 1


@single_flight(LRUCache(64))
def of_sentence(settings: Settings, layer: int) -> Equality:
    """On the hidden state that enters a layer of the model, with that layer's weights.

    Raises what `Model.run` raises.
    """
    run = pictures.picture(settings).run
    x = run.hidden[layer].unsqueeze(0)

    def compute(stack: Stack) -> Equality:
        attention = stack.block(layer).attention
        return _computed(attention.save(), attention.n_heads, x.to(stack.device), settings.mask)

    with pass_slot(len(run.ids)):
        equality, notices = pictures.model_of(settings).run_on_stack(compute)
    return replace(equality, notices=notices)


def of_random(sizes: InputSizes, mask: str, device: str, on_wait: Callable[[], object] = lambda: None) -> Equality:
    """On normal random input (seed 1) with normal random weights (seed 0); `on_wait` is called while others go first.

    Raises:
        SizeError: d_model is no multiple of n_heads, or one text is too large to be computed on the side.
        HeadlightError: too many others wait.
    """
    sizes = sizes.fitting
    equality = peek(_of_random, sizes, mask, device)
    if equality is None:
        check_sizes(sizes.b, sizes.n, sizes.d_model, sizes.n_heads, scores=MAX_SCORES, products=MAX_PRODUCTS)
        with heavy_slot(on_wait):  # one at a time: a wait in the cache would not call `on_wait`
            equality = _of_random(sizes, mask, device)
    return equality


@single_flight(LRUCache(64))
def _of_random(sizes: InputSizes, mask: str, device: str) -> Equality:
    x = torch.randn(sizes.b, sizes.n, sizes.d_model, generator=torch.Generator().manual_seed(1))
    weights = agreement.random_weights(sizes.d_model, biases=sizes.biases)
    equality, notices = devices.or_on_the_cpu(
        lambda where: _computed(weights, sizes.n_heads, x.to(where), mask),
        devices.pick(device),
        allowed=device == "auto",
        smaller="choose smaller sizes",
    )
    return replace(equality, notices=notices)


def _computed(weights: Weights, n_heads: int, x: Tensor, mask: str) -> Equality:
    n = x.shape[1]
    allow = None if mask == "none" else masks.allow(masks.parse(mask), n, n)
    agreements, where = {}, {}
    for name, dtype in DTYPES.items():
        # mps has no float64
        placed = x.cpu() if x.device.type == "mps" and dtype == torch.float64 else x
        agreements[name] = agreement.agreements(weights, n_heads, placed, allow=allow, dtype=dtype)
        where[name] = placed.device.type
    effects = tuple(bias_effects(weights, n_heads, x[:1], allow=allow))
    return Equality(tuple(x.shape), n_heads, agreements, where, effects)


def opening(equalities: Sequence[Equality]) -> str:
    """The largest relative difference in float32 of all implementations, on all inputs, in one sentence."""
    found = [one.agreements["float32"][name].worst for one in equalities for name in IMPLEMENTATIONS]
    names = [
        name for name in IMPLEMENTATIONS if not all(one.within(dtype, name) for one in equalities for dtype in DTYPES)
    ]
    largest = f"the largest relative difference is {scientific(max(found))}"
    if names:
        return f"Not all {_NUMBERS.lower()} give the same numbers: {largest}; above their bounds: {', '.join(names)}."
    return f"All {_NUMBERS.lower()} give the same numbers: {largest}, which is rounding in float32."


def picture(equalities: Sequence[Equality]) -> Block:
    """The same as bars: the largest part that a difference of each is of its bound, in float32."""
    shares = [max(one.agreements["float32"][name].share for one in equalities) for name in IMPLEMENTATIONS]
    bars = sheet.bars(
        "largest difference, as a fraction of its rounding bound", list(IMPLEMENTATIONS), shares, decimals=2, most=1
    )
    bounds = [each.bound for one in equalities for kind in one.agreements["float32"].values() for each in kind.every]
    note = (
        f"a full bar is the most that float32 rounding can explain, here {scientific(min(bounds))} to "
        f"{scientific(max(bounds))}, relative"
    )
    return sheet.panel("How far is each from the exact result and from torch?", [bars], note)


def meaning() -> str:
    """A sentence for each column of the tables, and on where the bound comes from."""
    units = " and ".join(f"{scientific(torch.finfo(dtype).eps / 2)} in {name}" for name, dtype in DTYPES.items())
    return (
        "Each implementation loads the same weights and gets the same input. Truth is “efficient” in float64 on the "
        "CPU, torch is nn.MultiheadAttention in the table's own format; out is the layer's output, maps are the "
        f"weights of all heads. A sum of n products is rounded n times, up or down by chance, which adds up to λ √n u: "
        f"u is half the distance from 1 to the next number ({units}), λ = {rounding.LAMBDA:g}. The bound follows "
        "these errors through the products of the layer, on this input; it does not depend on the machine (Higham and "
        "Mary 2019)."
    )


def differences(equality: Equality, dtype: str) -> Block:
    """A row per implementation: its relative differences in one dtype, and its mark."""
    rows: list[list[str]] = []
    marks: dict[tuple[int, int], Literal["good", "bad", "here"]] = {}
    for number, (name, found) in enumerate(equality.agreements[dtype].items()):
        within = equality.within(dtype, name)
        rows.append([name, *(scientific(each.relative) for each in found.every), "OK" if within else "above"])
        marks[number, 5] = "good" if within else "bad"
    head = [dtype, "out − truth", "maps − truth", "out − torch", "maps − torch", "bound"]
    bounds = ", ".join(scientific(difference.bound) for difference in found.every)
    caption = f"{dtype} on {equality.devices[dtype]}: relative, ‖a − b‖ / ‖b‖. OK = none above its bound, {bounds}."
    return sheet.table(head, rows, caption, marks)


def biases(equality: Equality) -> Block:
    """A row per bias: what changes when it alone is 0, and whether every token is shifted alike."""
    names = {"q": "query", "k": "key", "v": "value", "o": "output"}
    rows = [
        [
            names[one.name],
            f"{one.numbers:,}",
            scientific(one.out),
            scientific(one.maps),
            f"yes, up to {scientific(one.spread)}" if one.spread < ALIKE else "no",
        ]
        for one in equality.effects
    ]
    caption = (
        "Each bias alone set to 0, on the first text in float64: relative differences. The key’s adds one number to a "
        "whole row of scores, which the softmax takes out again; the value’s goes through weights that sum to 1 and "
        "comes out as the same shift Wᵒ b of every token, as the output’s own does."
    )
    return sheet.table(["bias of", "numbers", "output changes", "maps change", "all tokens alike"], rows, caption)


def _and(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


@lru_cache(maxsize=16)
def kinds(d_model: int, n_heads: int, biases: str = "all") -> Block:
    """A row per implementation: its first words, how it keeps its parameters, and what it cannot do."""
    rows, weights = [], agreement.random_weights(d_model, biases=biases)
    for name, kind in IMPLEMENTATIONS.items():
        # sizes only, no numbers
        parameters = list(agreement.loaded(name, weights, n_heads, device="meta").parameters())
        first_line = (inspect.getdoc(inspect.getmodule(kind)) or "").split("\n")[0]
        cannot = [word for feature, word in FEATURES.items() if feature not in kind.can]
        numbers = sum(parameter.numel() for parameter in parameters)
        rows.append([name, first_line, f"{numbers:,}", str(len(parameters)), ", ".join(cannot) or "–"])
    head = ["implementation", "what it is", "parameters", "tensors", "not supported"]
    own = biases_in_words(biases)
    caption = f"Parameters for d_model {d_model} and {n_heads} heads, with {own}; tensors = in how many pieces."
    if (weights.q_bias is None) != (weights.v_bias is None):
        joint = [name for name, kind in IMPLEMENTATIONS.items() if kind.one_matrix]
        caption += f" {_and(joint)} have one bias for q, k and v: its parts for q and k are 0, and are counted."
    return sheet.table(head, rows, caption, prose=True)
