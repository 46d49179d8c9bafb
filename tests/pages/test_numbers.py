"""Numbers as text: what each way says at its ends, and that fields and links read back."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.kit.draw import numbers

INF = math.inf
WRITTEN: dict[Callable[[float], str], dict[float, str]] = {
    numbers.number: {
        0.5: "0.5000",
        -0.5: "−0.5000",
        0.0: "0.0000",
        -0.00001: "−1.0e−5",
        1.9e-88: "1.9e−88",
        123456.78: "123456.7800",
        2.3e11: "2.300e11",
        INF: "∞",
        -INF: "−∞",
        math.nan: "—",
    },
    numbers.difference: {0.0: "0", 0.5: "0.5000", 1e-6: "1.0e−6"},
    numbers.weight: {
        0: "0.00",
        1: "1.00",
        0.64: "0.64",
        0.004: "0.0040",
        1e-9: "<0.0001",
        0.9961: "1.00",
        0.99999: "1.00",
    },
    numbers.in_a_cell: {0: "", 0.004: "", 0.12: ".12", 0.999: "1", 1: "1", 1.11: "1.11"},
    numbers.outcome: {0: "0", 0.25: "0.2500", math.nan: "NaN"},
    numbers.small: {0: "0", 4.77e-7: "4.8e−7", 0.0009: "9.0e−4", 0.892: "0.892", 1.7292: "1.729"},
    numbers.signed: {0: "0", 0.5: "+0.500", -0.5: "−0.500", 0.99999: "+1.000"},
    numbers.scientific: {0: "0", 4e-7: "4.0e−7", 4.04e-7: "4.0e−7", 1.5e-15: "1.5e−15", 0.25: "2.5e−1"},
    numbers.precise: {1: "1.000", 0.99999: "0.999990", 0.98765: "0.988", 0.99999999: "1.000"},
    numbers.cosine: {1: "1.0000", 0.99999: ">0.9999", 0.5: "0.5000", -0.25: "−0.2500"},
}


@pytest.mark.parametrize("write", WRITTEN, ids=lambda write: str(write.__name__))
def test_numbers_to_read(write: Callable[[float], str]) -> None:
    assert {value: write(value) for value in WRITTEN[write]} == WRITTEN[write]


def test_a_share_says_0_and_1_of_nothing_else() -> None:
    shares = {
        0: "0.000",
        1: "1.000",
        0.5: "0.500",
        0.0004: "<0.001",
        0.9996: ">0.999",
        0.001: "0.001",
        1 + 1e-7: "1.000",
    }
    assert {value: numbers.share(value, 3) for value in shares} == shares


def test_decimals() -> None:
    assert numbers.number(-0.0) == "0.0000"
    assert (numbers.number(3030000, 0), numbers.number(2e9, 0)) == ("3030000", "2.000e9")
    assert (numbers.fixed(None), numbers.fixed(0.25), numbers.fixed(0.25, 1)) == ("—", "0.250", "0.2")


@given(st.floats(-1e6, 1e6))
def test_exact_numbers_read_back(value: float) -> None:
    assert float(numbers.exact(value)) == value
    assert not set(numbers.exact(value)) - set("0123456789.-e")


def test_counts_and_long_texts() -> None:
    assert [numbers.whole(value) for value in (0, 12345, -12)] == ["0", "12,345", "−12"]
    assert [numbers.count(many, "row") for many in (0, 1, 2000)] == ["0 rows", "1 row", "2,000 rows"]
    assert numbers.cut("a" * 60) == "a" * 60
    assert numbers.cut("a" * 61) == "a" * 59 + "…"
    assert numbers.cut("abcdef", 4) == "abc…"
