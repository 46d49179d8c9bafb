"""Numbers as text, read back where fields and links read them; and what chance alone gives, counted out."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from headlight.lessons.quantities.head_targets import max_tail_probability
from headlight.ui import numbers
from tests.closeness import same_function

INF = math.inf
WRITTEN: dict[Callable[[float], str], dict[float, str]] = {
    numbers.number: {
        0.5: "0.5000", -0.5: "−0.5000", 0.0: "0.0000", -0.00001: "−1.0e−5", 1.9e-88: "1.9e−88",
        123456.78: "123456.7800", 2.3e11: "2.300e11", INF: "∞", -INF: "−∞", math.nan: "—",
    },
    numbers.weight: {0: "0.00", 1: "1.00", 0.64: "0.64", 0.004: "<0.01", 1e-9: "<0.01", 0.9961: "1.00"},
    numbers.cell_text: {0: "", 0.004: "", 0.12: ".12", 0.999: "1", 1: "1", 1.11: "1.11"},
    numbers.small: {0: "0", 4.77e-7: "4.8e−7", 0.0009: "9.0e−4", 0.892: "0.892", 1.7292: "1.729"},
    numbers.scientific: {0: "0", 4e-7: "4.0e−7", 4.04e-7: "4.0e−7", 1.5e-15: "1.5e−15", 0.25: "2.5e−1"},
    numbers.precise: {1: "1.000", 0.99999: "0.999990", 0.98765: "0.988", 0.99999999: "1.000"},
    lambda value: numbers.share(value, 3): {
        0: "0.000", 1: "1.000", 0.5: "0.500", 0.0004: "<0.001", 0.9996: ">0.999", 0.001: "0.001", 1 + 1e-7: "1.000",
    },
}  # fmt: skip


def test_each_way_to_write_a_number() -> None:
    for write, table in WRITTEN.items():
        assert {value: write(value) for value in table} == table
    assert numbers.number(-0.0) == "0.0000"


@given(st.floats(-1e6, 1e6))
def test_exact_numbers_read_back(value: float) -> None:
    assert float(numbers.exact(value)) == value
    assert not set(numbers.exact(value)) - set("0123456789.-e")


@given(st.lists(st.floats(0, 1), max_size=4), st.integers(1, 3))
def test_best_of_several_heads_is_every_outcome_counted(chances: list[float], heads: int) -> None:
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
        same_function(
            1 + max_tail_probability(found, chances, heads), 1 + counted
        )  # of a probability, not of its last digits
