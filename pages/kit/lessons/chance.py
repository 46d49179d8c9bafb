"""What chance alone would give: a count is told beside it, or it says nothing."""

from collections.abc import Sequence


def at_least(found: int, chances: Sequence[float]) -> float:
    """The probability that as many or more of independent tries succeed, each with its own chance."""
    exactly = [1.0]  # that so many of the tries so far succeeded
    for chance in chances:
        exactly = [
            (exactly[many] if many < len(exactly) else 0.0) * (1 - chance)
            + (exactly[many - 1] if many else 0.0) * chance
            for many in range(len(exactly) + 1)
        ]
    return min(1.0, sum(exactly[found:]))


def of_the_best(found: int, chances: Sequence[float], among: int) -> float:
    """The probability that the best of several who all try alike has as many or more."""
    return float(1 - (1 - at_least(found, chances)) ** among)
