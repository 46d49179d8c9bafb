"""Time and memory of calls that stand side by side: interleaved, shuffled, warmed up, the device synchronised.

The yardstick is nn.MultiheadAttention with per-head maps and the same weights.
"""

from __future__ import annotations

import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.autograd.profiler import profile

from .attention import IMPLEMENTATIONS, Weights
from .attention.base import AttentionLayer

__all__ = [
    "Candidates",
    "Spread",
    "calls",
    "forward_pass",
    "interleaved",
    "machine",
    "peak_memory",
    "prepare_profiler",
    "same_weights",
    "spread",
    "training_step",
]

Candidates = Mapping[str, Callable[[], object]]


@dataclass(frozen=True)
class Spread:
    """Seconds of one candidate's counted calls: the median, the quartiles round it, and how many calls there were."""

    median: float
    low: float
    high: float
    calls: int


def calls(
    candidates: Candidates,
    rounds: int,
    *,
    warm_up: int = 2,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> Iterator[tuple[str, int, float]]:
    """Calls the candidates and yields each call as (name, round, seconds). Whoever stops asking stops the series.

    Every round calls each candidate once, in a freshly shuffled order, so that whatever else the machine does falls on
    all alike; the `warm_up` rounds before have negative numbers. On a GPU the clock is read only when the device has
    finished.
    """
    order, shuffle = list(candidates), random.Random(seed)
    on_gpu = torch.device(device).type != "cpu"
    for number in range(-warm_up, rounds):
        shuffle.shuffle(order)
        for name in order:
            if on_gpu:
                torch.accelerator.synchronize(device)
            start = time.perf_counter()
            candidates[name]()
            if on_gpu:
                torch.accelerator.synchronize(device)
            yield name, number, time.perf_counter() - start


def interleaved(
    candidates: Candidates, rounds: int, *, warm_up: int = 2, seed: int = 0, device: torch.device | str = "cpu"
) -> dict[str, float]:
    """Median seconds of each candidate over all rounds of `calls`, in the order given."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for name, number, took in calls(candidates, rounds, warm_up=warm_up, seed=seed, device=device):
        if number >= 0:
            seconds[name].append(took)
    return {name: statistics.median(times) for name, times in seconds.items()}


def spread(seconds: Sequence[float]) -> Spread:
    """Median and quartiles of at least one time."""
    low, median, high = statistics.quantiles(seconds, method="inclusive") if len(seconds) > 1 else [seconds[0]] * 3
    return Spread(median, low, high, len(seconds))


def peak_memory(call: Callable[[], object], device: torch.device | str = "cpu") -> int | None:
    """The most bytes that one call held at a time, over what was there before; None where nobody counts (mps).

    On the CPU torch's profiler tells every allocation and release of the calling thread; what a library takes past
    torch's allocator is not in it. Call it once before, so that what is set up only once is not counted.
    """
    device = torch.device(device)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        call()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - before
    if device.type != "cpu":
        return None
    with _profiler() as recorded:
        call()
    events = [event for event in recorded.kineto_results.events() if event.name() == "[memory]"]
    held = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most


def prepare_profiler() -> None:
    """Sets torch's profiler up, to be called by the thread that imported torch.

    Without it `peak_memory` works too, but the first time in another thread writes a needless error into the log.
    """
    with _profiler():
        pass


def machine() -> str:
    """The processor if its name is known, torch's version, and the threads in use."""
    names = [platform.processor(), platform.machine()]
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")] + names
    name = next((name for name in names if name), "unknown processor")
    return f"{name}, torch {torch.__version__}, {torch.get_num_threads()} threads"


def same_weights(
    d_model: int, n_heads: int, device: torch.device | str = "cpu", names: Sequence[str] = tuple(IMPLEMENTATIONS)
) -> tuple[nn.MultiheadAttention, dict[str, AttentionLayer]]:
    """nn.MultiheadAttention, and the named implementations with a copy of its weights; all in eval mode.

    Raises:
        SizeError: d_model is no multiple of n_heads.
    """
    ours = {name: IMPLEMENTATIONS[name](d_model, n_heads).to(device).eval() for name in names}
    theirs = nn.MultiheadAttention(d_model, n_heads, batch_first=True, device=device).eval()
    q, k, v = theirs.in_proj_weight.detach().chunk(3)
    q_bias, k_bias, v_bias = theirs.in_proj_bias.detach().chunk(3)
    out = theirs.out_proj
    weights = Weights(q, k, v, out.weight.detach(), q_bias, k_bias, v_bias, out.bias.detach())
    for layer in ours.values():
        layer.load(weights)
    return theirs, ours


def forward_pass(layer: nn.Module, x: Tensor, *, maps: bool) -> None:
    """One pass of x (b, i, d_model) without gradients, through an implementation or nn.MultiheadAttention."""
    with torch.no_grad():
        _out(layer, x, maps)


def training_step(layer: nn.Module, x: Tensor, *, maps: bool) -> None:
    """One pass of x (b, i, d_model) forwards and backwards; the gradients are dropped again."""
    torch.autograd.backward(_out(layer, x, maps).square().mean())
    layer.zero_grad()


def _profiler() -> profile:
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # otherwise it writes two lines to the log each time
    return profile(profile_memory=True)


def _out(layer: nn.Module, x: Tensor, maps: bool) -> Tensor:
    if isinstance(layer, nn.MultiheadAttention):
        out: Tensor = layer(x, x, x, need_weights=maps, average_attn_weights=False)[0]
    else:
        out = layer(x, need_weights=maps)[0]
    return out
