"""How long a training will take on this machine: a step is measured, the rest follows from the sizes."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import cast

import torch
from torch.nn import functional as F

from ..device import or_on_the_cpu, pick
from ..models.classifier import Classifier
from .initial_weights import stack_of
from .loop import on_threads
from .recipe import Recipe
from .tasks import Labelled

CHARACTERS_A_TOKEN = 3.0  # of a vocabulary of a thousand; a larger one has longer tokens
READING = 2.4e-6  # seconds a character, once for all runs: a tokenizer is trained, and the texts are cut into tokens
FEW_ROWS = 4  # of a first, cheap step
WHOLE_STEP_SECONDS = 0.2  # a step that will take no longer is measured with all its rows
FORWARD = 0.4  # a forward pass alone, in steps


def run_seconds(recipe: Recipe, task: Labelled, told: Callable[[str], object] = lambda said: None) -> float:
    """About how long a run takes from its first step to its end, in seconds. `told`, errors: as in `step_seconds`."""
    step = step_seconds(recipe, expected_length(recipe, task), len(task.classes), told)
    looks = (recipe.evaluations + 1) * math.ceil(len(task.test) / recipe.batch) * FORWARD
    return (recipe.steps + looks) * step


def reading_seconds(task: Labelled) -> float:
    """About how long it takes to turn the texts into tokens, which all runs share, in seconds."""
    return READING * sum(len(row.text) for row in (*task.train, *task.test))


def expected_length(recipe: Recipe, task: Labelled) -> int:
    """About how many tokens the longest text of a batch has, which the others are filled up to."""
    lengths = sorted(len(row.text) for row in task.train)
    longest = lengths[int(len(lengths) * recipe.batch / (recipe.batch + 1))] if lengths else 0
    return max(2, min(recipe.max_len, math.ceil(longest / CHARACTERS_A_TOKEN) + 2))


def step_seconds(recipe: Recipe, length: int, classes: int, told: Callable[[str], object] = lambda said: None) -> float:
    """Seconds of one training step of a classifier on texts of so many tokens, measured once on each device.

    `told` is called with what must be said of it: on "auto" the CPU takes the place of a device without room.

    Raises:
        DeviceError: the device was chosen by name, and is full.
    """
    kind = replace(recipe, task="csv", seed=0, data_seed=0, steps=1, evaluations=1, seconds=1.0, schedule="constant")
    seconds, notices = or_on_the_cpu(
        lambda device: measured(replace(kind, device=str(device)), length, classes),
        pick(recipe.device),
        allowed=recipe.device == "auto",
        smaller="choose smaller sizes",
    )
    for sentence in notices:
        told(sentence)
    return seconds


@lru_cache(maxsize=256)
def measured(recipe: Recipe, length: int, classes: int) -> float:
    few = min(FEW_ROWS, recipe.batch)
    guess = timed(recipe, few, length, classes) * recipe.batch / few
    return guess if guess > WHOLE_STEP_SECONDS else timed(recipe, recipe.batch, length, classes)


def timed(recipe: Recipe, rows: int, length: int, classes: int) -> float:
    """The faster of two steps on random tokens, after a first one that also sets things up."""
    device = pick(recipe.device)
    stack = cast(Classifier, stack_of(recipe, recipe.vocabulary, classes=classes).to(device))
    optimizer = torch.optim.AdamW(stack.parameters(), recipe.rate, fused=True)
    ids = torch.randint(4, recipe.vocabulary, (rows, length), device=device)  # after the special tokens
    keep, labels = torch.ones_like(ids, dtype=torch.bool), ids[:, 0] % classes
    times = []
    with on_threads(recipe.threads):
        for _ in range(3):
            began = time.perf_counter()
            optimizer.zero_grad()
            loss = F.cross_entropy(stack.logits(ids, keep, mask_padding=recipe.mask_padding), labels)
            torch.autograd.backward(loss)
            optimizer.step()
            loss.item()  # waits for the device
            times.append(time.perf_counter() - began)
    return min(times[1:])


def fitting(seconds: Sequence[float], seeds: int, budget: float) -> tuple[int, float]:
    """The number of seeds, and the part of each run's steps, with which runs fit into a budget.

    Args:
        seconds: of a run of each candidate, with one seed.
        seeds: that are wanted; fewer come before fewer steps.
    """
    one = sum(seconds)
    many = max(1, min(seeds, math.floor(budget / one))) if one else seeds
    return many, min(1.0, budget / one) if one else 1.0
