"""Claims on time: seconds of calls that were made in turn."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from pages.kit.draw.numbers import number

from .verdict import Verdict, of_all

CLEARLY = 1.1  # a ratio of medians above it is more than what the machine does beside


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
    return {task: float(first.median() / second.median()) for task, (first, second) in seconds.items()}


def _is_slower(first: Tensor, second: Tensor) -> bool:
    """Its median is clearly above the other's, and the middle halves of their calls lie apart."""
    apart = bool(first.quantile(0.25) > second.quantile(0.75))
    return apart and bool(first.median() > CLEARLY * second.median())


def _answer(cases: list[bool]) -> int:
    return 0 if all(cases) else 1 if any(cases) else 2


def _told(ratios: Mapping[str, float], names: tuple[str, str]) -> str:
    times = "; ".join(f"{number(ratio, 2)} × in {task}" for task, ratio in ratios.items())
    return (
        f"The median time of {names[0]} is, in times of {names[1]}: {times}. "
        f"Slower is what takes over {CLEARLY} times as long, the middle halves of all calls lying apart."
    )


def _unit(names: tuple[str, str]) -> str:
    return f"time of {names[0]} / time of {names[1]}, medians on one thread of this machine"
