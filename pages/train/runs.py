"""Runs side by side: those that are shown, of the present training or trained beforehand, and those to be trained.

A candidate is a recipe without its seed, one of every combination of the choices; its name tells it from the others.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Final

import streamlit as st

from headlight.jobs.training import TrainingJob
from headlight.registry import trained
from headlight.ui.numbers import count
from headlight.ui.tables import quoted
from mha_core import IMPLEMENTATIONS, positions
from mha_core.errors import HeadlightError
from mha_core.training import saved
from mha_core.training.events import History
from mha_core.training.recipe import Recipe
from mha_core.training.tasks import Task

from .curves import Candidate

POST_CHOICES: Final = ("my own", "as the post does it", "beside it: ours")  # of the long post's experiment


@dataclass(frozen=True)
class Runs:
    """Candidates and their models.

    Attributes:
        models: for each the name of its first seed's model, as `pictures.model_on` takes it; None before it is saved.
        beforehand: they come with Headlight.
    """

    candidates: tuple[Candidate, ...] = ()
    models: tuple[str | None, ...] = ()
    beforehand: bool = False

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
    return of_histories(record.histories, models_of_runs)


def of_histories(histories: Sequence[History], names: Sequence[str | None]) -> Runs:
    """Runs that are there already, and the names of their models."""
    groups = grouped([history.recipe for history in histories])
    candidates = [Candidate(name, colour, tuple(histories[run] for run in runs)) for name, colour, runs in groups]
    firsts = [next((names[run] for run in runs if names[run] is not None), None) for *_, runs in groups]
    return Runs(tuple(candidates), tuple(firsts))


def of_shipped(task: str) -> Runs:
    """The runs of a task that come with Headlight; of a damaged one nothing is shown.

    Of the news those of the long post, or with `post` at ours those that were made fair, see
    `mha_core.training.checkpoints`.
    """
    if task == "news":
        task = f"news-{'fair' if st.session_state.get('post') == POST_CHOICES[2] else 'post'}"
    return _shipped(task, trained.SHIPPED)


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
    return replace(of_histories([histories[at] for at in order], [names[at] for at in order]), beforehand=True)


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


def combined(
    base: Recipe,
    encodings: Sequence[str],
    implementations: Sequence[str],
    layers: Sequence[int],
    masks: Sequence[bool],
) -> tuple[list[Recipe], list[str]]:
    """One recipe for every combination, and a sentence for each that cannot be computed."""
    recipes, left_out = [], dict[tuple[str, str], str]()
    for position, name, n_layers, mask in product(encodings, implementations, layers, masks):
        why = _unfit(position, base.d_model, base.n_heads)
        if why:
            left_out[position, ""] = f"{position} positions are left out, because {why}."
        elif positions.acts(position) - {"add"} <= IMPLEMENTATIONS[name].can:
            recipes.append(replace(base, position=position, implementation=name, n_layers=n_layers, mask_padding=mask))
        else:
            left_out[position, name] = f"{name} cannot compute {position} positions, so this pair is left out."
    return recipes, list(left_out.values())


def with_seeds(recipes: Sequence[Recipe], seeds: int) -> tuple[Recipe, ...]:
    """Every recipe with the seeds 1, 2, …; candidate by candidate."""
    return tuple(replace(recipe, seed=seed) for recipe in recipes for seed in range(1, seeds + 1))


def grouped(recipes: Sequence[Recipe]) -> list[tuple[str, int, list[int]]]:
    """The candidates among runs, in order of appearance, each with the places of its runs in that list, by seed.

    Its name says the difference from the others, its number is its place in the order of colours of every chart.
    """
    places: dict[Recipe, list[int]] = {}
    for place, recipe in enumerate(recipes):
        places.setdefault(replace(recipe, seed=0), []).append(place)
    kinds = list(places)
    encodings = [kind.position for kind in kinds]
    # a position keeps its colour on every page; only where that is not enough to tell them apart, they are counted
    distinct = len(set(encodings)) == len(kinds)
    colours = [positions.NAMES.index(name) if distinct else number for number, name in enumerate(encodings)]
    by_seed = (sorted(runs, key=lambda place: recipes[place].seed) for runs in places.values())
    return list(zip(named(kinds), colours, by_seed, strict=True))


def named(kinds: Sequence[Recipe]) -> list[str]:
    """A name for each of these recipes, which tells it from the others; with nothing to tell, its position."""

    def several(*fields: str) -> bool:
        return len({tuple(getattr(kind, field) for field in fields) for kind in kinds}) > 1

    def words(kind: Recipe) -> str:
        parts = []
        if several("implementation"):
            parts.append(kind.implementation)
        if several("position") or len(kinds) == 1:
            parts.append(kind.position)
        if several("amplitude") and kind.amplitude != 1:
            parts.append(f"× {kind.amplitude:g}")
        if several("n_layers"):
            parts.append(count(kind.n_layers, "layer"))
        if several("mask_padding"):
            parts.append(f"mask {'on' if kind.mask_padding else 'off'}")
        return " ".join(parts) or kind.position

    return [words(kind) for kind in kinds]


@lru_cache(maxsize=256)
def _unfit(position: str, d_model: int, n_heads: int) -> str:
    """The reason why these sizes have no such positions; sizes that nothing can be trained with are not judged here."""
    if d_model % n_heads:
        return ""
    try:
        positions.build(position, d_model=d_model, n_heads=n_heads, max_len=8, seed=0)
    except HeadlightError as error:
        return str(error)
    return ""
