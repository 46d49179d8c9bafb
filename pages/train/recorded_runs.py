"""The long post's experiment as it was recorded: its four models, or the five that are compared fairly.

The news may not be shipped, so these runs come as numbers alone. Nothing of them is computed now.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import streamlit as st
import torch

from mha_core.errors import HeadlightError
from mha_core.training import recorded
from mha_core.training.long_post import PROBES, ROWS
from mha_core.training.recorded import Recorded
from pages.kit.frame import widgets

from .confusion import Outcome
from .curves import Candidate
from .predictions import Answered
from .runs import Shown, of_shipped

TASK = "news"
NO_TEXTS = (
    "As recorded at the end of each training, in batches; the rows are numbered because the news may not be shipped. "
    "The last rows are sentences that every run was asked."
)
WHEN = {True: "2026-11-22 and 2026-11-23", False: "2026-11-22"}  # as the post does it, and fairly
WHERE = "two cores of an AMD EPYC"
FAIR = "made fair"
Runs = Mapping[str, tuple[Recorded, ...]]


def choose(*, seen: bool) -> None:
    """Draws the choice of the lines that are shown."""
    with widgets.seen("recorded_lines", seen):
        widgets.segments("lines")


def of_task(task: str, *, fair: bool) -> Shown:
    """The recorded runs of a task; of one that was not recorded none."""
    runs = read_lines(fair) if task == TASK else {}
    candidates = [
        Candidate(name, number, tuple(run.history for run in line)) for number, (name, line) in enumerate(runs.items())
    ]
    return Shown(tuple(candidates), (None,) * len(candidates), beforehand=bool(candidates), recorded=runs)


def beforehand(task: str) -> Shown:
    """The runs of a task that come with Headlight: trained models, or as the link says recorded lines."""
    return of_task(task, fair=st.session_state.get("lines") == FAIR) if task == TASK else of_shipped(task)


def told(runs: Runs) -> str:
    """When, where and how these runs were recorded."""
    every = [run for line in runs.values() for run in line]
    if not every:
        return ""
    seeds = sorted({run.seed for run in every})
    start, when = every[0].start, WHEN[every[0].line.as_the_post]
    return (
        f"Recorded on {when} on {WHERE}, torch {start.versions.get('torch', '')}, {start.machine}, seeds {seeds[0]} to "
        f"{seeds[-1]}: read from files, not computed now. The news may not be shipped; with a table of it, under “Your "
        "table”, the same runs train here."
    )


def classes(runs: Runs) -> tuple[str, ...]:
    """The names of the classes; none without runs."""
    return next((line[0].classes for line in runs.values()), ())


def outcomes(runs: Runs) -> dict[str, Outcome]:
    """What each candidate made of the test rows, whose texts are not at hand."""
    return {
        name: Outcome(
            name, line[0].classes, tuple(line[0].labels.tolist()), (), {run.seed: tuple(run.predicted) for run in line}
        )
        for name, line in runs.items()
    }


def answered(runs: Runs, names: Sequence[str], seed: int | None) -> list[Answered]:
    """Every recorded probability of these candidates, of one seed or all; after the test rows those of the probes."""
    return [_answered(name, run) for name in names for run in runs.get(name, ()) if seed in (None, run.seed)]


def _answered(name: str, run: Recorded) -> Answered:
    return Answered(
        f"{name}, seed {run.seed}",
        run.classes,
        (*[""] * len(run.labels), *PROBES),
        (*run.labels.tolist(), *[None] * len(PROBES)),
        torch.cat([run.probabilities, run.answers]),
        len(PROBES),
    )


@lru_cache(maxsize=2)
def read_lines(fair: bool) -> dict[str, tuple[Recorded, ...]]:
    """The lines of one half of the table, each with a run for every seed; a damaged run is left out."""
    found: dict[str, list[Recorded]] = {line.name: [] for line in ROWS if line.as_the_post is not fair}
    for name in recorded.names():
        if name.startswith("fair/") is fair:
            try:
                run = recorded.read(name)
            except HeadlightError:
                continue
            found[run.line.name].append(run)
    return {name: tuple(runs) for name, runs in found.items() if runs}
