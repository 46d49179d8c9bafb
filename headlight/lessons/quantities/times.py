"""Measured times: alternating calls of two implementations with the same weights, on one CPU thread."""

import time
from functools import partial

import torch
from cachetools import TTLCache

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.queue.single_flight import run_heavy, single_flight
from mha_core import IMPLEMENTATIONS
from mha_core.clock import time_calls
from mha_core.measure.timing import forward_pass, same_weights, training_step

TASKS = {  # task -> function, and b, n, d_model, h
    "64 tokens": (forward_pass, (1, 64, 384, 12)),
    "training": (training_step, (2, 512, 64, 8)),
}
SECONDS = 0.6  # for each task
MIN_CALLS, MAX_CALLS = 4, 200  # of each implementation
TTL_SECONDS = 600  # after which it is measured again


def time_ratios(first: str, second: str, task: str) -> Value:
    """Return `time_ratios("naive", "torch", "training")`, (c): time of the first / time of the second, pair by pair.

    The tasks are "64 tokens" for a layer of MiniLM's size, and a "training" step on 512 tokens, both with maps.
    """
    if not {first, second} <= set(IMPLEMENTATIONS) or first == second or task not in TASKS:
        raise RuleError(f"time_ratios takes two of {', '.join(IMPLEMENTATIONS)}, and one of {', '.join(TASKS)}")
    return run_heavy(_turns, first, second, task)


@single_flight(TTLCache(64, TTL_SECONDS))
def _turns(first: str, second: str, task: str) -> Value:
    call, (b, n, d_model, n_heads) = TASKS[task]
    x = torch.randn(b, n, d_model, generator=torch.Generator().manual_seed(0))
    seconds: dict[str, list[float]] = {first: [], second: []}
    _, layers = same_weights(d_model, n_heads, names=(first, second))
    candidates = {name: partial(call, layer, x, maps=True) for name, layer in layers.items()}
    began = time.monotonic()
    for name, number, took in time_calls(candidates, MAX_CALLS):
        if number >= 0:
            seconds[name].append(took)
        is_whole = len(seconds[first]) == len(seconds[second]) >= MIN_CALLS
        if is_whole and time.monotonic() - began > SECONDS:
            break
    return Value.from_tensor(torch.tensor(seconds[first]) / torch.tensor(seconds[second]), "c")
