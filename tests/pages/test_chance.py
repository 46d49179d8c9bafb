"""What chance alone would give, against every outcome counted one by one, and against the binomial."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

from pages.kit.lessons.quantities.looks import of_the_best


@pytest.mark.parametrize("chances", [[], [0.5], [0.2, 0.7], [0.1, 0.9, 0.4], [0.0, 0.3, 1.0, 0.6]])
@pytest.mark.parametrize("heads", [1, 2, 3])
def test_the_best_of_several_is_every_outcome_of_every_head_counted(chances: list[float], heads: int) -> None:
    of_one = {  # each try succeeds or not -> its probability
        tries: math.prod(chance if hit else 1 - chance for hit, chance in zip(tries, chances, strict=True))
        for tries in product((0, 1), repeat=len(chances))
    }
    for found in range(len(chances) + 2):
        counted = sum(
            math.prod(of_one[tries] for tries in outcome)
            for outcome in product(of_one, repeat=heads)
            if max(map(sum, outcome)) >= found
        )
        assert of_the_best(found, chances, heads) == pytest.approx(counted, abs=1e-12)


@pytest.mark.parametrize(("tries", "one_in", "heads"), [(12, 6, 72), (20, 9, 72), (5, 2, 1)])
def test_equal_chances_are_the_binomial(tries: int, one_in: int, heads: int) -> None:
    chance = Fraction(1, one_in)
    for found in range(tries + 1):
        fewer = sum(math.comb(tries, hits) * chance**hits * (1 - chance) ** (tries - hits) for hits in range(found))
        assert of_the_best(found, [1 / one_in] * tries, heads) == pytest.approx(float(1 - fewer**heads), abs=1e-12)
