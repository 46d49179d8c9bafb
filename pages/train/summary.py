"""The outcome of training as tables and words: accuracy, its spread, parameters, time."""

from collections.abc import Sequence
from statistics import fmean

from headlight.jobs.record import CUT_SHORT
from headlight.ui import sheet
from headlight.ui.numbers import count, fixed, number
from headlight.ui.sheet import Block
from mha_core.training.events import History, Start
from mha_core.training.report import interval, mean_and_sd

from .curves import Candidate

FEW_ROWS = 20  # of fewer test rows an accuracy says little
_ENDS = {
    "target": "it reached its target",
    "time": "the time limit was reached",
    "stopped": "stopped",
    "not a number": "the loss became NaN or infinite",
}


def table(candidates: Sequence[Candidate]) -> Block:
    """A row for each candidate: of its last evaluations the mean and standard deviation over its seeds."""
    evaluated = [candidate for candidate in candidates if candidate.begun]
    pairs = any(candidate.last[0].pair_accuracy is not None for candidate in evaluated)
    aligned = any(candidate.last[0].aligned is not None for candidate in evaluated)
    labelled = bool(evaluated) and all(_labelled(candidate.histories[0]) for candidate in evaluated)
    in_epochs = any(run.start and run.start.rows_train for own in evaluated for run in own.begun)
    head = ["", "accuracy", *(["95 % interval"] if labelled else []), *(["whole pairs right"] if pairs else [])]
    head += ["digits that attend to their word"] if aligned else []
    rows = []
    for candidate in evaluated:
        start, scores = candidate.histories[0].start, [seen.test_accuracy for seen in candidate.last]
        row = [candidate.name, spread(scores)]
        if labelled:
            low, high = interval(fmean(scores), start.rows_test if start else 0)
            row.append(f"{low:.3f}–{high:.3f}")
        if pairs:
            row.append(fixed(fmean(seen.pair_accuracy or 0.0 for seen in candidate.last)))
        if aligned:
            row.append(spread([seen.aligned or 0.0 for seen in candidate.last]))
        row += [f"{start.parameters:,}" if start else "–"]
        row += [*([_seconds(candidate, epoch=True)] if in_epochs else []), _seconds(candidate)]
        rows.append(row)
    times = [*(["seconds per epoch"] if in_epochs else []), "seconds in all"]
    return sheet.table([*head, "parameters", *times], rows)


def note(candidates: Sequence[Candidate]) -> str:
    """The meaning of the columns of `table`."""
    seeds = max((len(candidate.begun) for candidate in candidates), default=0)
    said = f"Accuracy: mean{f' ± standard deviation over {seeds} seeds' if seeds > 1 else ', one seed'}."
    if any(_labelled(history) for candidate in candidates for history in candidate.histories):
        said += (
            " 95 % interval (Wilson): the uncertainty from the number of test rows, without the spread between seeds."
        )
    return f"{said} Seconds count only one run’s training steps{', the mean of the seeds' * (seeds > 1)}."


def ends(candidates: Sequence[Candidate]) -> list[str]:
    """A sentence on each candidate whose runs have not all come to their last step."""
    sentences = []
    for candidate in candidates:
        reasons = [run.end.reason for run in candidate.histories if run.end]
        found = [(words, reasons.count(reason)) for reason, words in _ENDS.items() if reason in reasons]
        missing = len(candidate.histories) - len(candidate.begun)
        found += [("not started", missing)] if missing else []
        seeds = len(candidate.histories)
        told = [f"{words} ({many} of {seeds} seeds)" if seeds > 1 else words for words, many in found]
        sentences += [f"{candidate.name}: {'; '.join(told)}."] if told else []
    return sentences


def mirrors(candidates: Sequence[Candidate]) -> str:
    """A sentence on the pairs of each candidate; empty where there are no pairs."""
    shares = {
        candidate.name: [seen.pair_accuracy for seen in candidate.last if seen.pair_accuracy is not None]
        for candidate in candidates
    }
    known = {name: accuracies for name, accuracies in shares.items() if accuracies}
    if not known:
        return ""
    said = ["Sentences come in pairs with the same words in another order and another answer."]
    if any(run.end and run.end.reason in CUT_SHORT for own in candidates for run in own.histories):
        said.append("So far, as the training ended early:")
    never = [name for name, accuracies in known.items() if max(accuracies) == 0]
    always = [name for name, accuracies in known.items() if min(accuracies) == 1]
    blind = any(one.name in never and one.histories[0].recipe.position == "none" for one in candidates)
    if never:
        said.append(
            f"Never right on both sentences of a pair: {in_quotes(never)}."
            + " Without positions both get the same answer, so the model can be right on one only." * blind
        )
    if always:
        said.append(f"Both right in every pair: {in_quotes(always)}.")
    between = {name: fmean(accuracies) for name, accuracies in known.items() if name not in (*never, *always)}
    if between:
        said.append(f"Both right: {', '.join(f'“{name}” in {100 * share:.1f} %' for name, share in between.items())}.")
    return " ".join(said)


def few_rows(candidates: Sequence[Candidate]) -> list[str]:
    """A sentence where the test rows are too few to say how good a model is."""
    fewest = min((run.start.rows_test for own in candidates for run in own.histories if run.start), default=FEW_ROWS)
    return [f"Tested on only {count(fewest, 'row')}, too few to tell how good it is."] if fewest < FEW_ROWS else []


def about_data(history: History) -> str:
    """The rows, their fingerprint and what was done to them."""
    start = history.start
    if start is None:
        return ""
    rows = count(start.rows_train, "training row") if start.rows_train else "new random batches"
    return " ".join([f"{start.title}: {rows}, {test_rows(start)}, fingerprint {start.fingerprint}.", *start.notes])


def test_rows(start: Start) -> str:
    return count(start.rows_test, "test row")


def in_quotes(names: Sequence[str]) -> str:
    """Names in a sentence, where "none" would be taken for a word of it."""
    return ", ".join(f"“{name}”" for name in names)


def _labelled(history: History) -> bool:
    return history.start is not None and bool(history.start.classes)


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation; of one value that alone."""
    mean, deviation = mean_and_sd(values)
    return f"{fixed(mean)} ± {fixed(deviation)}" if len(values) > 1 else fixed(mean)


def _seconds(candidate: Candidate, *, epoch: bool = False) -> str:
    """Seconds of a run's steps so far, or of an epoch of them: the mean over the seeds; "—" before the first step."""
    begun = [(run.seconds, run.epochs if epoch else 1.0) for run in candidate.begun if run.step]
    times = [seconds / epochs for seconds, epochs in begun if epochs]
    return number(fmean(times), 2) if times else "—"
