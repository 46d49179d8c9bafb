"""Trains the models that Headlight ships: `python -m mha_core.training.checkpoints FOLDER [task …]`.

Each task with the positions that make its point, several seeds each. Every seed's history is written, the weights of
the first one alone.
"""

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import HeadlightError
from . import saved, sweep, tasks
from .recipe import Recipe, defaults

SEEDS = 5
# task -> name of a variant -> what differs from the task's defaults
VARIANTS: dict[str, dict[str, dict[str, object]]] = {
    "who": {name: {"position": name} for name in ("none", "sinusoidal", "rotary")},
    "food": {name: {"position": name} for name in ("none", "sinusoidal", "rotary")},
    "brackets": {name: {"position": name} for name in ("none", "sinusoidal", "learned", "rotary")},
    "words": {"1layer": {"n_layers": 1}, "2layers": {"n_layers": 2}},
    "names": {"none": {"position": "none"}, "rotary": {"position": "rotary"}},
    "dates": {"sinusoidal": {"position": "sinusoidal"}},
    "shapes": {"sinusoidal": {"position": "sinusoidal"}},
    "made_up": {name: {"position": name} for name in ("none", "sinusoidal", "rotary")},
}


def recipes(task: str) -> dict[str, Recipe]:
    """The recipes of a task's shipped runs, by the name of their folder."""
    return {
        f"{task}-{variant}-{seed}": replace(defaults(task), seed=seed, **changes)  # type: ignore[arg-type]
        for variant, changes in VARIANTS[task].items()
        for seed in range(1, SEEDS + 1)
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains and writes."""
    parser = argparse.ArgumentParser(prog="python -m mha_core.training.checkpoints", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tasks", nargs="*", default=list(VARIANTS), help=f"some of {', '.join(VARIANTS)}")
    sweep.add_arguments(parser, "one for each core")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.tasks) - set(VARIANTS))
    if unknown:
        parser.error(f"no task {', '.join(unknown)}; choose some of {', '.join(VARIANTS)}")
    try:
        execute, jobs = sweep.executor(chosen), dict[Path, sweep.PlannedRun]()
        for name in chosen.tasks:
            for earlier in chosen.folder.glob(f"{name}-*"):
                shutil.rmtree(earlier)
            task = tasks.build(name)
            jobs |= {chosen.folder / folder: sweep.PlannedRun(recipe, task) for folder, recipe in recipes(name).items()}
        for place, history in sweep.run(jobs, execute).items():
            if isinstance(history, str):
                raise HeadlightError(f"{place.name}: {history}")
            if history.recipe.seed > 1:
                saved.save(place, history)
    except HeadlightError as error:
        parser.exit(1, f"This cannot be trained: {error}\n")


if __name__ == "__main__":
    main()
