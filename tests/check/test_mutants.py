"""Each broken layer fails in the property that it breaks, and its cause is named."""

import pytest

from mha_core import check
from mha_core.check import FAILS, PROPERTIES
from mha_core.check.finding import CAUSES, TITLES
from tests.check.layers import D_MODEL, MUTANTS, N_HEADS, SOURCES, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.style}, {mutant.name}")
def test_a_broken_layer_is_found_and_its_cause_named(mutant: Mutant) -> None:
    finding = check(mutant.build(), D_MODEL, N_HEADS, **mutant.options)[mutant.number]
    assert finding.verdict == FAILS, finding.words
    assert finding.cause == mutant.cause, finding.words
    assert finding.reason
    assert finding.page


def test_every_property_is_broken_in_some_way_and_every_style() -> None:
    assert {mutant.number for mutant in MUTANTS} == set(TITLES) == set(PROPERTIES) == set(range(1, 16))
    assert {mutant.style for mutant in MUTANTS} == set(SOURCES)
    assert len(MUTANTS) >= 60
    assert {mutant.cause for mutant in MUTANTS} <= set(CAUSES)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("view without a transpose", "x.view(b, self.h, n, self.d)"),
        ("no scale", "q @ k"),
        ("dropout always on", "F.dropout(att, self.p)"),
    ],
)
def test_a_failure_names_the_line(name: str, code: str) -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    finding = check(mutant.build(), D_MODEL, N_HEADS, **mutant.options)[mutant.number]
    assert finding.line is not None
    assert code in finding.line.code
