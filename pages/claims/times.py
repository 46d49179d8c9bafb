"""The claims on time, measured when asked for: one at a time in the whole process, on one thread of the CPU."""

import time
from functools import partial

import torch
from torch import Tensor

from mha_core.clock import calls
from mha_core.measure.timing import forward_pass, same_weights, training_step
from pages.kit.picture.sharing import alone

from .rules import speed
from .rules.verdict import Verdict

TASKS = {  # what is timed -> the call, and b, n, d_model, h
    "64 tokens, 12 heads": (forward_pass, (1, 64, 384, 12)),
    "training on 512 tokens, 8 heads": (training_step, (2, 512, 64, 8)),
}
SECONDS = 0.6  # for each of them
FEWEST, MOST = 3, 200  # calls of each implementation


def naive() -> Verdict:
    """`speed.slower`, timed now."""
    return speed.slower(seconds_of("naive", "efficient"), ("naive", "efficient"))


def naive_beside_torch() -> Verdict:
    """`speed.slower`, timed now."""
    return speed.slower(seconds_of("naive", "torch"), ("naive", "torch"))


def einsum() -> Verdict:
    """`speed.as_fast`, timed now."""
    return speed.as_fast(seconds_of("einsum", "efficient"), ("einsum", "efficient"))


def seconds_of(first: str, second: str) -> dict[str, tuple[Tensor, Tensor]]:
    """Seconds of the calls of two implementations with the same weights, made in turn: task -> (calls,), (calls,)."""
    with alone():
        return {task: _timed(task, first, second) for task in TASKS}


def _timed(task: str, first: str, second: str) -> tuple[Tensor, Tensor]:
    call, (b, n, d_model, n_heads) = TASKS[task]
    _, layers = same_weights(d_model, n_heads, names=(first, second))
    x = torch.randn(b, n, d_model, generator=torch.Generator().manual_seed(0))
    candidates = {name: partial(call, layer, x, maps=True) for name, layer in layers.items()}
    seconds: dict[str, list[float]] = {first: [], second: []}
    began = time.monotonic()
    for name, number, took in calls(candidates, MOST):
        if number >= 0:
            seconds[name].append(took)
        is_whole = len(seconds[first]) == len(seconds[second]) >= FEWEST
        if is_whole and time.monotonic() - began > SECONDS:
            break
    return torch.tensor(seconds[first]), torch.tensor(seconds[second])
