"""The suite's own rules (tests/conftest.py), tried on small suites of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # each run would import hypothesis anew, for nothing
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # nobody reads it again
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\nmarkers =\n    gpu\n    thorough")
    return pytester


NO_TEST_AT_ALL = """
import pytest

@pytest.mark.skip(reason="later 1")
def test_skip(): pass

@pytest.mark.skipif(True, reason="later 2")
def test_skipif(): pass

def test_call(): pytest.skip("later 3")

@pytest.mark.xfail(reason="later 4")
def test_xfail(): assert False

@pytest.mark.xfail(reason="later 5")
def test_xpass(): pass

def test_xfail_call(): pytest.xfail("later 6")
"""


def test_skipped_and_xfailed_tests_fail(suite: pytest.Pytester) -> None:
    suite.makepyfile(NO_TEST_AT_ALL)
    result = suite.runpytest()
    result.assert_outcomes(failed=4, errors=2)  # what the two marks skip, pytest counts as an error of its set-up
    for number in range(1, 7):
        result.stdout.fnmatch_lines_random([f"*later {number}*"])
    assert result.stdout.str().count("may be skipped or xfailed") >= 6


def test_skip_in_a_fixture_or_of_a_module_is_an_error(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        test_one="import pytest\npytest.skip('later', allow_module_level=True)\ndef test_it(): pass",
        test_two="import pytest\npytest.importorskip('no_such')\ndef test_it(): pass",
        test_three="import pytest\n@pytest.fixture\ndef thing(): pytest.skip('later')\ndef test_it(thing): pass",
    )
    result = suite.runpytest()
    result.assert_outcomes(errors=2)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result = suite.runpytest("test_three.py")
    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_gpu_tests_are_left_out_unless_asked_for(suite: pytest.Pytester) -> None:
    suite.makepyfile("import pytest\n@pytest.mark.gpu\ndef test_gpu(): pass\ndef test_cpu(): pass")
    suite.runpytest().assert_outcomes(passed=1, deselected=1)
    suite.runpytest("-m", "gpu", "-v").stdout.fnmatch_lines(["*test_gpu PASSED*"])


def test_thorough_test_gives_its_reason_and_is_left_out_of_the_quick_tier(suite: pytest.Pytester) -> None:
    marked = "import pytest\n@pytest.mark.thorough({})\ndef test_thorough(): pass\ndef test_quick(): pass"
    suite.makepyfile(marked.format("'a model is trained'"))
    suite.runpytest().assert_outcomes(passed=2)
    suite.runpytest("-m", "not thorough").assert_outcomes(passed=1, deselected=1)
    for reason in ("", "'slow'", "'it is slow'", "3", "'a model is trained', 'and saved'"):
        suite.makepyfile(marked.format(reason))
        result = suite.runpytest()
        assert result.ret == pytest.ExitCode.USAGE_ERROR, reason
        result.stderr.fnmatch_lines(["*test_thorough: thorough needs its reason in one sentence*"])
