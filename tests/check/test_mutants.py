"""Each broken layer fails in the property that it breaks, and its cause is named."""

import pytest

from mha_core import check
from mha_core.check import FAILS, PROPERTIES, UNKNOWN
from mha_core.check.finding import CAUSES, TITLES
from tests.check.layers import D_MODEL, MUTANTS, N_HEADS, OPTIONS, SOURCES, Mutant, build


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
        ("no scale", "scores / 1"),
        ("multiplied by the root", "scores * self.scale"),
        ("polarity", "masked_fill(mask == 1"),
        ("keys tiled", "k.repeat(1, groups"),
        ("−∞ in an empty row", "masked_fill(mask == 0, float('-inf'))"),
        ("soft mask of −10", "mask.float()"),
        ("dropout always on", "F.dropout(att, self.p)"),
    ],
)
def test_a_failure_names_the_line(name: str, code: str) -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    finding = check(mutant.build(), D_MODEL, N_HEADS, **mutant.options)[mutant.number]
    assert finding.line is not None
    assert code in finding.line.code


def test_a_failure_that_another_explains_names_it_alone() -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == "√d_model")
    report = check(mutant.build(), D_MODEL, N_HEADS, **mutant.options)
    assert [finding.number for finding in report.failures] == [7, 15]
    assert str(report).count("probably: it follows from 7") == 1
    assert report[15].line is None


def test_angles_that_reach_no_score_are_told() -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == "rotated by head, before the transpose")
    finding = check(mutant.build(), D_MODEL, N_HEADS, layout="bsd", causal=True)[8]
    assert finding.verdict == UNKNOWN
    assert "no score depends on the position" in finding.words


def test_an_operation_that_torch_lacks_in_a_format_is_no_fault_of_the_layer() -> None:
    turned = "*torch.view_as_real(torch.complex(a, b) * torch.polar(cos * 0 + 1, angles)).unbind(-1)"
    lines = {"a * cos - b * sin, b * cos + a * sin": turned}
    report = check(build("Grouped", lines=lines), D_MODEL, N_HEADS, **OPTIONS["Grouped"])
    assert not report.failures, str(report)
    assert report[14].verdict == UNKNOWN
