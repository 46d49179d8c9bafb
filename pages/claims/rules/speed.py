"""Claims on time: seconds of calls that were made in turn."""

from __future__ import annotations

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
    ratios = _ratios(seconds)
    cases = [_is_slower(*pair) for pair in seconds.values()]
    return Verdict(of_all(cases), _told(ratios, names), _answer(cases), tuple(ratios.items()), _unit(names))


def as_fast(seconds: Mapping[str, tuple[Tensor, Tensor]], names: tuple[str, str]) -> Verdict:
    """The first implementation is as fast as the second, or faster. Arguments and answers as of `slower`."""
    ratios = _ratios(seconds)
    cases = [not _is_slower(*pair) for pair in seconds.values()]
    return Verdict(of_all(cases), _told(ratios, names), _answer(cases), tuple(ratios.items()), _unit(names))


def _ratios(seconds: Mapping[str, tuple[Tensor, Tensor]]) -> dict[str, float]:
    return {task: float((first / second).median()) for task, (first, second) in seconds.items()}


def _is_slower(first: Tensor, second: Tensor) -> bool:
    """It takes clearly longer than the call beside it, in so many turns that chance does not explain them.

    Two calls of a turn share what the machine does beside. Half of n turns and √n more are two standard deviations.
    """
    ratios = (first / second).sort().values
    sure = ratios[max(0, int(len(ratios) / 2 - math.sqrt(len(ratios))))]
    return bool(ratios.median() > CLEARLY) and bool(sure > 1)


def _answer(cases: list[bool]) -> int:
    return 0 if all(cases) else 1 if any(cases) else 2


def _told(ratios: Mapping[str, float], names: tuple[str, str]) -> str:
    times = "; ".join(f"{number(ratio, 2)} × in {task}" for task, ratio in ratios.items())
    return (
        f"In turn with {names[1]}, {names[0]} takes in the median: {times}. "
        f"Slower is what takes over {CLEARLY} times as long, and longer in clearly more than half of the turns."
    )


def _unit(names: tuple[str, str]) -> str:
    return f"time of {names[0]} / time of {names[1]} in a turn, median, on one thread of this machine"
