"""The `headlight train` command: trains a model, or with `--sweep` every combination of options."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

from mha_core import IMPLEMENTATIONS, positions
from mha_core.errors import HeadlightError
from mha_core.training import saved, sweep, tasks
from mha_core.training.events import History
from mha_core.training.recipe import defaults

from .arguments import Parser, UsageError, check_folder

NO_LIMIT = 24 * 3600.0  # seconds; a time budget would make runs depend on the machine


def build_parser() -> Parser:
    """Return the parser of the command's arguments."""
    parser = Parser(prog="headlight train", description=__doc__, allow_abbrev=False)
    parser.add_argument("--sweep", action="store_true", help="train every combination of the values below")
    parser.add_argument("--task", nargs="+", default=["who"], help=f"of {', '.join(tasks.NAMES)} (default: who)")
    parser.add_argument("--position", nargs="+", help=f"of {', '.join(positions.NAMES)} (default: the task's own)")
    parser.add_argument("--implementation", nargs="+", default=["fused"], help=f"of {', '.join(IMPLEMENTATIONS)}")
    parser.add_argument("--layers", nargs="+", type=int, help="how many (default: the task's own)")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="the seeds 1 to N (default: %(default)s)")
    parser.add_argument("--steps", type=int, help="of each run (default: the task's own)")
    parser.add_argument("--threads", type=int, default=1, help="of each run (default: %(default)s)")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where each run gets a folder")
    sweep.add_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    parser = build_parser()
    args = parser.parse_args(arguments)
    import_module("pandas")  # of the table of results, so that it is missed before the training
    lists = {name: getattr(args, name) for name in ("task", "position", "implementation", "layers")}
    allowed = {"task": tasks.NAMES, "position": positions.NAMES, "implementation": IMPLEMENTATIONS}
    for name, names in allowed.items():
        if unknown := sorted(set(lists[name] or ()) - set(names)):
            parser.error(f"--{name}: “{unknown[0]:.50}” is unknown; choose from {', '.join(names)}")
    if not args.sweep and (args.seeds > 1 or any(len(values or ()) > 1 for values in lists.values())):
        parser.error("--sweep is needed for several runs at once")
    if args.seeds < 1:
        parser.error("--seeds must be 1 or more")
    try:
        options = {name: value for name in ("steps", "threads") if (value := getattr(args, name)) is not None}
        planned = _planned_runs(check_folder("--out", args.out), lists, args.seeds, options)
        return _report(sweep.run(planned, sweep.worker_count(args, args.threads)))
    except (HeadlightError, UsageError, OSError) as error:
        print(f"headlight: {error}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nheadlight: stopped; the same command continues the runs in {args.out}.", flush=True)
        return 130


def _planned_runs(
    out: Path, lists: Mapping[str, Sequence[Any] | None], seeds: int, options: dict[str, Any]
) -> dict[Path, sweep.PlannedRun]:
    """Return the planned runs by their folders. Raises a HeadlightError for a recipe that cannot be trained."""
    planned = dict[Path, sweep.PlannedRun]()
    for name in lists["task"] or ():
        task, base = tasks.build(name), replace(defaults(name), seconds=NO_LIMIT, **options)
        axes = (lists["position"] or [base.position], lists["implementation"] or (), lists["layers"] or [base.n_layers])
        for position, implementation, layers, seed in product(*axes, range(1, seeds + 1)):
            recipe = replace(base, position=position, implementation=implementation, n_layers=layers, seed=seed)
            recipe.check()
            run = sweep.PlannedRun(recipe, task)
            folder = out / f"{name}-{position}-{implementation}-{layers}layer{'s'[: layers > 1]}-{seed}"
            if folder.exists() and sweep.find_existing(folder, run) is None:
                raise HeadlightError(f"the folder “{folder}” contains another run; choose another --out")
            planned[folder] = run
    return planned


def _report(results: Mapping[Path, History | str]) -> int:
    """Pack the runs, print the table of results and the failures; return the exit code."""
    runs: dict[str, list[History]] = {}
    for folder, result in results.items():
        if isinstance(result, History):
            folder.with_name(f"{folder.name}.zip").write_bytes(saved.pack(folder))
            runs.setdefault(folder.name.rpartition("-")[0], []).append(result)
    print(f"\n{sweep.table(runs)}\n")
    print(f"Each run is a folder in {next(iter(results)).parent}, for load_model, and a zip file, which Train opens.")
    failed = {folder.name: result for folder, result in results.items() if isinstance(result, str)}
    for name, why in failed.items():
        print(f"headlight: {name} could not be trained: {why}.", file=sys.stderr)
    return 1 if failed else 0
