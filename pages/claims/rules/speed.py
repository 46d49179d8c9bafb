"""Claims on time: seconds of calls that were made in turn."""

import math
from collections.abc import Mapping

from torch import Tensor

from pages.kit.draw.numbers import number

from .verdict import Verdict, of_all

CLEARLY = 1.1  # a ratio above it is more than what the machine does beside


def slower(seconds: Mapping[str, tuple[Tensor, Tensor]], names: tuple[str, str]) -> Verdict:
    """The first implementation is slower than the second.

    Args:
        seconds: task -> (calls,), (calls,) of the first and of the second.
        names: of the two.
        answers: in every task; in some; in none.
    """
    return _judged(seconds, names, claimed=True)


def as_fast(seconds: Mapping[str, tuple[Tensor, Tensor]], names: tuple[str, str]) -> Verdict:
    """The first implementation is as fast as the second, or faster. Arguments and answers as of `slower`."""
    return _judged(seconds, names, claimed=False)


def _judged(seconds: Mapping[str, tuple[Tensor, Tensor]], names: tuple[str, str], *, claimed: bool) -> Verdict:
    """`claimed`: whether the first is said to be slower. Where the times cannot tell, no answer is the right one."""
    ratios = {task: float((first / second).median()) for task, (first, second) in seconds.items()}
    found = {task: _is_slower(*pair) for task, pair in seconds.items()}
    unsteady = [task for task, is_slower in found.items() if is_slower is None]
    cases = [is_slower is claimed for is_slower in found.values()]
    times = "; ".join(f"{number(ratio, 2)} × in {task}" for task, ratio in ratios.items())
    rule = f"Slower is what takes over {CLEARLY} times as long, and longer in clearly more than half of the turns."
    noise = f" The times are too unsteady now to tell in {' and '.join(unsteady)}: time it again." if unsteady else ""
    return Verdict(
        "depends" if unsteady else of_all(cases),
        f"In turn with {names[1]}, {names[0]} takes in the median: {times}. {rule}{noise}",
        None if unsteady else 0 if all(cases) else 1 if any(cases) else 2,
        tuple(ratios.items()),
        _unit(names),
    )


def _is_slower(first: Tensor, second: Tensor) -> bool | None:
    """It takes clearly longer than the call beside it; None where so many turns as say so may be chance.

    Two calls of a turn share what the machine does beside. Half of n turns and √n more are two standard deviations.
    """
    ratios = (first / second).sort().values
    if not bool(ratios.median() > CLEARLY):
        return False
    surely = ratios[max(0, int(len(ratios) / 2 - math.sqrt(len(ratios))))]
    return True if bool(surely > 1) else None


def _unit(names: tuple[str, str]) -> str:
    return f"time of {names[0]} / time of {names[1]} in a turn, median, on one thread of this machine"
