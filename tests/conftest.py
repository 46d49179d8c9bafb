"""Rules for the whole suite: nothing is skipped, and two marks say which run a test belongs to.

A test that is skipped, or expected to fail, tests nothing while the run stays green; here either is a failure. Tests
marked ``gpu`` need a CUDA device: they are deselected unless ``-m`` names ``gpu``. Tests marked ``thorough`` belong to
``make test-all`` alone, and each mark gives its reason in a sentence. Hypothesis makes up few examples for
``make test`` and many for ``make test-all``, which sets HEADLIGHT_THOROUGH.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

EXAMPLES, THOROUGH_EXAMPLES = 10, 30  # of Hypothesis, for each test

announced = False  # the number of cases

if "PYTEST_XDIST_WORKER" in os.environ:
    # Several processes share the machine: a thread each, for the servers that they start too. Said before torch comes.
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def forbid_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn the report of a skipped or xfailed test (or module) into that of a failed one."""
    expected_to_fail = hasattr(report, "wasxfail")
    if not (report.skipped or expected_to_fail):
        return
    if expected_to_fail:
        reason = f"marked xfail ({report.wasxfail or 'no reason given'})"
        del report.wasxfail
    else:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = (
        f"{report.nodeid}: {reason}\nNo test of this suite may be skipped or xfailed: mend it or remove it."
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    forbid_skip(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    forbid_skip(report)
    return report


def pytest_configure(config: pytest.Config) -> None:
    if config.pluginmanager.hasplugin("hypothesispytest"):
        from hypothesis import settings

        examples = THOROUGH_EXAMPLES if os.environ.get("HEADLIGHT_THOROUGH") else EXAMPLES
        settings.register_profile("headlight", max_examples=examples, deadline=None)  # no test is timed
        settings.load_profile("headlight")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Of several processes the first compiles what all import, and the others read it."""
    if not hasattr(session.config, "workerinput"):
        return (yield)
    from filelock import FileLock

    compiled = Path(session.config.option.basetemp).parent / "compiled"
    with FileLock(compiled.with_suffix(".lock")) as first:
        if not compiled.exists():
            found = yield
            compiled.touch()
            return found
        first.release()
        return (yield)


def pytest_collection_finish() -> None:
    """What is there now stays: it is left out wherever garbage is looked for."""
    gc.collect()
    gc.freeze()


def hands(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """The tests in an order of which each worker gets a hand: browser tests, which wait most, and then its quick ones.

    Who has played his hand takes from the end of the fullest one, so the run ends with quick tests, all at one time.
    """
    quick = [item for item in items if not item.get_closest_marker("browser")]
    browser = [item for item in items if item.get_closest_marker("browser")]

    def share(of: list[pytest.Item], at: int) -> list[pytest.Item]:
        return of[len(of) * at // workers : len(of) * (at + 1) // workers]

    return [item for at in range(workers) for item in (*share(browser, at), *share(quick, at))]


def check_reason(item: pytest.Item) -> None:
    """Require a sentence of reason in every ``thorough`` mark of a test."""
    for mark in item.iter_markers("thorough"):
        if len(mark.args) != 1 or not isinstance(mark.args[0], str) or len(mark.args[0].split()) < 4:
            raise pytest.UsageError(f"{item.nodeid}: thorough needs its reason in one sentence, not {mark.args}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """Say at the start how many cases there are and about how long they take."""
    global announced
    if not announced:
        announced = True
        duration = os.environ.get("HEADLIGHT_DURATION")
        reporter = node.config.pluginmanager.getplugin("terminalreporter")
        reporter.write_line(f"\nheadlight: {len(ids)} cases" + (f", {duration}" if duration else ""))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        check_reason(item)
    if "gpu" not in config.getoption("markexpr"):
        for_gpu = [item for item in items if item.get_closest_marker("gpu")]
        if for_gpu:
            config.hook.pytest_deselected(items=for_gpu)
            items[:] = [item for item in items if item not in for_gpu]
    items[:] = hands(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
