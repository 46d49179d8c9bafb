"""The plan of a training, and bounds on what it may ask for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import SizeError
from .events import Start
from .recipe import Recipe

if TYPE_CHECKING:
    from .tasks import TrainingData

# Bounds of one step, which nothing can interrupt: below a second on two cores, and its maps in 2 GB.
MAX_SCORES = 80_000_000  # layers · b · h · n²
MAX_PRODUCTS = 8_000_000_000  # layers · b · n · d · (4 d + 2 feed-forward)
# All runs of a job are in memory at once, and the optimiser keeps three numbers more for each parameter.
MAX_PARAMETERS = 20_000_000
MAX_MAPS = 60_000_000  # bytes of the snapshots of all runs together, which the listener keeps
NICENESS = 10


@dataclass(frozen=True)
class TrainingPlan:
    """The runs of a training.

    Attributes:
        recipes: one for each run; all are trained in turn.
        data: None where the recipes' tasks make their own.
        seconds: the time budget of all runs together.
    """

    recipes: tuple[Recipe, ...]
    data: TrainingData | None = None
    seconds: float = 120.0


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def most_threads() -> int:
    """The number of threads that one training may use: of several cores, one is left for the pages."""
    return max(1, cores() - 1)


def step_back() -> None:
    """Gives this process, and those that it forks, a low priority: visitors who look at pages come first."""
    if hasattr(os, "nice"):
        os.nice(max(0, NICENESS - os.nice(0)))


def check_threads(recipes: tuple[Recipe, ...]) -> None:
    """Raises a SizeError when a recipe wants more threads than one training may use on this machine."""
    wanted, most = max((recipe.threads for recipe in recipes), default=1), most_threads()
    if wanted > most:
        raise SizeError(f"threads={wanted}: a training gets at most {most} on this machine")


def check_parameters(recipes: tuple[Recipe, ...]) -> None:
    """Raises a SizeError when the models of these recipes would not fit into memory side by side."""
    most = sum(
        recipe.d_model * (recipe.vocabulary + recipe.n_layers * (4 * recipe.d_model + 2 * recipe.d_feed_forward))
        for recipe in recipes
    )
    if most > MAX_PARAMETERS:
        raise SizeError(
            f"up to {most:,} parameters in {len(recipes)} models, at most {MAX_PARAMETERS:,} are trained together; "
            "choose fewer runs, a smaller vocabulary or smaller sizes"
        )


def check_step(recipe: Recipe, length: int) -> None:
    """Raises a SizeError when a step on texts of up to `length` tokens would take too long or too much memory."""
    tokens = recipe.n_layers * recipe.batch * length
    scores = tokens * recipe.n_heads * length
    products = tokens * recipe.d_model * (4 * recipe.d_model + 2 * recipe.d_feed_forward)
    for formula, size, most in (
        ("layers · b · h · n²", scores, MAX_SCORES),
        ("layers · b · n · d · (4 d + 2 feed-forward)", products, MAX_PRODUCTS),
    ):
        if size > most:
            raise SizeError(
                f"with texts of {length} tokens {formula} = {size:,}, at most {most:,} are computed here; choose a "
                "smaller batch, shorter texts or smaller sizes"
            )


def check_maps(start: Start, runs: int) -> None:
    """Raises a SizeError when the snapshots of so many runs like this one would take too much memory."""
    recipe = start.recipe
    columns = start.columns or start.probes
    sides = (len(rows) * len(seen) for rows, seen in zip(start.probes, columns, strict=True))
    cells = recipe.n_layers * recipe.n_heads * sum(sides)
    most = runs * (recipe.evaluations + 1) * cells
    if most > MAX_MAPS:
        raise SizeError(
            f"{runs} runs with {recipe.n_layers} × {recipe.n_heads} heads keep {most:,} bytes of maps while they "
            f"learn, at most {MAX_MAPS:,} are kept; choose fewer runs or fewer heads"
        )
