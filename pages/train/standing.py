"""How far a training is, and what came of it, as text."""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean

from headlight.ui.numbers import share
from mha_core.training.events import Evaluation, History

from .curves import Candidate

# reasons of an end before the last step
_ENDS = {
    "target": "it reached its target",
    "time": "time budget used up",
    "stopped": "stopped",
    "not a number": "the loss became NaN or infinite",
}


def sentences(candidates: Sequence[Candidate]) -> list[str]:
    """A sentence for each candidate: how far it is, its accuracy and its spread over the seeds."""
    return [f"{candidate.name}: {_standing(candidate)}" for candidate in (one.as_now for one in candidates)]


def progress(runs: int, step: int, steps: int, seconds: float) -> str:
    """The progress of so many runs together: steps, seconds of training, steps per second or seconds a step."""
    many = f"{runs} runs: " if runs > 1 else ""
    speed = ""
    if step and seconds > 0:
        speed = f" · {step / seconds:,.0f} steps/s" if step >= seconds else f" · {seconds / step:.1f} s a step"
    return f"{many}step {step:,} of {steps:,} · {seconds:.1f} s{speed}"


def ended(runs: int, step: int, steps: int, seconds: float, *, stopped: bool, why: str = "") -> str:
    """The same of a training that ended with steps still to do.

    Args:
        stopped: it was cut short; otherwise each of its runs came to an end of its own.
        why: it was; empty where the visitor did it.
    """
    many = f"{runs} runs " if runs > 1 else ""
    because = f": {why}" if why else ""
    return f"{many}{'stopped' if stopped else 'ended'} after {seconds:.0f} s{because}; step {step:,} of {steps:,}"


def _standing(candidate: Candidate) -> str:
    if not candidate.begun:
        return "not begun"
    last = candidate.last
    values = [seen.test_accuracy for seen in last]
    many = len(values) > 1
    spread = (
        f"lowest {share(min(values), 3)}, highest {share(max(values), 3)}, {len(values)} seeds"
        if many
        else f"seed {candidate.begun[0].recipe.seed}"
    )
    words = f"{share(fmean(values), 3)} after {_steps(candidate.begun, last)} ({spread})"
    for score, title in (("induction", "induction"), ("previous", "previous token")):
        layers: list[list[list[float]]] = [getattr(seen, score) for seen in last]
        if all(layers):
            words += f", {title} {share(fmean(max(map(max, one)) for one in layers), 3)}"
            words += "" if many else f" ({_place(layers[0])})"
    looks = [seen.aligned for seen in last if seen.aligned is not None]
    words += f", {share(fmean(looks), 3)} of the digits look most at the word that they come from" if looks else ""
    missing = len(candidate.histories) - len(candidate.begun)
    return words + "".join(_ended(candidate)) + (f"; {missing} more not begun" if missing else "")


def _place(layers: list[list[float]]) -> str:
    """The best head of all layers."""
    value, layer, head = max(
        (value, -layer, -head) for layer, scores in enumerate(layers) for head, value in enumerate(scores)
    )
    return f"layer {-layer} head {-head}" if math.isfinite(value) else "no head"


def _steps(runs: Sequence[History], last: Sequence[Evaluation]) -> str:
    """ "400 steps", "120 of 400 steps", "80 to 120 of 400 steps"."""
    low, high = min(seen.step for seen in last), max(seen.step for seen in last)
    planned = max(history.recipe.steps for history in runs)
    done = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{done} steps" if low == planned else f"{done} of {planned:,} steps"


def _ended(candidate: Candidate) -> Iterator[str]:
    """The reasons of runs that ended before their last step, and how many of the seeds did."""
    reasons = [history.end.reason for history in candidate.begun if history.end]
    for reason, words in _ENDS.items():
        count = reasons.count(reason)
        if count:
            yield (
                f"; {words}"
                if len(candidate.histories) == 1
                else f"; {words} ({count} of {len(candidate.histories)} seeds)"
            )
