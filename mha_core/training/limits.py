"""The plan of a training job, and limits on its size."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import SizeError
from .events import Start
from .recipe import Recipe

if TYPE_CHECKING:
    from .tasks import TrainingData

# Limits of one step, which cannot be interrupted: less than a second on two cores, and 2 GB of maps.
MAX_SCORES = 80_000_000  # layers · b · h · n²
MAX_PRODUCTS = 8_000_000_000  # layers · b · n · d · (4 d + 2 feed-forward)
# All runs of a job are in memory at once, and training keeps three more numbers per parameter.
MAX_PARAMETERS = 20_000_000
MAX_MAPS = 60_000_000  # bytes of the snapshots of all runs together, which the parent process keeps
NICENESS = 10


@dataclass(frozen=True)
class TrainingPlan:
    """Runs of a training job.

    Attributes:
        recipes: one per run; the runs take turns.
        data: None if the recipes' tasks generate their own.
        seconds: the time budget of all runs together.
    """

    recipes: tuple[Recipe, ...]
    data: TrainingData | None = None
    seconds: float = 120.0


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def max_threads() -> int:
    """Return the maximum number of threads of one training; one of several cores is left for the pages."""
    return max(1, cores() - 1)


def lower_priority() -> None:
    """Lower the priority of this process and its children, so that pages are answered first."""
    if hasattr(os, "nice"):
        os.nice(max(0, NICENESS - os.nice(0)))


def check_recipes(recipes: tuple[Recipe, ...]) -> None:
    """Check that this machine has the threads of these recipes, and memory for all of their models together.

    Raises:
        SizeError: it has not.
    """
    threads, limit = max((recipe.threads for recipe in recipes), default=1), max_threads()
    if threads > limit:
        raise SizeError(f"threads={threads}: choose at most {limit} on this machine")
    total = sum(
        recipe.d_model * (recipe.vocabulary + recipe.n_layers * (4 * recipe.d_model + 2 * recipe.d_feed_forward))
        for recipe in recipes
    )
    if total > MAX_PARAMETERS:
        raise SizeError(
            f"up to {total:,} parameters in {len(recipes)} models, at most {MAX_PARAMETERS:,} are trained together; "
            "choose fewer runs, a smaller vocabulary or smaller sizes"
        )


def products(recipe: Recipe, length: int) -> int:
    """Return the multiplications of a step by weights, to which its time is roughly proportional."""
    tokens = recipe.n_layers * recipe.batch * length
    return tokens * recipe.d_model * (4 * recipe.d_model + 2 * recipe.d_feed_forward)


def check_step(recipe: Recipe, length: int) -> None:
    """Check the time and memory of a step on texts of up to `length` tokens.

    Raises:
        SizeError: it would take too much of either.
    """
    scores = recipe.n_layers * recipe.batch * length * recipe.n_heads * length
    for formula, size, limit in (
        ("layers · b · h · n²", scores, MAX_SCORES),
        ("layers · b · n · d · (4 d + 2 feed-forward)", products(recipe, length), MAX_PRODUCTS),
    ):
        if size > limit:
            raise SizeError(
                f"with texts of {length} tokens {formula} = {size:,}, at most {limit:,} are computed here; choose a "
                "smaller batch, shorter texts or smaller sizes"
            )


def check_maps(start: Start, runs: int) -> None:
    """Check the memory of the snapshots of this many runs.

    Raises:
        SizeError: they would take too much.
    """
    recipe = start.recipe
    columns = start.columns or start.probes
    sides = (len(rows) * len(seen) for rows, seen in zip(start.probes, columns, strict=True))
    cells = recipe.n_layers * recipe.n_heads * sum(sides)
    total = runs * (recipe.evaluations + 1) * cells
    if total > MAX_MAPS:
        raise SizeError(
            f"{runs} runs with {recipe.n_layers} × {recipe.n_heads} heads keep {total:,} bytes of maps while they "
            f"learn, at most {MAX_MAPS:,} are kept; choose fewer runs or fewer heads"
        )
