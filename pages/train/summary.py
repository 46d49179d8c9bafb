"""The results of a training as tables and sentences: accuracy, its spread, parameters, time."""

from collections.abc import Sequence
from statistics import fmean

from headlight.jobs.record import EARLY_ENDS
from headlight.ui import sheet
from headlight.ui.numbers import count, fixed, number
from headlight.ui.sheet import Block
from mha_core.token_text import quote, quote_all
from mha_core.training.events import History
from mha_core.training.report import interval, mean_and_sd

from .curves import Candidate

FEW_ROWS = 20  # test rows; with fewer the accuracy is not reliable
_ENDS = {
    "target": "it reached its target",
    "time": "the time limit was reached",
    "stopped": "stopped",
    "not a number": "the loss became NaN or infinite",
}


def table(candidates: Sequence[Candidate]) -> Block:
    """Return a row for each candidate: mean and standard deviation of its last evaluations over the seeds."""
    evaluated = [candidate for candidate in candidates if candidate.evaluated_runs]
    has_pairs = any(candidate.last_evaluations[0].pair_accuracy is not None for candidate in evaluated)
    has_alignment = any(candidate.last_evaluations[0].aligned is not None for candidate in evaluated)
    labelled = bool(evaluated) and all(_labelled(candidate.histories[0]) for candidate in evaluated)
    in_epochs = any(run.start and run.start.rows_train for candidate in evaluated for run in candidate.evaluated_runs)
    head = ["", "accuracy", *(["95 % interval"] if labelled else []), *(["whole pairs right"] if has_pairs else [])]
    head += ["digits that attend to their word"] if has_alignment else []
    rows = []
    for candidate in evaluated:
        start, scores = candidate.histories[0].start, [test.test_accuracy for test in candidate.last_evaluations]
        row = [candidate.name, spread(scores)]
        if labelled:
            low, high = interval(fmean(scores), start.rows_test if start else 0)
            row.append(f"{low:.3f}–{high:.3f}")
        if has_pairs:
            row.append(fixed(fmean(test.pair_accuracy or 0.0 for test in candidate.last_evaluations)))
        if has_alignment:
            row.append(spread([test.aligned or 0.0 for test in candidate.last_evaluations]))
        row += [f"{start.parameters:,}" if start else "–"]
        row += [*([_seconds(candidate, epoch=True)] if in_epochs else []), _seconds(candidate)]
        rows.append(row)
    times = [*(["seconds per epoch"] if in_epochs else []), "seconds in all"]
    return sheet.table([*head, "parameters", *times], rows)


def note(candidates: Sequence[Candidate]) -> str:
    """Explain the columns of `table`."""
    seeds = max((len(candidate.evaluated_runs) for candidate in candidates), default=0)
    text = f"Accuracy: mean{f' ± standard deviation over {seeds} seeds' if seeds > 1 else ', one seed'}."
    if any(_labelled(history) for candidate in candidates for history in candidate.histories):
        text += (
            " 95 % interval (Wilson): the uncertainty from the number of test rows, without the spread between seeds."
        )
    return f"{text} Seconds count only one run’s training steps{', the mean of the seeds' * (seeds > 1)}."


def early_ends(candidates: Sequence[Candidate]) -> list[str]:
    """Return a sentence on each candidate whose runs did not all reach their last step."""
    sentences = []
    for candidate in candidates:
        reasons = [run.end.reason for run in candidate.histories if run.end]
        endings = [(words, reasons.count(reason)) for reason, words in _ENDS.items() if reason in reasons]
        missing = len(candidate.histories) - len(candidate.evaluated_runs)
        endings += [("not started", missing)] if missing else []
        seeds = len(candidate.histories)
        parts = [f"{words} ({amount} of {seeds} seeds)" if seeds > 1 else words for words, amount in endings]
        sentences += [f"{candidate.name}: {'; '.join(parts)}."] if parts else []
    return sentences


def describe_pairs(candidates: Sequence[Candidate]) -> str:
    """Describe each candidate's accuracy on mirror pairs; "" if the data have none."""
    shares = {
        candidate.name: [test.pair_accuracy for test in candidate.last_evaluations if test.pair_accuracy is not None]
        for candidate in candidates
    }
    pairs = {name: accuracies for name, accuracies in shares.items() if accuracies}
    if not pairs:
        return ""
    sentences = ["Sentences come in pairs with the same words in another order and another answer."]
    if any(run.end and run.end.reason in EARLY_ENDS for candidate in candidates for run in candidate.histories):
        sentences.append("So far, as the training ended early:")
    never = [name for name, accuracies in pairs.items() if max(accuracies) == 0]
    always = [name for name, accuracies in pairs.items() if min(accuracies) == 1]
    position_blind = any(run.name in never and run.histories[0].recipe.position == "none" for run in candidates)
    if never:
        sentences.append(
            f"Never right on both sentences of a pair: {quote_all(never)}."
            + " Without positions both get the same answer, so the model can be right on one only." * position_blind
        )
    if always:
        sentences.append(f"Both right in every pair: {quote_all(always)}.")
    others = {name: fmean(accuracies) for name, accuracies in pairs.items() if name not in (*never, *always)}
    if others:
        parts = [f"{quote(name)} in {100 * share:.1f} %" for name, share in others.items()]
        sentences.append(f"Both right: {', '.join(parts)}.")
    return " ".join(sentences)


def few_rows(candidates: Sequence[Candidate]) -> list[str]:
    """Return a warning if there are too few test rows to judge a model."""
    starts = [run.start for candidate in candidates for run in candidate.histories if run.start]
    rows = min((start.rows_test for start in starts), default=FEW_ROWS)
    return [f"Tested on only {count(rows, 'row')}, too few to tell how good it is."] if rows < FEW_ROWS else []


def about_data(history: History) -> str:
    """Describe the data of a run: rows, fingerprint and preparation."""
    start = history.start
    if start is None:
        return ""
    rows = count(start.rows_train, "training row") if start.rows_train else "new random batches"
    return " ".join(
        [f"{start.title}: {rows}, {count(start.rows_test, 'test row')}, fingerprint {start.fingerprint}.", *start.notes]
    )


def _labelled(history: History) -> bool:
    return history.start is not None and bool(history.start.classes)


def spread(values: Sequence[float]) -> str:
    """Format the mean and the standard deviation, or a single value alone."""
    mean, deviation = mean_and_sd(values)
    return f"{fixed(mean)} ± {fixed(deviation)}" if len(values) > 1 else fixed(mean)


def _seconds(candidate: Candidate, *, epoch: bool = False) -> str:
    """Format the mean training time of a run or of an epoch, in seconds; "—" before the first step."""
    timings = [(run.seconds, run.epochs if epoch else 1.0) for run in candidate.evaluated_runs if run.step]
    times = [seconds / epochs for seconds, epochs in timings if epochs]
    return number(fmean(times), 2) if times else "—"
