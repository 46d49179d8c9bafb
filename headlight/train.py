"""`headlight train`: trains a model, or with `--sweep` every combination of what is given, each with several seeds."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from mha_core import IMPLEMENTATIONS, positions
from mha_core.errors import HeadlightError
from mha_core.training import saved, sweep, tasks
from mha_core.training.events import History
from mha_core.training.recipe import defaults

from .arguments import Parser, UsageError, check_folder

NO_LIMIT = 24 * 3600.0  # seconds: a run that its time budget cuts is another one on every machine


def parser() -> Parser:
    """The arguments."""
    made = Parser(prog="headlight train", description=__doc__, allow_abbrev=False)
    made.add_argument("--sweep", action="store_true", help="train every combination of the values below")
    made.add_argument("--task", nargs="+", default=["who"], help=f"of {', '.join(tasks.NAMES)} (default: who)")
    made.add_argument("--position", nargs="+", help=f"of {', '.join(positions.NAMES)} (default: the task's own)")
    made.add_argument("--implementation", nargs="+", default=["fused"], help=f"of {', '.join(IMPLEMENTATIONS)}")
    made.add_argument("--layers", nargs="+", type=int, help="how many (default: the task's own)")
    made.add_argument("--seeds", type=int, default=1, metavar="N", help="the seeds 1 to N (default: %(default)s)")
    made.add_argument("--steps", type=int, help="of each run (default: the task's own)")
    made.add_argument("--threads", type=int, default=1, help="of each run (default: %(default)s)")
    made.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where each run gets a folder")
    sweep.add_arguments(made)
    return made


def main(arguments: Sequence[str]) -> int:
    """Trains; the exit code."""
    made = parser()
    chosen = made.parse_args(arguments)
    lists = {name: getattr(chosen, name) for name in ("task", "position", "implementation", "layers")}
    known = {"task": tasks.NAMES, "position": positions.NAMES, "implementation": IMPLEMENTATIONS}
    for name, names in known.items():
        if strange := sorted(set(lists[name] or ()) - set(names)):
            made.error(f"--{name}: “{strange[0]:.50}” is unknown; choose from {', '.join(names)}")
    if not chosen.sweep and (chosen.seeds > 1 or any(len(values or ()) > 1 for values in lists.values())):
        made.error("--sweep is needed for several runs at once")
    if chosen.seeds < 1:
        made.error("--seeds must be 1 or more")
    try:
        how = {name: value for name in ("steps", "threads") if (value := getattr(chosen, name)) is not None}
        jobs = _jobs(check_folder("--out", chosen.out), lists, chosen.seeds, how)
        return _tell(sweep.run(jobs, sweep.workers_of(chosen, chosen.threads)))
    except (HeadlightError, UsageError, OSError) as error:
        print(f"headlight: {error}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            f"\nheadlight: stopped; the runs in {chosen.out} are kept, and the same command continues there.",
            flush=True,
        )
        return 130


def _jobs(
    out: Path, lists: Mapping[str, Sequence[Any] | None], seeds: int, how: dict[str, Any]
) -> dict[Path, sweep.PlannedRun]:
    """What to train, and the folder of each run. Raises a HeadlightError for what cannot be trained."""
    jobs = dict[Path, sweep.PlannedRun]()
    for name in lists["task"] or ():
        task, base = tasks.build(name), replace(defaults(name), seconds=NO_LIMIT, **how)
        axes = (lists["position"] or [base.position], lists["implementation"] or (), lists["layers"] or [base.n_layers])
        for position, implementation, layers, seed in product(*axes, range(1, seeds + 1)):
            recipe = replace(base, position=position, implementation=implementation, n_layers=layers, seed=seed)
            recipe.check()
            job = sweep.PlannedRun(recipe, task)
            place = out / f"{name}-{position}-{implementation}-{layers}layer{'s'[: layers > 1]}-{seed}"
            if place.exists() and sweep.known(place, job) is None:
                raise HeadlightError(f"the folder “{place}” contains another run; choose another --out")
            jobs[place] = job
    return jobs


def _tell(results: Mapping[Path, History | str]) -> int:
    """Packs the runs, prints the table, and says what could not be trained; the exit code."""
    lines: dict[str, list[History]] = {}
    for place, result in results.items():
        if isinstance(result, History):
            place.with_name(f"{place.name}.zip").write_bytes(saved.pack(place))
            lines.setdefault(place.name.rpartition("-")[0], []).append(result)
    print(f"\n{sweep.table(lines)}\n")
    print(f"Each run is a folder in {next(iter(results)).parent}, for load_model, and a zip file, which Train opens.")
    failed = {place.name: result for place, result in results.items() if isinstance(result, str)}
    for name, why in failed.items():
        print(f"headlight: {name} could not be trained: {why}.", file=sys.stderr)
    return 1 if failed else 0
