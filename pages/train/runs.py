"""Runs side by side: those on display, from the current training or shipped, and the recipes to train.

A candidate is a recipe without its seed, one for every combination of the choices; its name tells it from the others.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Final

import streamlit as st

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

CUT: Final = "cut short"  # after the name of a candidate whose runs did not reach their last step
POST_CHOICES: Final = ("my own", "as the post does it", "beside it: ours")  # of the long post's experiment


@dataclass(frozen=True)
class Runs:
    """Candidates; `is_shipped`: whether their runs come with Headlight."""

    candidates: tuple[Candidate, ...] = ()
    is_shipped: bool = False

    def append(self, other: Runs, suffix: str) -> Runs:
        """Return the candidates of both side by side; of equal names the other's gets the suffix."""
        names = {candidate.name for candidate in self.candidates}
        more = [
            replace(candidate, name=f"{candidate.name} ({suffix})") if candidate.name in names else candidate
            for candidate in other.candidates
        ]
        return Runs((*self.candidates, *more), self.is_shipped and bool(self.candidates))

    @property
    def has_evaluations(self) -> bool:
        """Return whether any run has an evaluation to draw."""
        return any(candidate.evaluated_runs for candidate in self.candidates)

    @property
    def best_accuracy(self) -> float:
        """The highest mean accuracy of a candidate at its last evaluations."""
        lasts = [candidate.last_evaluations for candidate in self.candidates if candidate.evaluated_runs]
        return max((fmean(evaluation.test_accuracy for evaluation in last) for last in lasts), default=0.0)

    @property
    def model_names(self) -> dict[str, str]:
        """The names of the saved models by candidate."""
        return {candidate.name: candidate.model for candidate in self.candidates if candidate.model is not None}

    def has_other_data(self, task: Task) -> bool:
        """Check whether any run was trained on other data than this task's."""
        starts = [run.start for candidate in self.candidates for run in candidate.histories if run.start is not None]
        return not all(start.fingerprint.startswith(task.fingerprint) for start in starts)

    def first_run(self, name: str) -> History:
        """Return the first run of a candidate."""
        return next(candidate.histories[0] for candidate in self.candidates if candidate.name == name)


def from_histories(runs: Sequence[tuple[History, str | None]]) -> Runs:
    """Group runs, each with the name of its model, into candidates, in order of appearance."""
    groups: dict[Recipe, list[tuple[History, str | None]]] = {}
    for history, model in runs:
        groups.setdefault(replace(history.recipe, seed=0), []).append((history, model))
    kinds, candidates = list(groups), list[Candidate]()
    encodings = [positions.NAMES.index(kind.position) for kind in kinds]
    # a position has the same colour on every page; candidates with equal positions are numbered instead
    colours = encodings if len(set(encodings)) == len(kinds) else range(len(kinds))
    for name, colour, group in zip(distinct_names(kinds), colours, groups.values(), strict=True):
        group.sort(key=lambda run: run[0].recipe.seed)
        model = next((model for _, model in group if model is not None), None)
        candidates.append(Candidate(name, colour, tuple(history for history, _ in group), model))
    return Runs(tuple(candidates))


def load_shipped(task: str) -> Runs:
    """Return the runs of a task that come with Headlight, without damaged ones.

    For the news these are the runs of the long post, or, by the control `post`, the fair ones of
    `mha_core.training.checkpoints`.
    """
    if task == "news":
        task = f"news-{'fair' if st.session_state.get('post') == POST_CHOICES[2] else 'post'}"
    return _load_shipped(task, trained.SHIPPED)


@lru_cache(maxsize=8)
def _load_shipped(task: str, root: Path) -> Runs:
    runs = list[tuple[History, str | None]]()
    for folder in sorted(root.glob(f"{task}-*")):
        with suppress(HeadlightError):
            runs.append((saved.read(folder), folder.name if (folder / saved.WEIGHTS).is_file() else None))
    runs.sort(key=lambda run: (positions.NAMES.index(run[0].recipe.position), run[0].recipe.n_layers))
    return replace(from_histories(runs), is_shipped=True)


def to_csv(runs: Runs) -> bytes:
    """Return all evaluations of all runs as CSV."""
    out = io.StringIO()
    writer = csv.writer(out)
    losses = ("train_loss", "train_accuracy", "test_loss", "test_accuracy")
    fields = ("step", "seconds", *losses, "pair_accuracy", "aligned")  # of an evaluation
    writer.writerow(["candidate", "seed", *fields])
    for candidate in runs.candidates:
        for run in candidate.histories:
            for test in run.evaluations:
                writer.writerow([quoted(candidate.name), run.recipe.seed, *(getattr(test, field) for field in fields)])
    return out.getvalue().encode("utf-8-sig", "replace")


def combine(
    base: Recipe,
    encodings: Sequence[str],
    implementations: Sequence[str],
    layers: Sequence[int],
    masks: Sequence[bool],
) -> tuple[list[Recipe], list[str]]:
    """Return a recipe for every possible combination, and a sentence for each impossible one."""
    recipes, omissions = [], dict[tuple[str, str], str]()
    for position, name, n_layers, mask in product(encodings, implementations, layers, masks):
        reason = _position_error(position, base.d_model, base.n_heads)
        if reason:
            omissions[position, ""] = f"{position} positions are left out, because {reason}."
        elif positions.mechanisms(position) - {"add"} <= IMPLEMENTATIONS[name].can:
            recipes.append(replace(base, position=position, implementation=name, n_layers=n_layers, mask_padding=mask))
        else:
            omissions[position, name] = f"{name} cannot compute {position} positions, so this pair is left out."
    return recipes, list(omissions.values())


def with_seeds(recipes: Sequence[Recipe], seeds: int) -> tuple[Recipe, ...]:
    """Return every recipe with the seeds 1 to `seeds`, candidate by candidate."""
    return tuple(replace(recipe, seed=seed) for recipe in recipes for seed in range(1, seeds + 1))


# Fields in which candidates may differ -> a value in their names.
_NAME_PARTS: dict[str, Callable[[Recipe], str]] = {
    "implementation": lambda kind: kind.implementation,
    "position": lambda kind: kind.position,
    "amplitude": lambda kind: f"× {kind.amplitude:g}" * (kind.amplitude != 1),
    "n_layers": lambda kind: count(kind.n_layers, "layer"),
    "mask_padding": lambda kind: f"mask {'on' if kind.mask_padding else 'off'}",
}


def distinct_names(kinds: Sequence[Recipe]) -> list[str]:
    """Return a distinct name for each recipe from the fields that differ; a single recipe gets its position's name."""
    parts = [part for field, part in _NAME_PARTS.items() if len({getattr(kind, field) for kind in kinds}) > 1]
    return [" ".join(filter(None, (part(kind) for part in parts))) or kind.position for kind in kinds]


@lru_cache(maxsize=256)
def _position_error(position: str, d_model: int, n_heads: int) -> str:
    """Return the reason why these sizes cannot have such positions; "" if they can, or if no model has these sizes."""
    if d_model % n_heads:
        return ""
    try:
        positions.build(position, d_model=d_model, n_heads=n_heads, max_len=8, seed=0)
    except HeadlightError as error:
        return str(error)
    return ""
