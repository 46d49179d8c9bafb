"""The long post's experiment: `python -m mha_core.training.reproduce --csv FILE`; docs/long-post.md has its figures.

A news table in classes (columns `text` and `label`), classified with three implementations of attention and with
sinusoidal positions: first as the post does it (duplicates kept, padding not masked, each implementation's own initial
weights, a tokenizer that knows the test rows), then made fair (duplicates removed, padding masked, the same initial
weights, a tokenizer of the training rows).
Every finished run is kept in the folder, so that a call that was cut short goes on where it was. With --record the
histories are written without weights, as assets/trained has them.
"""

import argparse
import datetime
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from ..clock import machine
from ..errors import HeadlightError
from . import saved, sweep
from .events import History
from .objectives import Classes
from .recipe import Recipe, defaults
from .report import averages, confusion, per_class
from .tasks import Labelled, from_csv

PROBES = ("how are you", "you how are", "can you can that")  # the texts whose answers and maps the post shows
POST, FAIR = "post", "fair"  # trained as the post does it; fairly
# a run is named news-post-torch-1: the half, the implementation, its positions, the seed
LINES: dict[str, dict[str, object]] = {
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


def recipe(line: str, rows: int, *, seed: int, epochs: int, **how: object) -> Recipe:
    """The recipe of a line: the post's sizes and steps, for so many epochs of so many training rows."""
    base, is_post = defaults("news"), line.startswith(POST)
    changes: dict[str, object] = {
        "position": "none",
        "mask_padding": not is_post,
        "start": "own" if is_post else "shared",
        "vocabulary_of": "all texts" if is_post else "training rows",
        "steps": epochs * math.ceil(rows / base.batch),
        "evaluations": epochs,
        "seconds": 24 * 3600.0,
        "seed": seed,
        **LINES[line],
        **how,
    }
    return replace(base, **changes)  # type: ignore[arg-type]


def report(line: str, histories: Sequence[History], task: Labelled) -> str:
    """The classification report of a line, over the rows of all its seeds, in Markdown."""
    labels = [row.label for row in task.test] * len(histories)
    predicted = [guess for history in histories if history.end for guess in history.end.predicted]
    classes = per_class(confusion(labels, predicted, len(task.classes)))
    lines = [f"| {line} | precision | recall | F1 | rows |", "|---|---|---|---|---|"]
    named = zip((*task.classes, "macro avg", "weighted avg"), (*classes, *averages(classes)), strict=True)
    for name, row in named:
        shares = ("—" if share is None else f"{share:.2f}" for share in (row.precision, row.recall, row.f1))
        lines.append(f"| {name} | {' | '.join(shares)} | {row.support} |")
    return "\n".join(lines)


@torch.no_grad()
def probed(place: Path, history: History, task: Labelled) -> str:
    """What a kept run answers to the same words in two orders, and its mean map of the third probe, in Markdown."""
    coded = saved.read_tokenizer(place)
    stack, _ = saved.read_stack(place, history, coded.get_vocab_size())
    objective = Classes(stack, history.recipe, task, coded)  # type: ignore[arg-type]
    lines = [f"| | {' | '.join(task.classes)} |", f"|---{'|---' * len(task.classes)}|"]
    for text, (_, ids) in zip(PROBES[:2], objective.probes, strict=False):
        whole = torch.tensor([ids])
        lines.append(_row(text, objective.stack.logits(whole, whole >= 0).softmax(-1)[0].tolist(), 3))
    tokens, ids = objective.probes[2]
    lines += ["", f"| {PROBES[2]} | {' | '.join(tokens)} |", f"|---{'|---' * len(tokens)}|"]
    mean = objective.maps(torch.tensor([ids]))[0][0].mean(0).tolist()
    return "\n".join([*lines, *(_row(token, row, 2) for token, row in zip(tokens, mean, strict=True))])


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains what is missing and prints the tables."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if chosen.seeds < 1 or chosen.epochs < 1:
        parser.error("--seeds and --epochs are 1 or more")
    how = {name: getattr(chosen, name) for name in ("epochs", "threads", "device", "all_rows")}
    results: dict[str, list[History]] = {line: [] for line in LINES}

    def place(line: str, seed: int) -> Path:
        return Path(chosen.folder) / f"{line}-{chosen.epochs}-{'all-rows-' if chosen.all_rows else ''}{seed}"

    try:
        data, columns = chosen.csv.read_bytes(), {"text": chosen.text, "label": chosen.label, "name": "news"}
        tasks = {
            half: replace(from_csv(data, keep_duplicates=half == POST, **columns), probes=PROBES)
            for half in (POST, FAIR)
        }
        for half, task in tasks.items():
            print(f"{half}: {len(task.train)} training rows, {len(task.test)} test rows.", *task.notes, flush=True)
        places = {place(line, seed): (line, seed) for line in LINES for seed in range(1, chosen.seeds + 1)}
        jobs = dict[Path, sweep.PlannedRun]()
        for folder, (line, seed) in places.items():
            task = tasks[line.split("-")[0]]
            jobs[folder] = sweep.PlannedRun(recipe(line, len(task.train), seed=seed, **how), task)
        for folder, history in sweep.run(jobs, sweep.executor(chosen, default=1)).items():
            line, seed = places[folder]
            if isinstance(history, str):
                raise HeadlightError(f"{folder.name}: {history}")
            results[line].append(history)
            if chosen.record:
                saved.save(chosen.record / f"news-{line}-{seed}", history, maps=seed == 1)
    except (HeadlightError, OSError) as error:
        parser.exit(1, f"This cannot be trained: {error}\n")
    today, threads = datetime.datetime.now(tz=datetime.UTC).date(), chosen.threads
    print(f"\n{today}, seeds 1 to {chosen.seeds}, {chosen.epochs} epochs, {machine()}, threads: {threads}\n")
    print(sweep.table(results))
    for line, histories in results.items():
        task = tasks[line.split("-")[0]]
        print(f"\n{report(line, histories, task)}\n\n{probed(place(line, 1), histories[0], task)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mha_core.training.reproduce", description=__doc__)
    parser.add_argument("--csv", type=Path, required=True, help="a table with a column of texts and one of labels")
    parser.add_argument("--text", default="text", help="the column of texts")
    parser.add_argument("--label", default="label", help="the column of labels")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--folder", type=Path, default=Path("reproduced"), help="where finished runs are kept")
    parser.add_argument("--record", type=Path, help="where histories without weights are written: assets/trained")
    parser.add_argument("--all-rows", action="store_true", help="every row of the layer, as in the post, for its time")
    sweep.add_arguments(parser, "1, as others beside it would change its seconds")
    return parser


def _row(name: str, values: Sequence[float], decimals: int) -> str:
    return f"| {name} | {' | '.join(f'{value:.{decimals}f}' for value in values)} |"


if __name__ == "__main__":
    main()
