"""The long post's experiment: `python -m mha_core.training.reproduce --csv FILE`.

A news table in classes (columns `text` and `label`), classified with three implementations of attention and with
sinusoidal positions: first as the post does it (duplicates kept, padding not masked, each implementation's own initial
weights, a tokenizer that knows the test rows), then made fair (duplicates removed, padding masked, the same initial
weights, a tokenizer of the training rows).
Every finished run is kept in the folder, so that a call that was cut short goes on where it was. With --record the
numbers of each run, without its texts and weights, are written for `recorded`.
"""

import argparse
import datetime
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ..clock import machine
from ..errors import HeadlightError
from . import recorded, saved
from .events import History
from .long_post import PROBES, ROWS, Line, recipe
from .loop import Training
from .recipe import Recipe
from .report import confusion, mean_and_sd, per_class
from .tasks import Labelled, from_csv


def runs(
    line: Line,
    task: Labelled,
    folder: Path,
    *,
    seeds: int,
    epochs: int,
    threads: int = 1,
    device: str = "cpu",
    all_rows: bool = False,
    record: Path | None = None,
) -> Iterator[History]:
    """The runs of a line, a seed each: read from the folder where they are there, trained and written otherwise.

    Args:
        seeds: 1 to this one.
        record: the folder of `recorded` that each run's numbers are written into.
    """
    for seed in range(1, seeds + 1):
        how = {"epochs": epochs, "threads": threads, "device": device, "all_rows": all_rows}
        wanted = recipe(line, len(task.train), seed=seed, **how)  # type: ignore[arg-type]
        place = folder / f"{line.key.replace('/', '-')}-{epochs}-{'all-rows-' if all_rows else ''}{seed}"
        history = _kept(place, wanted, task) or _trained(place, wanted, task)
        if record is not None:
            recorded.write(f"{line.key}-{seed}", place, task, record)
        yield history


def _kept(place: Path, wanted: Recipe, task: Labelled) -> History | None:
    """The run that lies there, if it is this one."""
    try:
        known = saved.read(place)
    except HeadlightError:  # not there, or cut short
        return None
    is_it = known.recipe == wanted and known.start is not None and task.fingerprint in known.start.fingerprint
    return known if is_it else None


def _trained(place: Path, wanted: Recipe, task: Labelled) -> History:
    training, began = Training(wanted, task), time.monotonic()
    for _ in training.events():
        pass
    training.save(place)
    last = training.history.evaluations[-1]
    print(f"  {place.name}: accuracy {last.test_accuracy:.3f} in {time.monotonic() - began:.0f} s", flush=True)
    return training.history


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
                by_seed = ", ".join(f"{score:.3f}" for score in scores)
                parameters = histories[0].start.parameters if histories[0].start else 0
                lines.append(
                    f"| {line.name} | {by_seed} | {spread} | {parameters:,} | {_seconds_per_epoch(histories):.2f} |"
                )
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
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if chosen.seeds < 1 or chosen.epochs < 1:
        parser.error("--seeds and --epochs are 1 or more")
    if chosen.all_rows and chosen.record:
        parser.error("--all-rows takes the same training more time, nothing else: record it without")
    how = {name: getattr(chosen, name) for name in ("seeds", "epochs", "threads", "device", "all_rows", "record")}
    results = []
    try:
        data = chosen.csv.read_bytes()
        columns = {"text": chosen.text, "label": chosen.label, "name": "news"}
        tasks = {
            kept: replace(from_csv(data, keep_duplicates=kept, **columns), probes=PROBES) for kept in (True, False)
        }
        for as_the_post, task in tasks.items():
            print("As the post does it:" if as_the_post else "Made fair:", len(task.train), "training rows,",
                  len(task.test), "test rows.", *task.notes, flush=True)  # fmt: skip
        for line in ROWS:
            results.append((line, list(runs(line, tasks[line.as_the_post], chosen.folder, **how))))
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
    parser.add_argument("--record", type=Path, help="where each run's numbers are written, such as assets/recorded")
    parser.add_argument("--all-rows", action="store_true", help="every row of the layer, as in the post, for its time")
    return parser


def _seconds_per_epoch(histories: Sequence[History]) -> float:
    return sum(history.seconds for history in histories) / sum(history.epochs for history in histories)


if __name__ == "__main__":
    main()
