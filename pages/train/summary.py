"""What came out of training, as tables and words: accuracy, its spread, parameters, time. No streamlit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from mha_core.training.events import History, Start
from mha_core.training.report import interval, mean_and_sd
from pages.kit.draw import sheet
from pages.kit.draw.sheet import Block, share

from .curves import Candidate

__all__ = ["REACHED", "about_data", "epochs", "heads", "mirrors", "note", "scores_of", "table", "test_rows"]

REACHED = {True: 0.99, False: 0.9}  # the accuracy whose time is told, of classifiers and of language models


def table(candidates: Sequence[Candidate]) -> Block:
    """A row for each candidate: of its last evaluations the mean and standard deviation over its seeds."""
    looked = [each for each in candidates if scores_of(each)]
    pairs = any(_looked(each)[0].evaluations[-1].pair_accuracy is not None for each in looked)
    labelled = bool(looked) and all(_labelled(each.histories[0]) for each in looked)
    head = ["", "accuracy", *(["95 % interval"] if labelled else []), *(["both of a pair"] if pairs else [])]
    rows = []
    for each in looked:
        start, scores = each.histories[0].start, scores_of(each)
        row = [each.name, _spread(scores)]
        if labelled:
            low, high = interval(fmean(scores), start.rows_test if start else 0)
            row.append(f"{low:.3f}–{high:.3f}")
        if pairs:
            row.append(f"{fmean(history.evaluations[-1].pair_accuracy or 0.0 for history in _looked(each)):.3f}")
        rows.append([*row, f"{start.parameters:,}" if start else "–", _reached(each, REACHED[labelled])])
    return sheet.table([*head, "parameters", f"seconds to {REACHED[labelled]:.2f}"], rows)


def note(candidates: Sequence[Candidate]) -> str:
    """What the columns of `table` mean."""
    seeds = max((len(scores_of(each)) for each in candidates), default=0)
    said = f"Accuracy: mean{f' ± standard deviation over {seeds} seeds' if seeds > 1 else ', one seed'}."
    if any(_labelled(history) for each in candidates for history in each.histories):
        said += " The interval is Wilson's: what so many test rows leave open, not what the seeds do."
    return f"{said} Seconds are those of training steps alone."


def epochs(timing: Mapping[str, Any] | None) -> list[Block]:
    """The time of an epoch in each implementation, as `mha_core.training.worker` measured it after the training."""
    if not timing:
        return []
    steps = timing["steps_per_epoch"]
    rows = [
        [
            name,
            f"{found['median']:.2f}",
            f"{found['low']:.2f} to {found['high']:.2f}",
            f"{timing['seconds'][name]:.3f}",
            f"{found['calls']}",
        ]
        for name, found in timing["names"].items()
    ]
    what = "an epoch" if steps else "a step"
    caption = (
        f"Time of {what}{f' of {steps:,} steps' if steps else ''}: the same batch through each implementation in "
        "shuffled rounds, after the training, without positions; × the median of torch."
    )
    return [sheet.table(["implementation", "× torch", "quartiles", f"seconds for {what}", "calls"], rows, caption)]


def mirrors(candidates: Sequence[Candidate]) -> str:
    """What the pairs say about each candidate; empty where there are no pairs."""
    shares = {
        each.name: [history.evaluations[-1].pair_accuracy for history in _looked(each)]
        for each in candidates
        if scores_of(each)
    }
    known = {name: [share for share in found if share is not None] for name, found in shares.items()}
    known = {name: found for name, found in known.items() if found}
    if not known:
        return ""
    said = ["Every sentence has a mirror with the same words and another answer."]
    never = [name for name, found in known.items() if max(found) == 0]
    always = [name for name, found in known.items() if min(found) == 1]
    blind = any(each.name in never and each.histories[0].recipe.position == "none" for each in candidates)
    if never:
        said.append(
            f"Never both of a pair right: {_quoted(never)}."
            + " Without positions both get the same answer, so at most one is right." * blind
        )
    if always:
        said.append(f"Both right in every pair: {_quoted(always)}.")
    between = {name: fmean(found) for name, found in known.items() if name not in (*never, *always)}
    if between:
        said.append(f"Both right: {', '.join(f'“{name}” in {100 * share:.1f} %' for name, share in between.items())}.")
    return " ".join(said)


def about_data(history: History) -> str:
    """The rows, their fingerprint and what was done to them."""
    start = history.start
    if start is None:
        return ""
    rows = _rows(start.rows_train, "training") if start.rows_train else "every batch made anew"
    return " ".join([f"{start.title}: {rows}, {test_rows(start)}, fingerprint {start.fingerprint}.", *start.notes])


def test_rows(start: Start) -> str:
    """How many rows a run was tested on."""
    return _rows(start.rows_test, "test")


def heads(candidates: Sequence[Candidate]) -> list[Block]:
    """Of language models, what every head came to: its weight on the key with the answer, and on the token before."""
    found = []
    for each in candidates:
        looked = _looked(each)
        if not looked or not looked[0].evaluations[-1].induction:
            continue
        last = looked[0].evaluations[-1]
        for name, scores in (("induction", last.induction), ("previous token", last.previous)):
            found.append(
                sheet.matrix(
                    f"{each.name}: {name}",
                    scores,
                    rows=[f"layer {layer}" for layer in range(len(scores))],
                    cols=[f"head {head}" for head in range(len(scores[0]))],
                    axes="",
                    write=lambda score: share(score, 2),
                    colour="weights",
                    compact=True,
                )
            )
    return found


def scores_of(candidate: Candidate) -> list[float]:
    """The last accuracy on the test rows, one a seed that has been looked at."""
    return [history.evaluations[-1].test_accuracy for history in _looked(candidate)]


def _rows(count: int, kind: str) -> str:
    return f"{count:,} {kind} row{'' if count == 1 else 's'}"


def _quoted(names: Sequence[str]) -> str:
    """Names in a sentence, where "none" would be taken for a word of it."""
    return ", ".join(f"“{name}”" for name in names)


def _looked(candidate: Candidate) -> list[History]:
    return [history for history in candidate.histories if history.evaluations]


def _labelled(history: History) -> bool:
    return history.start is not None and bool(history.start.classes)


def _spread(values: Sequence[float]) -> str:
    """Mean and standard deviation, as computed."""
    mean, spread = mean_and_sd(values)
    return f"{mean:.3f} ± {spread:.3f}" if len(values) > 1 else f"{mean:.3f}"


def _reached(candidate: Candidate, level: float) -> str:
    """Seconds of training until the first look at that accuracy or better: the mean over the seeds that came there."""
    runs = _looked(candidate)
    times = [
        next(look.seconds for look in run.evaluations if look.test_accuracy >= level)
        for run in runs
        if any(look.test_accuracy >= level for look in run.evaluations)
    ]
    if not times:
        return "never" if all(run.end for run in runs) else "not yet"
    return f"{fmean(times):.2f}" + (f" ({len(times)} of {len(runs)})" if len(times) < len(runs) else "")
