"""The long post's experiment: `python -m mha_core.training.reproduce --csv FILE`.

A news table in classes (columns `text` and `label`), classified with three implementations of attention and with
sinusoidal positions: first as the post does it (duplicates kept, padding not masked, each implementation's own initial
weights), then with one thing after the other made fair (duplicates removed, padding masked, the same initial weights).
Every finished run is kept in the folder, so that a call that was cut short goes on where it was.
"""

from __future__ import annotations

import argparse
import datetime
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..clock import machine
from ..errors import HeadlightError
from . import saved
from .events import History
from .loop import Training
from .recipe import Recipe, defaults
from .report import confusion, mean_and_sd, per_class
from .tasks import Labelled, from_csv

__all__ = ["ROWS", "Line", "main", "recipe", "table"]


@dataclass(frozen=True)
class Line:
    """One line of the table: what is trained, and whether as the post does it."""

    name: str
    as_the_post: bool
    implementation: str
    position: str = "none"
    amplitude: float = 1.0


ROWS = (
    Line("torch", True, "torch"),
    Line("naive", True, "naive"),
    Line("efficient", True, "efficient"),
    Line("efficient + sinusoidal", True, "efficient", "sinusoidal"),
    Line("torch", False, "torch"),
    Line("naive", False, "naive"),
    Line("fused", False, "fused"),
    Line("fused + sinusoidal", False, "fused", "sinusoidal"),
    Line("fused + sinusoidal × 0.1", False, "fused", "sinusoidal", 0.1),
)


def recipe(line: Line, task: Labelled, *, seed: int, epochs: int, threads: int, device: str = "cpu") -> Recipe:
    """The recipe of a line: the post's sizes and steps, for so many epochs of this task."""
    base = replace(defaults("news"), task="csv")
    return replace(
        base,
        implementation=line.implementation,
        position=line.position,
        amplitude=line.amplitude,
        mask_padding=not line.as_the_post,
        start="own" if line.as_the_post else "shared",
        steps=epochs * math.ceil(len(task.train) / base.batch),
        evaluations=epochs,
        seconds=24 * 3600.0,
        seed=seed,
        threads=threads,
        device=device,
    )


def runs(
    line: Line, task: Labelled, folder: Path, *, seeds: int, epochs: int, threads: int, device: str
) -> Iterator[History]:
    """The runs of a line, a seed each: read from the folder where they are there, trained and written otherwise."""
    for seed in range(1, seeds + 1):
        wanted = recipe(line, task, seed=seed, epochs=epochs, threads=threads, device=device)
        place = folder / f"{'post' if line.as_the_post else 'fair'}-{_slug(line.name)}-{epochs}-{seed}"
        try:
            known = saved.read(place)
            if known.recipe == wanted and known.start and task.fingerprint in known.start.fingerprint:
                yield known
                continue
        except HeadlightError:
            pass  # not there, or cut short
        training, began = Training(wanted, task), time.monotonic()
        for _ in training.events():
            pass
        training.save(place)
        last = training.history.evaluations[-1]
        print(f"  {place.name}: accuracy {last.test_accuracy:.3f} in {time.monotonic() - began:.0f} s", flush=True)
        yield training.history


def table(results: Sequence[tuple[Line, Sequence[History]]]) -> str:
    """The table of all lines, in Markdown."""
    lines = ["| | accuracy of each seed | mean ± sd | parameters | s per epoch |", "|---|---|---|---|---|"]
    for as_the_post, title in ((True, "as the post does it"), (False, "made fair")):
        lines.append(f"| **{title}** | | | | |")
        for line, histories in results:
            if line.as_the_post == as_the_post and histories:
                scores = [history.evaluations[-1].test_accuracy for history in histories]
                mean, sd = mean_and_sd(scores)
                spread = f"{mean:.3f} ± {sd:.3f}" if len(scores) > 1 else f"{mean:.3f}"
                epochs = sum(history.step * history.recipe.batch / _rows(history) for history in histories)
                seconds = sum(history.seconds for history in histories) / epochs
                by_seed = ", ".join(f"{score:.3f}" for score in scores)
                parameters = histories[0].start.parameters if histories[0].start else 0
                lines.append(f"| {line.name} | {by_seed} | {spread} | {parameters:,} | {seconds:.1f} |")
    return "\n".join(lines)


def classes(line: Line, histories: Sequence[History], task: Labelled) -> str:
    """The classification report of a line, over the rows of all its seeds, in Markdown."""
    labels = [row.label for row in task.test] * len(histories)
    predicted = [guess for history in histories if history.end for guess in history.end.predicted]
    report = per_class(confusion(labels, predicted, len(task.classes)))
    lines = [f"| {line.name} | precision | recall | F1 | rows |", "|---|---|---|---|---|"]
    for name, row in zip(task.classes, report, strict=True):
        shares = ("—" if share is None else f"{share:.2f}" for share in (row.precision, row.recall, row.f1))
        lines.append(f"| {name} | {' | '.join(shares)} | {row.support} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains what is missing and prints the tables."""
    parser = argparse.ArgumentParser(prog="python -m mha_core.training.reproduce", description=__doc__)
    parser.add_argument("--csv", type=Path, required=True, help="a table with a column of texts and one of labels")
    parser.add_argument("--text", default="text", help="the column of texts")
    parser.add_argument("--label", default="label", help="the column of labels")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--folder", type=Path, default=Path("reproduced"), help="where finished runs are kept")
    chosen = parser.parse_args(arguments)
    if chosen.seeds < 1 or chosen.epochs < 1:
        parser.error("--seeds and --epochs are 1 or more")
    results = []
    try:
        data = chosen.csv.read_bytes()
        tasks = {
            kept: from_csv(data, text=chosen.text, label=chosen.label, keep_duplicates=kept) for kept in (True, False)
        }
        for as_the_post, task in tasks.items():
            print("As the post does it:" if as_the_post else "Made fair:", len(task.train), "training rows,",
                  len(task.test), "test rows.", *task.notes, flush=True)  # fmt: skip
        for line in ROWS:
            task = tasks[line.as_the_post]
            how = {name: getattr(chosen, name) for name in ("seeds", "epochs", "threads", "device")}
            results.append((line, list(runs(line, task, chosen.folder, **how))))
    except (HeadlightError, OSError) as error:
        parser.exit(1, f"This cannot be trained: {error}\n")
    today = datetime.datetime.now(tz=datetime.UTC).date()
    threads = f"{chosen.threads} thread{'s' if chosen.threads > 1 else ''}"
    data = " / ".join(task.fingerprint for task in tasks.values())
    print(f"\n{today}, seeds 1 to {chosen.seeds}, {chosen.epochs} epochs, {machine()}, on {threads}\nData {data}\n")
    print(table(results))
    for line, histories in results:
        print(f"\n{'As the post does it' if line.as_the_post else 'Made fair'}, all seeds together:\n")
        print(classes(line, histories, tasks[line.as_the_post]))


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())


def _rows(history: History) -> int:
    return history.start.rows_train if history.start else 1


if __name__ == "__main__":
    main()
