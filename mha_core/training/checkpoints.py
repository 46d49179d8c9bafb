"""Train the models that Headlight ships: `python -m mha_core.training.checkpoints FOLDER [task …]`.

Each task is trained with the positional encodings that show what it is meant to demonstrate, with several seeds each.
Every seed's history is written, but only the weights of the first one. With --csv it trains on the news data set of the
blog post that docs/long-post.md reproduces; the data set may not be redistributed, so no weights are written.
"""

import argparse
import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import HeadlightError
from . import saved, sweep, tasks
from .recipe import Recipe, defaults
from .tasks import TrainingData
from .tasks.table import from_table

SEEDS = 5
TEXT = Path("assets/texts/shakespeare.txt")  # of the task "text", from the root of the repository
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
    "text": {"rotary": {"position": "rotary", "seconds": 3600.0}},
}

# The experiment of docs/long-post.md: as the post does it, with each implementation's own initial weights, and a fair
# one, with the same initial weights for all, masked padding and a vocabulary of the training rows alone.
POST, FAIR = "post", "fair"
EPOCHS = 10
NEWS: dict[str, dict[str, object]] = {
    f"{POST}-torch": {"implementation": "torch"},
    f"{POST}-naive": {"implementation": "naive"},
    f"{POST}-efficient": {"implementation": "efficient"},
    f"{POST}-efficient-sinusoidal": {"implementation": "efficient", "position": "sinusoidal"},
    f"{FAIR}-torch": {"implementation": "torch"},
    f"{FAIR}-naive": {"implementation": "naive"},
    f"{FAIR}-fused": {"implementation": "fused"},
    f"{FAIR}-fused-sinusoidal": {"implementation": "fused", "position": "sinusoidal"},
    f"{FAIR}-fused-sinusoidal-0.1": {"implementation": "fused", "position": "sinusoidal", "amplitude": 0.1},
}


def recipes(task: str) -> dict[str, Recipe]:
    """Return the recipes of a task's shipped runs, by the name of their folder."""
    return {
        f"{task}-{variant}-{seed}": replace(defaults(task), seed=seed, **changes)  # type: ignore[arg-type]
        for variant, changes in VARIANTS[task].items()
        for seed in range(1, SEEDS + 1)
    }


def news_variant(base: Recipe, variant: str) -> Recipe:
    """Apply a variant of `NEWS` to a base recipe, keeping the base's sizes."""
    is_post = variant.startswith(POST)
    changes: dict[str, object] = {
        "position": "none",
        "amplitude": 1.0,
        "mask_padding": not is_post,
        "start": "own" if is_post else "shared",
        "vocabulary_of": "all texts" if is_post else "training rows",
    }
    return replace(base, **changes | NEWS[variant])  # type: ignore[arg-type]


def news_recipe(variant: str, rows: int, seed: int) -> Recipe:
    """Return the recipe with the sizes of the post, for `EPOCHS` over that many training rows."""
    base = defaults("news")
    steps = EPOCHS * math.ceil(rows / base.batch)
    return replace(news_variant(base, variant), steps=steps, evaluations=EPOCHS, seconds=24 * 3600.0, seed=seed)


def news_runs(content: bytes) -> dict[str, sweep.PlannedRun]:
    """Return the runs on a table of news, by the name of their folder.

    Like the post, its replications keep duplicate rows.
    """
    runs = {}
    for variant in NEWS:
        task = from_table(TrainingData("news", content, keep_duplicates=variant.startswith(POST)))
        task = replace(task, probes=task.questions)  # record the maps of every question
        for seed in range(1, SEEDS + 1):
            runs[f"news-{variant}-{seed}"] = sweep.PlannedRun(news_recipe(variant, len(task.train), seed), task)
    return runs


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the models and write their runs."""
    parser = argparse.ArgumentParser(prog="python -m mha_core.training.checkpoints", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tasks", nargs="*", default=list(VARIANTS), help=f"some of {', '.join(VARIANTS)}")
    parser.add_argument("--csv", type=Path, help="the news alone: a table with columns text and label, in five classes")
    sweep.add_arguments(parser)
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.tasks) - set(VARIANTS))
    if unknown:
        parser.error(f"no task {', '.join(unknown)}; choose some of {', '.join(VARIANTS)}")
    try:
        workers, jobs = sweep.worker_count(options), dict[Path, sweep.PlannedRun]()
        if options.csv:
            jobs = {options.folder / name: run for name, run in news_runs(options.csv.read_bytes()).items()}
        for name in () if options.csv else options.tasks:
            is_text, length = name == "text", defaults(name).max_len
            task = tasks.Characters(TEXT.read_bytes(), length=length) if is_text else tasks.build(name)
            jobs |= {options.folder / run: sweep.PlannedRun(recipe, task) for run, recipe in recipes(name).items()}
        for name in ["news"] if options.csv else options.tasks:
            for earlier in options.folder.glob(f"{name}-*"):
                shutil.rmtree(earlier)
        for folder, history in sweep.run(jobs, workers).items():
            if isinstance(history, str):
                raise HeadlightError(f"{folder.name}: {history}")
            if options.csv or history.recipe.seed > 1:
                saved.save(folder, history if history.recipe.seed == 1 else replace(history, snapshots=[]))
    except (HeadlightError, OSError) as error:
        parser.exit(1, f"This cannot be trained: {error}\n")


if __name__ == "__main__":
    main()
