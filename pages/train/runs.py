"""The runs that the Train page shows: those of the present training, or those trained beforehand."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from mha_core import positions
from mha_core.errors import HeadlightError
from mha_core.training import saved
from mha_core.training.events import History
from mha_core.training.tasks import Task
from pages.kit.draw.tables import quoted
from pages.kit.jobs.training import TrainingJob
from pages.kit.picture import models

from .curves import Candidate
from .grid import grouped


@dataclass(frozen=True)
class Runs:
    """Candidates and their models.

    Attributes:
        models: for each the name of its first seed's model, as `pictures.model_on` takes it; None before it is saved.
        beforehand: they come with Headlight.
        timing: as in `kit.jobs.record.Record`.
    """

    candidates: tuple[Candidate, ...] = ()
    models: tuple[str | None, ...] = ()
    beforehand: bool = False
    timing: dict[str, Any] | None = None

    def __add__(self, other: Runs) -> Runs:
        """Both, side by side; the names stay different."""
        taken = {mine.name for mine in self.candidates}
        more = [
            Candidate(f"{new.name} (file)" if new.name in taken else new.name, new.colour, new.histories)
            for new in other.candidates
        ]
        return replace(
            self,
            candidates=(*self.candidates, *more),
            models=(*self.models, *other.models),
            beforehand=self.beforehand and bool(self.candidates),
        )

    @property
    def begun(self) -> bool:
        """Tells whether a run has looked at its test rows, so that there is something to draw."""
        return any(candidate.begun for candidate in self.candidates)

    @property
    def ready(self) -> dict[str, str]:
        """The candidates whose model can be asked: name -> model."""
        pairs = zip(self.candidates, self.models, strict=True)
        return {candidate.name: model for candidate, model in pairs if model is not None}

    def on_other_data(self, task: Task) -> bool:
        """Tells whether some of the runs were trained on other data than this task's."""
        starts = [run.start for candidate in self.candidates for run in candidate.histories if run.start is not None]
        return not all(start.fingerprint.startswith(task.fingerprint) for start in starts)

    def first(self, name: str) -> History:
        return next(candidate.histories[0] for candidate in self.candidates if candidate.name == name)


def of_job(job: TrainingJob, names: Mapping[Path, str]) -> Runs:
    """The runs of a job; `names`: the names of this visitor's models by their folders."""
    record = job.record
    models_of_runs = [None if folder is None else names.get(folder) for folder in record.saved]
    return of_histories(record.histories, models_of_runs, timing=record.timing)


def of_histories(
    histories: Sequence[History],
    names: Sequence[str | None],
    *,
    beforehand: bool = False,
    timing: dict[str, Any] | None = None,
) -> Runs:
    """Runs that are there already, and the names of their models."""
    groups = grouped([history.recipe for history in histories])
    candidates = [Candidate(group.name, group.colour, tuple(histories[run] for run in group.runs)) for group in groups]
    firsts = [next((names[run] for run in group.runs if names[run] is not None), None) for group in groups]
    return Runs(tuple(candidates), tuple(firsts), beforehand, timing)


def of_shipped(task: str, *, fair: bool = False) -> Runs:
    """The runs of a task that come with Headlight; of a damaged one nothing is shown.

    `fair`: of the news, those that were made fair, not those as in the long post (mha_core/training/reproduce.py).
    """
    return _shipped(f"news-{'fair' if fair else 'post'}" if task == "news" else task, models.SHIPPED)


@lru_cache(maxsize=8)
def _shipped(task: str, place: Path) -> Runs:
    histories, names = [], list[str | None]()
    for folder in sorted(place.glob(f"{task}-*")):
        try:
            histories.append(saved.read(folder))
        except HeadlightError:
            continue
        names.append(folder.name if (folder / "model.safetensors").is_file() else None)
    order = sorted(range(len(histories)), key=lambda at: _rank(histories[at]))
    return of_histories([histories[at] for at in order], [names[at] for at in order], beforehand=True)


def csv_of(shown: Runs) -> bytes:
    """Every look at the test rows of every run as CSV."""
    out = io.StringIO()
    writer = csv.writer(out)
    losses = ("train_loss", "train_accuracy", "test_loss", "test_accuracy")
    fields = ("step", "seconds", *losses, "pair_accuracy", "aligned")
    writer.writerow(["candidate", "seed", *fields])
    for candidate in shown.candidates:
        for run in candidate.histories:
            for look in run.evaluations:
                writer.writerow([quoted(candidate.name), run.recipe.seed, *(getattr(look, field) for field in fields)])
    return out.getvalue().encode("utf-8-sig", "replace")


def _rank(history: History) -> tuple[int, int, int]:
    """The order of the controls: by position, layers and seed."""
    return positions.NAMES.index(history.recipe.position), history.recipe.n_layers, history.recipe.seed
