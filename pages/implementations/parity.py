"""Equality of the seven implementations with one set of weights, computed and as tables."""

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

# The user waits for the tables: at least 20 passes on one thread, about a second and 200 MiB.
MAX_SCORES, MAX_PRODUCTS = 2_200_000, 100_000_000
ALIKE = 1e-10  # in float64; shifts that depend on the token differ by far more
DTYPES = {"float32": torch.float32, "float64": torch.float64}
_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
_NUMBERS = _WORDS[len(IMPLEMENTATIONS)] if len(IMPLEMENTATIONS) < len(_WORDS) else str(len(IMPLEMENTATIONS))
# feature -> label, in the order of the table
FEATURES = {
    "maps": "maps",
    "head_mask": "a mask per head",
    "heads": "heads off",
    "temperature": "temperature",
    "rotate": "rotary positions",
    "bias": "positional bias",
    "kv_heads": "shared key/value heads",
    "cache": "a KV cache",
    "values_off": "values switched off",
}


@dataclass(frozen=True)
class InputSizes:
    """Sizes of the random input, and which biases the random weights have."""

    b: int
    n: int
    d_model: int
    n_heads: int
    biases: str = "all"

    @property
    def fitting(self) -> InputSizes:
        """Sizes with the batch reduced to what the tables are computed for, at least one text."""
        texts = min(MAX_SCORES // (self.n_heads * self.n**2), MAX_PRODUCTS // (self.n * self.d_model**2))
        return replace(self, b=max(1, min(self.b, texts)))


@dataclass(frozen=True)
class Equality:
    """Agreement of all implementations on one input, by dtype.

    Attributes:
        shape: of the input, (b, i, c).
        n_heads: number of heads.
        agreements: dtype -> implementation -> differences.
        devices: dtype -> device of the computation.
        effects: effect of each bias, on the first text in float64.
        notices: whole sentences to show with it.
    """

    shape: tuple[int, ...]
    n_heads: int
    agreements: dict[str, dict[str, Agreement]]
    devices: dict[str, str]
    effects: tuple[Effect, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def sizes(self) -> str:
        """Description of the input's sizes."""
        b, n, d_model = self.shape
        return f"{count(b, 'text')}, {count(n, 'token')}, d_model {d_model}, {count(self.n_heads, 'head')}"

    def is_within(self, dtype: str, name: str) -> bool:
        """Return whether all relative differences of an implementation are within its bound."""
        return self.agreements[dtype][name].share <= 1


@single_flight(LRUCache(64))
def compare_sentence(settings: Settings, layer: int) -> Equality:
    """Compare on the hidden states that enter a layer of the model, with that layer's weights.

    Raises what `Model.run` raises.
    """
    run = pictures.picture(settings).run
    x = run.hidden[layer].unsqueeze(0)

    def compute(stack: Stack) -> Equality:
        attention = stack.block(layer).attention
        return _compute(attention.save(), attention.n_heads, x.to(stack.device), settings.mask)

    with pass_slot(len(run.ids)):
        equality, notices = pictures.model_for(settings).run_on_stack(compute)
    return replace(equality, notices=notices)


def compare_random(sizes: InputSizes, mask: str, device: str, on_wait: Callable[[], object] = lambda: None) -> Equality:
    """Compare on normal random input (seed 1) with normal random weights (seed 0).

    Args:
        sizes: of the input; the batch is reduced to `InputSizes.fitting`.
        mask: in its written form.
        device: as in `mha_core.device.pick`.
        on_wait: called while other jobs go first.

    Raises:
        SizeError: d_model is not a multiple of n_heads, or one text is too large.
        HeadlightError: the queue is full.
    """
    sizes = sizes.fitting
    equality = peek(_compare_random, sizes, mask, device)
    if equality is None:
        check_sizes(sizes.b, sizes.n, sizes.d_model, sizes.n_heads, scores=MAX_SCORES, products=MAX_PRODUCTS)
        with heavy_slot(on_wait):  # single flight would wait without calling `on_wait`
            equality = _compare_random(sizes, mask, device)
    return equality


@single_flight(LRUCache(64))
def _compare_random(sizes: InputSizes, mask: str, device: str) -> Equality:
    x = torch.randn(sizes.b, sizes.n, sizes.d_model, generator=torch.Generator().manual_seed(1))
    weights = agreement.random_weights(sizes.d_model, biases=sizes.biases)
    equality, notices = devices.run_with_cpu_fallback(
        lambda run_device: _compute(weights, sizes.n_heads, x.to(run_device), mask),
        devices.pick(device),
        allowed=device == "auto",
        smaller="choose smaller sizes",
    )
    return replace(equality, notices=notices)


def _compute(weights: Weights, n_heads: int, x: Tensor, mask: str) -> Equality:
    n = x.shape[1]
    allow = None if mask == "none" else masks.allow(masks.parse(mask), n, n)
    agreements, run_devices = {}, {}
    for name, dtype in DTYPES.items():
        # mps has no float64
        placed = x.cpu() if x.device.type == "mps" and dtype == torch.float64 else x
        agreements[name] = agreement.agreements(weights, n_heads, placed, allow=allow, dtype=dtype)
        run_devices[name] = placed.device.type
    effects = tuple(bias_effects(weights, n_heads, x[:1], allow=allow))
    return Equality(tuple(x.shape), n_heads, agreements, run_devices, effects)


def opening(equalities: Sequence[Equality]) -> str:
    """Return a sentence with the largest relative difference in float32 over all implementations and inputs."""
    worst = [equality.agreements["float32"][name].worst for equality in equalities for name in IMPLEMENTATIONS]
    names = [
        name for name in IMPLEMENTATIONS if not all(e.is_within(dtype, name) for e in equalities for dtype in DTYPES)
    ]
    summary = f"the largest relative difference is {scientific(max(worst))}"
    if names:
        return f"Not all {_NUMBERS.lower()} give the same numbers: {summary}; above their bounds: {', '.join(names)}."
    return f"All {_NUMBERS.lower()} give the same numbers: {summary}, which is rounding in float32."


def picture(equalities: Sequence[Equality]) -> Block:
    """Return bars of each implementation's largest float32 difference as a share of its bound."""
    shares = [max(equality.agreements["float32"][name].share for equality in equalities) for name in IMPLEMENTATIONS]
    bars = sheet.bars(
        "largest difference, as a fraction of its rounding bound", list(IMPLEMENTATIONS), shares, decimals=2, scale=1
    )
    agreements = (result for equality in equalities for result in equality.agreements["float32"].values())
    bounds = [difference.bound for result in agreements for difference in result.differences]
    note = (
        f"a full bar is the most that float32 rounding can explain, here {scientific(min(bounds))} to "
        f"{scientific(max(bounds))}, relative"
    )
    return sheet.panel("How far is each from the exact result and from torch?", [bars], note)


def meaning() -> str:
    """Return the explanation of the tables' columns and of the bound."""
    units = " and ".join(f"{scientific(torch.finfo(dtype).eps / 2)} in {name}" for name, dtype in DTYPES.items())
    return (
        "Each implementation loads the same weights and gets the same input. Truth is “efficient” in float64 on the "
        "CPU, torch is nn.MultiheadAttention in the table’s own format; out is the layer’s output, maps are the "
        f"weights of all heads. A sum of n products is rounded n times, up or down by chance, which adds up to λ √n u: "
        f"u is half the distance from 1 to the next number ({units}), λ = {rounding.LAMBDA:g}. The bound follows "
        "these errors through the products of the layer, on this input; it does not depend on the machine (Higham and "
        "Mary 2019)."
    )


def differences(equality: Equality, dtype: str) -> Block:
    """Return a table of each implementation's relative differences in one dtype, marked against the bound."""
    rows: list[list[str]] = []
    marks: dict[tuple[int, int], Literal["good", "bad", "focus"]] = {}
    for number, (name, result) in enumerate(equality.agreements[dtype].items()):
        is_close = equality.is_within(dtype, name)
        errors = [scientific(difference.relative) for difference in result.differences]
        rows.append([name, *errors, "OK" if is_close else "above"])
        marks[number, 5] = "good" if is_close else "bad"
    head = [dtype, "out − truth", "maps − truth", "out − torch", "maps − torch", "bound"]
    bounds = ", ".join(scientific(difference.bound) for difference in result.differences)
    caption = f"{dtype} on {equality.devices[dtype]}: relative, ‖a − b‖ / ‖b‖. OK = none above its bound, {bounds}."
    return sheet.table(head, rows, caption, marks)


def biases(equality: Equality) -> Block:
    """Return a table of the changes when one bias is set to 0, and whether they shift all tokens equally."""
    names = {"q": "query", "k": "key", "v": "value", "o": "output"}
    rows = [
        [
            names[effect.name],
            f"{effect.numbers:,}",
            scientific(effect.out),
            scientific(effect.maps),
            f"yes, up to {scientific(effect.spread)}" if effect.spread < ALIKE else "no",
        ]
        for effect in equality.effects
    ]
    caption = (
        "Each bias alone set to 0, on the first text in float64: relative differences. The key’s adds one number to a "
        "whole row of scores, which the softmax takes out again; the value’s goes through weights that sum to 1 and "
        "comes out as the same shift Wᵒ b of every token, as the output’s own does."
    )
    return sheet.table(["bias of", "numbers", "output changes", "maps change", "all tokens alike"], rows, caption)


@lru_cache(maxsize=16)
def counts(d_model: int, n_heads: int, biases: str = "all") -> Block:
    """Return bars of the parameters of a layer with 1 head, with `n_heads` and with four times as many."""
    weights = agreement.random_weights(d_model, biases=biases)
    heads = [count for count in sorted({1, n_heads, 4 * n_heads}) if d_model % count == 0]
    layers = [agreement.load_layer("naive", weights, count, device="meta") for count in heads]  # sizes, no numbers
    numbers = [sum(parameter.numel() for parameter in layer.parameters()) for layer in layers]
    return sheet.bars("parameters", [f"{count} head{'s'[: count > 1]}" for count in heads], numbers, decimals=0)


@lru_cache(maxsize=16)
def kinds(d_model: int, n_heads: int, biases: str = "all") -> Block:
    """Return a table of each implementation's description, parameters and missing features."""
    rows, weights = [], agreement.random_weights(d_model, biases=biases)
    for name, kind in IMPLEMENTATIONS.items():
        # sizes only, no numbers
        parameters = list(agreement.load_layer(name, weights, n_heads, device="meta").parameters())
        first_line = (inspect.getdoc(inspect.getmodule(kind)) or "").split("\n")[0]
        cannot = [word for feature, word in FEATURES.items() if feature not in kind.can]
        numbers = sum(parameter.numel() for parameter in parameters)
        rows.append([name, first_line, f"{numbers:,}", str(len(parameters)), ", ".join(cannot) or "–"])
    head = ["implementation", "what it is", "parameters", "tensors", "not supported"]
    bias_text = biases_in_words(biases)
    caption = f"Parameters for d_model {d_model} and {n_heads} heads, with {bias_text}; tensors = in how many pieces."
    if (weights.q_bias is None) != (weights.v_bias is None):
        *others, last = (name for name, kind in IMPLEMENTATIONS.items() if kind.one_matrix)
        joint = f"{', '.join(others)} and {last}"
        caption += f" {joint} have one bias for q, k and v: its parts for q and k are 0, and are counted."
    return sheet.table(head, rows, caption, prose=True)
